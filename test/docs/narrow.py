#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""narrow.py DIR [BROWSER]: opens each page of DIR in a frame of 360 pixels, in Chromium without a window, and prints each
page that is wider than its frame, with the element that is, and the number of pages. Tables and blocks of code may
scroll by themselves. Exit status: 1 if a page is too wide, or the browser shows none.
"""
import json
import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

WIDTH = 360
SCRIPT = """
const pages = PAGES, found = [];
function wide(page) {
  const whole = page.documentElement, limit = whole.clientWidth;
  if (whole.scrollWidth <= limit) return "";
  const inside = e => e.closest("table, pre");
  for (const e of page.querySelectorAll("body *"))
    if (!inside(e) && e.getBoundingClientRect().right > limit)
      return e.tagName.toLowerCase() + " " + (e.textContent || e.getAttribute("src") || "").trim().slice(0, 40);
  return "?";
}
function show(i) {
  if (i == pages.length) {
    document.body.textContent = "RESULT" + JSON.stringify(found) + "RESULT";
    return;
  }
  const frame = document.createElement("iframe");
  frame.width = WIDTH;
  frame.height = 800;
  frame.onload = () => {
    const page = frame.contentDocument;
    found.push([pages[i], page.querySelector("h1") ? wide(page) : "no heading"]);
    frame.remove();
    show(i + 1);
  };
  frame.src = pages[i];
  document.body.append(frame);
}
show(0);
"""


def main(top, browser="chromium"):
    pages = [f"file://{p}" for p in sorted(Path(top).resolve().rglob("*.html"))]
    with tempfile.TemporaryDirectory() as folder:
        script = SCRIPT.replace("PAGES", json.dumps(pages)).replace("WIDTH", str(WIDTH))
        frame = Path(folder) / "frames.html"
        frame.write_text(f"<!DOCTYPE html><body></body><script>{script}</script>")
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             f"--user-data-dir={folder}/profile", "--virtual-time-budget=60000", "--dump-dom", f"file://{frame}"],
            capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    result = re.search(r"RESULT(.*)RESULT", done.stdout.split("</script>")[-1], re.S)
    found = json.loads(unescape(result[1])) if result else []
    for page, element in found:
        if element:
            print(f"{page.removeprefix('file://')}: wider than {WIDTH} pixels: {element}")
    print(f"{len(found)} pages")
    return len(found) != len(pages) or not pages or any(element for _, element in found)


sys.exit(main(*sys.argv[1:]))
