# SPDX-License-Identifier: BSD-3-Clause
"""Documents: which there are, and a document as lines of kinds, and as paragraphs."""
import re
from pathlib import Path

FENCE = re.compile(r"^\s*```(\w*)")
MADE = re.compile(r"^<!-- made by: ")
END = re.compile(r"^<!-- end -->")


def documents(root):
    """README.md and the manual."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def every_readme(root):
    """All Markdown of the tree, without what is built."""
    skipped = {"build", ".git"}
    return [p for p in sorted(root.rglob("*.md")) if not skipped & set(p.relative_to(root).parts)]


def lines_of(path):
    return lines_in(Path(path).read_text())


def lines_in(content):
    """(number, kind, text) of each line. Kinds: text, code, fence, made (a part made by a command)."""
    fenced = made = False
    blank_before = True
    for number, line in enumerate(content.splitlines(), 1):
        if made:
            made = not END.match(line)
            kind = "made"
        elif MADE.match(line):
            made, kind = True, "made"
        elif FENCE.match(line):
            fenced, kind = not fenced, "fence"
        elif fenced or (line.startswith("    ") and (blank_before or code_before)):
            kind = "code"
        else:
            kind = "text"
        code_before = kind == "code"
        blank_before = not line.strip()
        yield number, kind, line


def plain(text):
    """Without links, marks and pictures; a span of code is one word."""
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "Code", text)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", text)


def blocks(content):
    """(line, text, whether it is a cell) of each paragraph, list item and cell."""
    begun, words = 0, []
    for number, kind, line in [*lines_in(content), (0, "fence", "")]:
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
