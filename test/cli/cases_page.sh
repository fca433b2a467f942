# shellcheck shell=bash disable=SC2016,SC2154 # jq's own variables; variables of test/cli/run.sh, which sources this
# SPDX-License-Identifier: BSD-3-Clause
#
# Pages and CSV as text, and lines of 80 columns. test/page/run.sh looks at pages in a browser.

full() { jq -n --argjson n "$2" --arg bad "$3" -f "$root/test/page/full.jq" >"$1"; } # FILE RANKS BAD
full full.json 64 ""
full many.json 4096 "$(printf 'name%.0s' {1..20})"
full hostile_page.json 20 $'</script><script>injected=1</script><svg onload=injected=2><!--\e[2J\u202e,"=1'

page() { # KIND JSON...: the data of the page that this writes are JSON for which the jq filter KIND is true
    "$collshim" "${@:2}" --html page.html >out && [[ $(stat -c %s page.html) -lt 2000000 ]] &&
        sed -n 's#^<script type="application/json" id="data">\(.*\)</script>$#\1#p' page.html | jq -e "$1" >out
}
try_page() { check "$1" page "${@:2}"; }
try_page "report --html: one page has the report, and what to do next" \
    '.kind == "report" and .data.ranks == 64 and (.next | contains("Next: ")) and (.data.sites.rows | length == 40) and .left_out == {}' \
    report full.json
try_page "of 4,096 ranks, below 2 MB" '.data.by_rank.rows | length == 4096' report many.json
jq '.sites = [range(3) as $i | .sites[] | .offset += $i] | .sites |= map(.object = ("x" * 900)) |
    .by_rank = [range(9000) as $i | .by_rank[0] + {rank: $i}]' many.json >longer.json
try_page "rows that do not fit are counted" '.left_out.by_rank + (.data.by_rank.rows | length) == 9000' report longer.json
try_page "site --html" '.kind == "site" and .data.reports == 3 and (.data.programs.rows | length == 3)' site spool
harmless_page() {
    "$collshim" report hostile_page.json --html page.html >/dev/null
    [[ $(grep -o '<script' page.html | wc -l) == 2 && $(grep -ocF '</script>' page.html) == 2 ]] &&
        ! grep -E 'injected=.>|<svg|<!--$' page.html && ! LC_ALL=C grep -anP '[\x01-\x08\x0b-\x1f\x7f-\xff]' page.html
}
check "no tag of a name gets into a page, which is ASCII" harmless_page
no_address() { ! grep -noE '(https?:)?//[a-z0-9]|url\(|@import|(src|href)=' <(sed '/id="data"/d; s#^ *// .*##; s#"//" *##' page.html); }
check "a page names no other file and no address" no_address
expect 1 "none/x.html cannot be written: no such directory" "$collshim" report full.json --html none/x.html
expect 2 "not both" "$collshim" report full.json --html x.html --csv sites
expect 2 "not both" "$collshim" site spool --html x.html --json
jq -c '.job.user = "\\ud800"' full.json | sed 's/\\\\ud800/\xff\xfe/' >broken.json
expect 1 "broken.json:1: not JSON: unable to decode byte 0xff" "$collshim" report broken.json --html x.html
check "and no page is left" test ! -e x.html

csv() { # COMMAND... CODE: as Python reads the table, CODE is true
    "$collshim" "${@:1:$#-1}" | python3 -c "import csv, sys; t = list(csv.DictReader(sys.stdin)); sys.exit(not (${*: -1}))"
}
check "--csv sites: a row each, members by dots" csv report full.json --csv sites \
    'len(t) == 40 and t[1]["calls"] == "25001" and t[0]["waiting.seconds"] == "0.61" and t[0]["place"] == "solver.so+0x1234" and t[0]["build_id"] == ""'
check "--csv late: behind the texts of its site" csv report full.json --csv late 'len(t) == 80 and t[0]["times"] == "14" and t[0]["collective"] == "allreduce"'
check "--csv last_rail" csv report full.json --csv last_rail 'len(t) == 120 and t[0]["rail"] == "1" and t[0]["times"] == "30" and t[2]["host"] == ""'
expect 0 "waiting: 61 % of 40 sampled calls; combining: 10 %; last: rail 1 on node, 30 times" "$collshim" report --wide full.json
jq 'del(.sites[].waiting.combining) | .sites[].waiting |= (.seconds = 0 | .last_rail[0].times = 5)' full.json >even.json
no_waiting() { "$collshim" report even.json >out && ! grep '  waiting:' out; }
check "no part of half a percent, and no rail that is last in most calls: no line" no_waiting
check "--csv sizes" csv report full.json --csv sizes 'len(t) == 4 and t[3]["native_us_median"] == "4860"'
check "--csv native: a key and a value" csv report full.json --csv native 't[0]["value"] == "200000"'
for table in rails:64 by_rank:64 choices:1 settings:4 collectives:1; do
    check "--csv ${table%:*}" csv report full.json --csv "${table%:*}" "len(t) == ${table#*:}"
done
check "site --csv programs" csv site spool --csv programs 'len(t) == 3 and t[0]["lost"] == "1"'
for table in reasons:1 settings:2 skipped:6; do
    check "site --csv ${table%:*}" csv site spool --csv "${table%:*}" "len(t) == ${table#*:}"
done
jq '.sites |= map(.reason = "=cmd|x,\"y\"")' full.json >formula.json
check "no text is a formula, quotes and commas stay" csv report formula.json --csv sites 't[0]["reason"] == "'"'"'=cmd|x,\"y\""'
check "a table that a report lacks is empty" csv report run.json --csv by_rank 't == []'
expect 2 "--csv: no table 'site'; the tables are sites, late," "$collshim" report full.json --csv site

# A line of more than 80 bytes is one word, behind blanks.
narrow() { "$@" >out && [[ -s out ]] && ! grep -E '^.{81}' out | grep -E '[^ ] +[^ ]'; }
for file in full run sites rails; do
    check "report $file.json: 80 columns" narrow "$collshim" report --all "$file.json"
done
check "report --diff: 80 columns" narrow "$collshim" report --diff sites.json new.json
check "site: 80 columns" narrow "$collshim" site spool
check "--wide has what 80 columns leave out" grep 'ranks .* p99 .* algorithm' <("$collshim" report --wide full.json)

metrics() { grep -oE 'collshim_[a-z_]+' "$1" | sort -u; }
check "the dashboard asks for what --prometheus prints, and for all of it" \
    diff <(metrics <(jq -r '.panels[].targets[].expr' "$root/packaging/grafana.json")) <("$collshim" site --prometheus spool | grep -oE '^collshim_[a-z_]+' | sort -u)
