# SPDX-License-Identifier: BSD-3-Clause
"""The texts that people read, taken out of files: documents, comments, messages and help.

texts(path, content) yields (line, kind, text) of each paragraph, list item, cell, comment and message. Kinds: text, cell,
comment, message. Code, tables in comments, and parts of documents that a command makes are left out.
"""
import ast
import io
import re
import tokenize

from markdown import blocks

C_LIKE = (".c", ".h", ".def", ".S", ".cu", ".inc", ".cpp")
C_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
ITEM = re.compile(r"(?:[-*]|\d+\.) (?!\d)")
# Two words, or a word and a mark, far apart: a row of a table.
COLUMNS = re.compile(r"\S {2,}\S|\t")
# Strings are messages if they have this many words.
MESSAGE_WORDS = 4


def paragraphs(first, lines):
    """(line, text) of each paragraph and list item; rows of tables and lines of code are left out."""
    begun, words, listed = first, [], False
    example = False  # commands after "Examples:"
    margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    for number, line in enumerate(lines, first):
        bare, indent = line.strip(), len(line) - len(line.lstrip()) - margin
        item = ITEM.match(bare)
        example = bare == "Examples:" or bool(example and bare)
        table = example or COLUMNS.search(bare) or (indent >= 4 and not (words and listed)) or set(bare) <= set("-=~ ")
        if words and (not bare or item or table):
            yield begun, " ".join(words)
            words = []
        if not bare or table:
            continue
        if not words:
            begun, listed = number, bool(item)
        words.append(bare[item.end():] if item else bare)  # fmt: skip
    if words:
        yield begun, " ".join(words)


def c_texts(content):
    adjacent = None  # a message under way: (line, text, where it ends)
    for match in C_TOKEN.finditer(content):
        token, line = match.group(), content.count("\n", 0, match.start()) + 1
        if token[0] == '"':
            if adjacent and not content[adjacent[2]:match.start()].strip(" \n\\"):  # fmt: skip
                adjacent = (adjacent[0], adjacent[1] + token[1:-1], match.end())
                continue
            if adjacent:
                yield from message(*adjacent[:2])
            adjacent = (line, token[1:-1], match.end())
            if re.search(r"#include\s*$", content[max(0, match.start() - 12):match.start()]):  # fmt: skip
                adjacent = None
        elif token[0] == "/":
            if token.startswith("//"):
                body = [token[2:]]
            else:
                body = [re.sub(r"^\s*\*(?: |$)", "", x) for x in token[2:-2].split("\n")]
                body[0] = body[0].lstrip("*")
            if "SPDX" in token or "clang-format" in token or "NOLINT" in token:
                continue
            for at, text in paragraphs(line, body):
                yield at, "comment", text
    if adjacent:
        yield from message(*adjacent[:2])


def message(line, text):
    """A string of C: a format becomes X, and lines are joined as those of other texts are. Not gnuplot's."""
    if re.match(r"set \w+ ", text):
        return
    text = re.sub(r"%[-+ #0-9.*]*(?:ll?|z|j|hh?|t)?[a-zA-Z]", "X", text).replace('\\"', '"')
    for _, part in paragraphs(line, text.split("\\n")):
        if len(re.findall(r"[A-Za-z]{2,}", part)) >= MESSAGE_WORDS:
            yield line, "message", part


def hash_comments(first, lines):
    """Runs of # comments, and the texts of here-documents."""
    begun, run, until, body = first, [], None, []
    for number, line in enumerate([*lines, ""], first):
        if until:
            if line.strip() == until:
                for at, text in paragraphs(begun, body):
                    if not text.startswith("{"):  # JSON
                        yield at, "message", text
                until, body = None, []
            else:
                body.append("" if line.startswith(".") else line)  # a request of troff ends a paragraph
            continue
        bare = line.strip()
        comment = bare.startswith("#") and not bare.startswith(("#!", "# SPDX", "# shellcheck", "#include", "#if", "#define"))
        if comment:
            if not run:
                begun = number
            run.append(bare.lstrip("#"))
        elif run:
            for at, text in paragraphs(begun, run):
                yield at, "comment", text
            run = []
        here = re.search(r"<<-?\s*'?(TXT|USAGE|HELP)'?", line)
        if here:
            until, begun = here[1], number + 1


def python_texts(content):
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(("#!", "# SPDX", "# fmt")):
            yield token.start[0], "comment", token.string.lstrip("# ")
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            for at, text in paragraphs(node.body[0].lineno, ast.get_docstring(node).split("\n")):
                yield at, "comment", text


def texts(path, content):
    if path.endswith(".md"):
        for line, text, cell in blocks(content):
            yield line, "cell" if cell else "text", text
    elif path.endswith(C_LIKE):
        yield from c_texts(content)
    elif path.endswith(".py") or content.startswith("#!/usr/bin/env python3"):
        yield from python_texts(content)
    elif path.endswith((".sh", "Makefile", ".mk")) or content.startswith("#!"):
        yield from hash_comments(1, content.split("\n"))
