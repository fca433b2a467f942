#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/page/run.sh [BUILD_DIR]: the pages of `collshim report --html` and `collshim site --html` in Chromium without a
# window. Every part is there at 390 and 1,400 pixels, in light and dark and printed; nothing is wider than the screen;
# the console is silent and no address is asked for. Tables sort and unfold by keyboard. Hostile names stay text.
# A page of 4,096 ranks opens.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/page
collshim=$(realpath "$root/${1:-build}/collshim")
type chromium python3 jq >/dev/null 2>&1 || skip_all "chromium, python3 or jq is missing (scripts/setup test docs)"
cd "$tmp"

# report FILE RANKS BAD: a report, and its page FILE.html
report() {
    jq -n --argjson n "$2" --arg bad "$3" -f "$here/full.jq" >"$1.json"
    "$collshim" report "$1.json" --html "$1.html" >/dev/null
}
report full 64 ""
# Text that HTML, its attributes, SVG, a script, a template, a style or a terminal would obey
report hostile 20 $'</script><script>injected=1</script><img src=x onerror=injected=2>"\'><svg onload=injected=3>]]>-->${injected=4}<!--<script>\e[2J\u202e\u2028url(http://127.0.0.1:9/)'
report many 4096 ""
# Values that `report` does not check, of other types than they should be
jq '.by_rank = [null, 3] | .trace = [{}, 5] | .changed = 1 | .origins = [] | .job.hosts = 0 |
    .job.began = 1e300 | .job.program = 5 | .saved = {columns: 1, rows: 2} |
    .sites |= map(.waiting = 7) | .sites[3].waiting = {seconds: 1, moving: 0, late: [null, "x"]} |
    .sites[4].waiting = {seconds: "a", moving: [], late: {}}' full.json >wrong.json
"$collshim" report wrong.json --html wrong.html >/dev/null
mkdir spool
jq '.job.began = 1700000000' full.json >spool/a.json
jq '.job.began = 1700000000 | .saved.rank_seconds = -0.5' hostile.json >spool/b.json
"$collshim" site spool --html site.html >/dev/null
output=$(timeout 300 python3 "$here/page.py" full.html hostile.html many.html site.html wrong.html) && status=0 || status=$?
grep -v ' passed, ' <<<"$output" || true
add_claims "test/page/page.py" "$status" "$output"
conclude
