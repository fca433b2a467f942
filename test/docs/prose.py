#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose.py [--most WORDS] [--mean WORDS] [--table] FILE...

Counts the words of sentences in Markdown: paragraphs, list items, cells of tables. Code, headings and parts that a
command makes do not count. Cells count for the longest sentence, not for the mean. Prints each sentence that is too
long, with its place. --table prints a row for each file instead. Exit status: 1 if a limit is passed.
"""
import argparse
import re
import sys

from documents import lines_of, plain

SENTENCE = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9])")
WORD = re.compile(r"\w")


def blocks(path):
    """(line, text, whether it is a cell) of each paragraph, list item and cell."""
    begun, words = 0, []
    for number, kind, line in [*lines_of(path), (0, "fence", "")]:
        bare = line.strip()
        item = re.match(r"([-*]|\d+\.)\s+(.*)", bare)
        if kind != "text" or not bare or bare.startswith(("#", "|", "<!--")) or item:
            if words:
                yield begun, " ".join(words), False
            words = []
        if kind != "text" or not bare or bare.startswith(("#", "<!--")):
            continue
        if bare.startswith("|"):
            for cell in bare.strip("|").split("|"):
                yield number, cell.strip(), True
            continue
        if not words:
            begun = number
        words.append(item[2] if item else bare)


def sentences(path):
    """(line, number of words, text, whether it is in a cell)"""
    for line, text, cell in blocks(path):
        for one in SENTENCE.split(plain(text)):
            count = sum(1 for word in one.split() if WORD.search(word))
            if count:
                yield line, count, one, cell


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--most", type=int, default=10**9)
    options.add_argument("--mean", type=float, default=10**9)
    options.add_argument("--table", action="store_true")
    options.add_argument("files", nargs="+")
    o = options.parse_args()
    bad = 0
    for path in o.files:
        found = list(sentences(path))
        running = [count for _, count, _, cell in found if not cell]
        mean = sum(running) / len(running) if running else 0
        if o.table:
            words = len(open(path).read().split())
            longest = max((count for _, count, _, _ in found), default=0)
            over = sum(1 for _, count, _, _ in found if count > 40)
            print(f"{path}\t{words}\t{len(running)}\t{mean:.1f}\t{longest}\t{over}")
        for line, count, text, _ in found:
            if count > o.most:
                print(f"{path}:{line}: a sentence of {count} words, at most {o.most}: {text[:60]}...")
                bad += 1
        if mean > o.mean:
            print(f"{path}: sentences have {mean:.1f} words on average, at most {o.mean:g}")
            bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
