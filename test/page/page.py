# SPDX-License-Identifier: BSD-3-Clause
"""The claims about pages; test/page/run.sh makes them. Arguments: the pages full, hostile, many, site and wrong."""
import sys

from browser import Browser

PARTS = ["tiles", "next", "waiting", "sites", "time", "times", "series", "rails", "ranks", "reasons", "choices", "settings"]
SITE_PARTS = ["tiles", "next", "gains", "programs", "reasons", "settings"]
VIEWS = [(1400, "light", "screen"), (1400, "dark", "screen"), (390, "light", "screen"), (390, "dark", "screen"), (760, "light", "print")]
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor"
CONTENT = "[...document.querySelectorAll('main, main *')].map(e => e.localName).filter(n => ['script', 'img', 'svg', 'iframe', 'style', 'link', 'a'].includes(n)).length"
COLUMN = "[...document.querySelectorAll('#sites tbody tr:not(.detail)')].map(r => r.cells[%d].textContent)"
passed = failed = 0


def claim(text, holds, why=""):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print(f"ok - {text}" if holds else f"not ok - {text}\n# {why}")


def seen(browser, path, parts, view):
    browser.open(path, *view)
    name = f"{path} at {view[0]} pixels, {view[1]}, {view[2]}"
    missing = [p for p in parts if not browser.value(f"document.getElementById('{p}')?.offsetHeight > 0")]
    claim(f"{name}: every part is there", not missing, missing)
    claim(f"{name}: the console is silent, and no address is asked for", not browser.complaints, browser.complaints)
    wider = browser.value(WIDER)
    claim(f"{name}: nothing is wider than the screen", wider == 0, wider)
    return browser.value(GROUND)


def focus(browser, selector, most=400):
    """By the Tab key alone. Returns whether that element was reached."""
    for _ in range(most):
        browser.press("Tab", 9)
        if browser.value(f"document.activeElement.matches({selector!r})"):
            return True
    return False


def keyboard(browser, path):
    browser.open(path)
    claim("Tab reaches a heading of the call sites", focus(browser, "#sites th:nth-child(6) button"))
    browser.press("Enter", 13)
    calls = [int(c.replace(",", "")) for c in browser.value(COLUMN % 5)]
    claim("Enter sorts by it, the largest first", len(calls) == 20 and calls == sorted(calls, reverse=True) and calls[0] == 25039, calls)
    claim("the heading says so", browser.value("document.querySelector('#sites th:nth-child(6)').ariaSort") == "descending")
    browser.press("Enter", 13)
    calls = [int(c.replace(",", "")) for c in browser.value(COLUMN % 5)]
    claim("again: the smallest first", calls == sorted(calls) and calls[0] == 25000, calls)
    claim("Tab reaches a row", focus(browser, "#sites tbody button"))
    browser.press("Enter", 13)
    detail = browser.value("document.querySelector('#sites .detail')?.textContent") or ""
    claim("Enter unfolds it: callers, reason, the last ranks and rails",
          all(t in detail for t in ("Called by", "small", "rank 0 on node", "rail 1 on node: 30 times", "rail all: 1 times")), detail)
    bar = browser.value("document.querySelector('#waiting .bar').ariaLabel")
    claim("a bar of waiting tells of combining and of the last rail", "61.0 % waiting, 10.0 % combining; rank 0 on node" in bar and "rail 1 on node last 30 times" in bar, bar)
    browser.press("Enter", 13)
    claim("and folds it", browser.value("document.querySelector('#sites .detail') === null"))
    plot = browser.value("[...document.querySelectorAll('#series .plot:first-of-type i')].map(i => i.className + ' ' + i.title)")
    claim("a size's calls are points of both contenders, and a verdict a line",
          plot[:3] == ["mark call 6: verdict for collshim", "native call 1: 300 \u00b5s, library", "ours call 2: 200 \u00b5s, lane"] and len(plot) == 7, plot)
    claim("Tab reaches the rest of the table", focus(browser, "#sites button.more"))
    browser.press("Enter", 13)
    claim("which Enter shows", len(browser.value(COLUMN % 5)) == 40)


def hostile(browser, path, parts):
    grounds = [seen(browser, path, parts, view) for view in VIEWS[1:3]]
    browser.value("document.querySelectorAll('[aria-expanded]').forEach(b => b.click())")
    claim(f"{path}: no script of a name ran", browser.value("typeof injected") == "undefined", grounds)
    claim(f"{path}: no element came from a name", browser.value(CONTENT) == 0)
    claim(f"{path}: names stand there as they are", browser.value("document.querySelector('main').textContent.includes('</script><script>injected=1')"))
    claim(f"{path}: the console is silent after unfolding all", not browser.complaints, browser.complaints)


def main(full, bad, many, site, wrong):
    browser = Browser()
    grounds = [seen(browser, full, PARTS, view) for view in VIEWS]
    claim("dark is dark", grounds[1] == grounds[3] == "rgb(20, 20, 22)" and grounds[0] == "rgb(246, 246, 243)", grounds)
    claim("paper is white, of a dark desktop too", seen(browser, full, PARTS, (760, "dark", "print")) == "rgb(255, 255, 255)")
    keyboard(browser, full)
    hostile(browser, bad, PARTS)
    hostile(browser, site, SITE_PARTS)
    seen(browser, many, PARTS, (390, "light", "screen"))
    squares = browser.value("document.querySelectorAll('#ranks .heat:first-of-type i').length")
    claim("4,096 ranks: a square each", browser.value("document.querySelector('#ranks .heat').children.length") == 4096, squares)
    seen(browser, wrong, ["tiles", "next", "waiting", "sites", "times", "rails", "reasons", "choices"], (1400, "light", "screen"))
    said = browser.value("document.querySelector('main').textContent")
    claim("values of another type: the page names the parts that cannot be drawn", said.count("cannot be drawn") == 3, said[:2000])
    browser.close()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main(*sys.argv[1:]))
