#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site.py DIR: in the pages of DIR every relative link and picture leads to a file, and every anchor to an element. Each
row of a table has as many cells as its head. Each page has a heading, fits narrow screens, and leads to index.html.
Prints each fault, and the number of pages. Exit status: 1 if there is a fault.
"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.targets, self.ids, self.tags, self.tables, self.viewport = [], set(), set(), [], False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.tags.add(tag)
        if "id" in a:
            self.ids.add(a["id"])
        if a.get("name") == "viewport":
            self.viewport = True
        self.targets += [a[key] for key in ("href", "src") if a.get(key)]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("td", "th"):
            self.tables[-1][-1] += 1


def main(top):
    pages = {p.resolve(): Page(p) for p in sorted(top.rglob("*.html"))}
    bad = []
    for path, page in pages.items():
        name = path.relative_to(top)
        if not {"h1", "nav", "main"} <= page.tags or not page.viewport:
            bad.append(f"{name}: no heading, navigation or viewport")
        bad += [f"{name}: a table's rows have {sorted(set(t))} cells" for t in page.tables if len(set(t)) > 1]
        for target in page.targets:
            where, _, anchor = unquote(target).partition("#")
            if ":" in where:
                continue
            to = (path.parent / where).resolve() if where else path
            if not to.is_file():
                bad.append(f"{name}: {target} leads nowhere")
            elif anchor and to in pages and anchor not in pages[to].ids:
                bad.append(f"{name}: {target}: no such place there")
    print("\n".join([*bad, f"{len(pages)} pages"]))
    return bool(bad) or (top / "index.html").resolve() not in pages


sys.exit(main(Path(sys.argv[1]).resolve()))
