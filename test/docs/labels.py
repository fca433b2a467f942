#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""labels.py FILE...: each claim of speed in Markdown has a label (emulated, simulated, modelled, computed, real) and a
command, or a link to the figures, in its section. A claim is a number with ns, us or ms, a factor of speed, or a part of
a bound. Prints the claims without; exit status 1 then.
"""
import re
import sys

from markdown import lines_of

NUMBER = r"(?:\d[\d.,]*|two|three|four|five|six|eight|ten|several|half|third|quarter|tenth)"
CLAIM = re.compile(
    rf"{NUMBER} ?(?:ns|us|ms)\b|{NUMBER} times (?:as (?:fast|slow|long)|faster|slower|the (?:library|rate|time))"
    rf"|{NUMBER} of the (?:bound|rate)|{NUMBER} ?% (?:faster|slower|longer|shorter|more time|of the bound)"
    rf"|(?:twice|half) as (?:fast|long|slow)",
)  # fmt: skip
LABEL = re.compile(r"\b(?:emulated|simulated|modelled|computed|real|model's)\b", re.I)
COMMAND = re.compile(
    r"`(?:sudo )?(?:bench/|scripts/|test/|build/|make |collshim[- ]|[\w/]*run )[^`]*`|\(\S*figures\.md[^)]*\)|^    \S.*", re.M
)


def sections(path):
    """(lines as (number, text)) of each section, without generated parts but those of README.md."""
    section = []
    for number, kind, line in lines_of(path):
        if line.startswith("#") and kind == "text":
            yield section
            section = []
        if kind != "made" or path == "README.md":
            section.append((number, line))
    yield section


def claims(section):
    """(number, claim) of the text of a section; code is no claim."""
    for number, line in section:
        if line.startswith("    "):
            continue
        match = CLAIM.search(re.sub(r"`[^`]*`", "", line))
        if match:
            yield number, match[0]


def main(paths):
    bad = []
    for path in paths:
        for section in sections(path):
            whole = "\n".join(line for _, line in section)
            missing = [what for what, has in (("label", LABEL), ("command", COMMAND)) if not has.search(whole)]
            if missing:
                bad += [f"{path}:{n}: '{claim}' without {' and '.join(missing)}" for n, claim in claims(section)]
    print("\n".join(bad))
    return bool(bad)


sys.exit(main(sys.argv[1:]))
