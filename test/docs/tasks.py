#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tasks.py PAGE FOLDER [TASK...]

Carries out the tasks of PAGE in FOLDER. A task is a heading `## N. NAME` and a block of code: `$ ` begins a command,
the lines behind it are what it prints, where `...` stands for any text. All commands of a page share one shell. A task
has ten lines at most. Prints a claim for each task, and `N passed, M failed`.
"""
import re
import subprocess
import sys
import uuid

MOST_LINES = 10


def tasks(page):
    for part in re.split(r"^## ", open(page).read(), flags=re.M)[1:]:
        name, body = part.split("\n", 1)
        lines = [x for x in body.splitlines() if x.strip() and not x.startswith("```")]
        block = re.search(r"```console\n(.*?)```", body, re.S)
        steps = []
        for line in block[1].splitlines() if block else []:
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        yield name, lines, [(command, "\n".join(out)) for command, out in steps]


def matches(wanted, printed):
    pattern = ".*".join(re.escape(part) for part in wanted.split("..."))
    return re.fullmatch(pattern, printed.strip(), re.S)


class Shell:
    def __init__(self, folder):
        self.process = subprocess.Popen(["bash", "--norc"], cwd=folder, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def run(self, command):
        mark = f"done-{uuid.uuid4().hex}"
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nstatus=$?; echo; echo {mark} $status\n")
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if line.startswith(mark):
                return "".join(printed), int(line.split()[1])
            printed.append(line)
        return "".join(printed), 1

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def carry_out(shell, lines, steps):
    if not steps:
        return "no block of commands"
    if len(lines) > MOST_LINES:
        return f"{len(lines)} lines, at most {MOST_LINES}"
    for command, wanted in steps:
        printed, status = shell.run(command)
        if status:
            return f"$ {command}\nexit status {status}:\n{printed[-1500:]}"
        if not matches(wanted, printed):
            return f"$ {command}\nprinted:\n{printed[-1500:]}\nexpected:\n{wanted}"
    return None


def main(page, folder, *chosen):
    counts = [0, 0]
    shell = Shell(folder)
    for name, lines, steps in tasks(page):
        if chosen and name.split(".")[0] not in chosen:
            continue
        wrong = carry_out(shell, lines, steps)
        counts[wrong is not None] += 1
        print(f"{'not ok' if wrong else 'ok'} {sum(counts)} - task {name}")
        if wrong:
            print("# " + wrong.replace("\n", "\n# "))
    shell.close()
    print(f"{counts[0]} passed, {counts[1]} failed")
    return counts[1] > 0 or counts[0] == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
