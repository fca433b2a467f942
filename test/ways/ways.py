#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ways.py functions LIBRARY              prints the address of each function, as trace.c reads them
ways.py compare CALL LIBRARY TRACE DOCUMENT   is the document's table of that call what the trace shows?
ways.py write CALL LIBRARY TRACE DOCUMENT     makes it so; sentences stay, a new function has none

A table is that behind `<!-- ways: CALL -->`. Its rows are steps, each with its file, its function, a sentence and a
mark for each way that has it. A step is a function of ROOMS that is entered from another file, one of CALLERS. Exit status: 0 done, 1 the table differs or a way is missing.
"""
import difflib
import functools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALLERS = r"shim/(mpi/(collectives|choose|run)|nccl/(entry|choose|run))/|transports/(.*/)?nccl_calls\.def"
ROOMS = (
    r"shim/mpi/(collectives/|choose/|run/|comm/|rails/|call/library)|shim/nccl/(entry|choose|run|comm|helpers)/|"
    r"shim/decide/guard/|planners/(.*/)?(choose|pick)\.c|transports/(.*/)?(engine|nccl_run)\.c"
)
# The ways, each with the calls of that name that take it: what they enter, and what not.
WAYS = {
    "small": ("small", [], []),
    "native": ("large", ["guard_pick"], ["engine_run", "nccl_run"]),
    "rerouted": ("large", ["guard_pick", "engine_run|nccl_run"], []),
}
HEAD = "| function | does | " + " | ".join(WAYS) + " |\n|---|---|" + ":-:|" * len(WAYS)
ROW = re.compile(r"^\| `(\S+)`: `(\w+)` \| (.*?) \|" + r" (x?) +\|" * len(WAYS) + "$")


def output(*words, text=None):
    return subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout


def symbols(library):
    """[(address, name)] of all functions, in order."""
    rows = (line.split() for line in output("nm", "--defined-only", "--format=posix", library).splitlines())
    return sorted({int(row[2], 16): row[0] for row in rows if row[1] in "tT"}.items())


def files(library, addresses):
    """The source file of each."""
    lines = output("addr2line", "-e", library, text="\n".join(f"{a:x}" for a in addresses)).splitlines()
    found = (re.search(r"(?:^|/)((?:shim|planners|transports|config)/\S*?):", line) for line in lines)
    return {a: match[1] if match else "" for a, match in zip(addresses, found)}


def calls(library, trace):
    """[(name of the call, [(function, its file, the file of its caller)])]"""
    found = []
    for line in trace.read_text().splitlines():
        if line.startswith("call "):
            found.append((line[5:], []))
        else:
            found[-1][1].append([int(word, 16) for word in line.split()])
    name = dict(symbols(library))
    # The caller's jump lies before the address behind it. That of another library has no file.
    most = max(name) + (1 << 16)
    where = files(library, sorted({a for _, steps in found for at, by in steps for a in (at, by - 1) if 0 <= a < most}))
    return [(call, list(callers([(name[at], where[at], by, where.get(by - 1, "")) for at, by in steps])))
            for call, steps in found]  # fmt: skip


def callers(steps):
    """A function that is entered by a jump at the end of another returns to that one's caller: the other is its own."""
    last = {}
    for name, file, by, caller in steps:
        yield name, file, last.get(by, caller)
        last[by] = file


@functools.cache
def is_static(name, file):
    return re.search(rf"^static [^;{{}}()]*\b{name}\(", (ROOT / file).read_text(), re.M)


def ways(library, trace):
    """{way: [(file, function)]}: the steps of the first call that takes it."""
    found = {}
    for call, entered in calls(library, trace):
        names = {name for name, _, _ in entered}
        for way, (of, some, none) in WAYS.items():
            if call == of and all(names & set(one.split("|")) for one in some) and not names & set(none):
                found.setdefault(way, [(file, name) for name, file, by in entered if file != by and
                                       re.match(ROOMS, file) and (not by or re.match(CALLERS, by)) and
                                       not is_static(name, file)])  # fmt: skip
    return found


def made(found, sentences):
    """The table: the longest way, and what the others have beside it, behind their own step before."""
    order = []
    for way in reversed(WAYS):
        at = 0
        for step in found[way]:
            if step not in order:
                order.insert(at, step)
            at = order.index(step) + 1
    rows = []
    for step in order:
        marks = " | ".join("x" if step in found[way] else " " for way in WAYS)
        rows.append(f"| `{step[0]}`: `{step[1]}` | {sentences.get(step[1], '')} | {marks} |")
    return "\n".join([HEAD, *rows]) + "\n"


def main(words):
    if len(words) == 2 and words[0] == "functions":
        print("\n".join(f"{at:x}" for at, _ in symbols(words[1])))
        return 0
    if len(words) != 5 or words[0] not in ("compare", "write"):
        print(__doc__)
        return 2
    call, library, document = words[1], words[2], Path(words[4])
    found = ways(library, Path(words[3]))
    if missing := [way for way in WAYS if way not in found]:
        print(f"{call}: no call was {', '.join(missing)}")
        return 1
    text = document.read_text()
    part = re.search(rf"(?<=^<!-- ways: {call} -->\n).*?(?=^<!-- end -->$)", text, re.M | re.S)
    rows = [match for match in map(ROW.match, part[0].splitlines()) if match]
    wanted = made(found, {row[2]: row[3] for row in rows})
    if words[0] == "write":
        document.write_text(text[: part.start()] + wanted + text[part.end() :])
        return 0
    if silent := [row[2] for row in rows if not row[3]]:
        print(f"{document.name}: no sentence for {', '.join(silent)}")
        return 1
    lines = difflib.unified_diff(part[0].splitlines(), wanted.splitlines(), document.name, "traced", lineterm="", n=0)
    difference = "\n".join(lines)
    print(difference)
    return bool(difference)


sys.exit(main(sys.argv[1:]))
