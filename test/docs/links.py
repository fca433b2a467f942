#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""links.py ROOT: every relative link and picture in the Markdown of the tree leads to a file and, behind #, to a
heading. In README.md and docs/ a path in a span of code is in the tree, too. Prints what does not; exit status 1 then.
"""
import re
import sys
from pathlib import Path

from markdown import documents, every_readme, lines_of

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:\.ci|bench|config|docs|packaging|planners|scripts|shim|test|transports)/[\w./-]*)`")


def slug(heading):
    """The anchor of a heading, as GitHub and pandoc's gfm make it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path):
    return {slug(line.lstrip("# ").strip()) for _, kind, line in lines_of(path) if kind == "text" and line.startswith("#")}


def main(root):
    bad = []
    manual = set(documents(root))
    for path in every_readme(root):
        for number, kind, line in lines_of(path):
            if kind in ("code", "fence"):
                continue
            place = f"{path.relative_to(root)}:{number}"
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                to = (path.parent / name).resolve() if name else path
                if not to.exists():
                    bad.append(f"{place}: {target} leads nowhere")
                elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                    bad.append(f"{place}: {name or path.name} has no heading #{anchor}")
            if path in manual and kind == "text":
                bad += [f"{place}: {p} is not in the tree" for p in PATH.findall(line) if not (root / p).exists()]
    print("\n".join(bad))
    return bool(bad)


sys.exit(main(Path(sys.argv[1]).resolve()))
