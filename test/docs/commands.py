#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""commands.py ROOT BUILD_DIR

Checks each command in a block or span of code of README.md, CONTRIBUTING.md and docs/:
  collshim plan, sim, topo, info   run as they stand; a pipe is cut off
  collshim exec                    with `true` as the command
  other collshim commands          the subcommand is there and its --help names each option
  scripts/..., bench/..., test/... the file is there, can be run, and its --help names each option
  make TARGET                      the Makefile has the target
Prints what is wrong, and how many commands it saw. Exit status: 1 if a command is wrong.
"""
import os
import re
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from markdown import documents, lines_of

START = re.compile(r"(?:^|(?<=[\s$`]))(collshim|collshim-exec|(?:scripts|bench|test|packaging)/[\w/.-]+|make)(?=\s|$)")
RUN = {"plan", "sim", "topo", "info"}


class Checks:
    def __init__(self, root, build):
        self.root, self.build = root, build
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("COLLSHIM_")}
        self.targets = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (root / "Makefile").read_text(), re.M))

    def run(self, words, seconds=60):
        done = subprocess.run(words, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL, timeout=seconds,
                              capture_output=True, text=True, check=False)  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    @lru_cache(maxsize=None)
    def help(self, *words):
        return self.run([*words, "--help"])[1]

    def unknown_option(self, words, helped):
        for word in words:
            option = word.partition("=")[0]
            if option == "--":
                return None
            if re.match(r"--[a-z]", word) and not re.search(re.escape(option) + r"(?![\w-])", helped):
                return f"{option} is not in its --help"
        return None

    def collshim(self, words):
        command = str(self.build / "collshim")
        if not words or words[0].startswith("-"):
            return None
        if words[0] == "COMMAND":
            return None
        if not re.search(rf"^  {re.escape(words[0])} ", self.help(command), re.M):
            return f"no subcommand {words[0]}"
        if len(words) == 1 and words[0] in ("plan", "sim"):
            return None
        if words[0] == "exec":
            options = words[1 : words.index("--")] if "--" in words else words[1:]
            status, said = self.run([command, "exec", *options, "--", "true"])
            return None if status == 0 and not said else said or f"exit status {status}"
        if words[0] in RUN:
            status, said = self.run([command, *words])
            return None if status == 0 else said.strip() or f"exit status {status}"
        return self.unknown_option(words[1:], self.help(command, words[0]))

    def script(self, name, words):
        path = self.root / name
        if path.is_dir() or path.suffix in (".c", ".md", ".def", ".h", ".png", ".mk", ".in"):
            return None if path.exists() else "not in the tree"
        if not os.access(path, os.X_OK):
            return "not in the tree, or not to be run"
        table = words[:2] if words[:1] == ["--table"] else []  # it has options of its own
        helped = self.help(str(path)) + (self.help(str(path), *table) if table else "")
        return self.unknown_option(words, helped) if any(w.startswith("--") for w in words) else None

    def make(self, words):
        for word in words:
            if "=" not in word and not word.startswith(("-", "build/")) and word not in self.targets:
                return f"no target {word}"
        return None

    def complaint(self, text):
        """The error of the command that begins the text, or None."""
        text = re.split(r"\s*(?:\||&&|;|>>?|<)\s*(?![^']*'(?:[^']*'[^']*')*[^']*$)", text)[0]
        try:
            words = shlex.split(text, comments=True)
        except ValueError as wrong:
            return str(wrong)
        if words[0] == "make":
            return self.make(words[1:])
        if words[0] == "collshim":
            return self.collshim(words[1:])
        if words[0] == "collshim-exec":
            return None
        return self.script(words[0], words[1:])


def commands(path):
    """(line, text from the command's name on)"""
    joined, begun = "", 0
    for number, kind, line in lines_of(path):
        if kind == "code":
            begun = begun or number
            joined += line.rstrip("\\") if line.endswith("\\") else line
            if line.endswith("\\"):
                continue
            for match in START.finditer(joined.split(" # ")[0]):
                yield begun, joined[match.start() :].strip()
            joined, begun = "", 0
        elif kind == "text":
            for span in re.findall(r"`([^`]+)`", line):
                match = START.search(span)
                if match and " " in span.strip():
                    yield number, span[match.start() :].replace("\\|", "|")


def main():
    root, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    checks, bad, seen = Checks(root, build), 0, 0
    for path in [*documents(root), root / "CONTRIBUTING.md"]:
        if path.name == "tasks.md":
            continue  # tasks.py runs these
        for number, text in commands(path):
            seen += 1
            wrong = checks.complaint(text)
            if wrong:
                bad += 1
                print(f"{path.relative_to(root)}:{number}: `{text}`: {wrong}")
    print(f"{seen} commands")
    return bad > 0 or seen < 40


sys.exit(main())
