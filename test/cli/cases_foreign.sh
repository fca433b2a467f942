# shellcheck shell=bash disable=SC2016,SC2154 # jq's and the check's own variables; variables of test/cli/run.sh, which sources this
# SPDX-License-Identifier: BSD-3-Clause
#
# Files of strangers: strings that a terminal would obey, reports under another's name or with figures that cannot be,
# more of them than a user may keep, and objects of other users.

# Escape, CSI of one byte, DEL, bell, a direction that is overridden, a line separator, and behind them an honest word.
obeyed='x\u001b]52;c;QUFB\u0007\u009b2Jy\u202ez\u2066\u2028\u0085\u007f\tw\né'
# harmless COMMAND...: both outputs are UTF-8 in which a terminal obeys nothing
harmless() {
    "$@" >out 2>err || true
    iconv -f UTF-8 -t UTF-8 out err >/dev/null || { echo "not UTF-8"; return 1; }
    ! LC_ALL=C grep -anP '[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' out err
}
shown() { harmless "$@" && [ -s out ]; } # and there is something
hostile() { # FILE JQ-FILTER: sites.json with these strings in every text and key that a report has, but for names of its own
    jq --argjson bad "\"$obeyed\"" "$2"' | .library += $bad | .counts_are += $bad | .settings.min_bytes += $bad |
        .job |= (.id += $bad | .user += $bad | .program += $bad | .script = $bad) | .changed = {($bad): $bad} |
        .sites |= map(.object += $bad | .collective += $bad | .algorithm += $bad | .reason += $bad |
                      .callers = [{object: ("/a/" + $bad), offset: 7}]) |
        .collectives |= map(.collective += $bad | .algorithm += $bad | .native = {($bad): 3, "x": 1} |
                            .sizes |= map(.algorithms = {($bad): 1, "two": 2}))' sites.json >"$1"
}
hostile hostile.json '.rails = [] | .all_native = $bad'
jq --argjson bad "\"$obeyed\"" '.nccl = {sends: 1, recvs: 1, collectives: .collectives, plugin: {profiler: 4, tuner: 4},
    choices: [{collective: $bad, total_bytes_from: 1, algorithm: $bad, protocol: $bad, channels_least: 1, channels_most: 2,
               calls: 3, timed: 0, us: 0}]}' hostile.json >hostile_nccl.json
jq --argjson bad "\"$obeyed\"" '.rails |= map(.host = "ééééééééééééééé" + $bad)' rails.json >hostile_rails.json
for file in hostile hostile_nccl hostile_rails; do
    check "report $file.json: a terminal obeys nothing of it" shown "$collshim" report "$file.json"
    check "report --json $file.json: likewise" shown "$collshim" report --json "$file.json"
done
check "report --json: it is the same but for these" eval '"$collshim" report --json hostile.json | jq -e ".sites | length == 2"'
check "report --diff: a terminal obeys nothing" shown "$collshim" report --diff sites.json hostile.json
jq -n --argjson n 4 --arg bad "$(printf 'é%.0s' {1..100})" -f "$root/test/page/full.jq" >full.json
"$collshim" report full.json --trace trace.json >/dev/null
check "report --trace: each event has a name, also where it is cut" jq -e 'all(.traceEvents[]; .name | length > 3)' trace.json
check "report: it does not say whose counts there are" eval '! "$collshim" report <(jq "del(.counts_are)" full.json) | grep -F "(null)"'
if command -v gnuplot >/dev/null; then
    check "report --svg: nor do labels hold it" eval 'shown "$collshim" report hostile.json --svg hostile.svg && harmless cat hostile.svg'
fi
strange=$(printf 'no\e[2J\302\233such\377')
check "a message about a file of such a name" harmless "$collshim" report "$strange"
printf '{"a": \e]0;title\a' >not.json
check "a message about JSON that is none" harmless "$collshim" report not.json
check "a file's wrong topology" harmless env COLLSHIM_TOPOLOGY="node:$strange" "$collshim" info
check "a setting, as JSON" shown env COLLSHIM_REPORT="$(printf %b "$obeyed")" "$collshim" info --json

mkdir -p alien/"$strange"
jq --argjson bad "\"$obeyed\"" '.job.began = 1700000000 | .saved.rank_seconds = -0.5' hostile.json >alien/a.json
# 40 two-byte characters behind an odd number of others: the cut at a fixed number of bytes is inside one
jq '.job |= (.began = 1700000000 | .program = "y" + ("é" * 300) | .script = null)' sites.json >alien/b.json
echo nonsense >alien/"$strange.json"
for how in '' --json --prometheus; do
    # shellcheck disable=SC2086 # none is meant
    check "site $how: a terminal obeys nothing, and no name is cut inside a character" shown "$collshim" site alien $how
done
json '.reports == 2' "$collshim" site alien --json

# Values that no job of that time can have had
n=0
for what in '.job.seconds = 1e9' '.saved.rank_seconds = 1e14' '.sites[0].native_rank_s = 1e14' '.job.began = 4e9' 'del(.job.began)'; do
    mkdir -p unlikely
    n=$((n + 1))
    jq -c ".job.began = 1700000000 | $what" sites.json >"unlikely/$n.json"
done
json '.reports == 0 and .skipped["no report"] == 5' "$collshim" site unlikely --json

if [ "$(id -u)" = 0 ]; then
    mkdir -p authors/1001 authors/1002 authors/1003
    as() { jq -c --argjson uid "$1" '.job |= (.began = 1700000000 | .uid = $uid)' sites.json >"authors/$2" && chown "$1" "authors/$2"; }
    as 1001 1001/honest.json
    as 1002 top.json
    as 1001 1002/forged.json && chown 1002 authors/1002/forged.json
    jq -c '.job.began = 1700000000' sites.json >authors/1002/silent.json && chown 1002 authors/1002/silent.json
    as 1002 1003/elsewhere.json
    chown 1001 authors/1001 && chown 1002 authors/1002 authors/1003
    json '.reports == 3 and .skipped["not of the user it names"] == 3' "$collshim" site authors --json
    expect 0 "3 files not of the user it names: " "$collshim" site authors
    mkdir authors/1004
    as 1004 one.json
    for ((i = 0; i < 1003; i++)); do cp -p authors/one.json "authors/1004/$i.json"; done
    chown 1004 authors/1004
    json '.reports == 1003 and .skipped["beyond what a user may keep"] == 4' "$collshim" site authors --json
    rm -r authors

    # A set-user-ID program reads nothing of its caller's
    cp "$collshim" privileged && chmod 4755 privileged && chmod 711 .
    check "a set-user-ID program reads no settings" eval \
        'env COLLSHIM_MIN_BYTES=77 setpriv --reuid 1001 --clear-groups ./privileged info >out && ! grep -q 77 out && grep -q COLLSHIM_MIN_BYTES out'

    # Debug information in another user's file, of a program that root looks at
    if "$collshim" report sites.json | grep -q '^  main'; then
        cp "$collshim" stranger
        with_sites stranger.json "$(site "$PWD/stranger" "\"$build_id\"" "$main_at" 1 "$trial")"
        expect 0 "main at cli/main.c:" "$collshim" report stranger.json
        chown 1001 stranger
        expect 0 "  stranger+0x" "$collshim" report stranger.json
    fi
else
    skip "reports and objects of other users" "needs root"
fi
if objcopy --strip-debug "$collshim" stripped 2>/dev/null; then
    with_sites stripped.json "$(site "$PWD/stripped" "\"$build_id\"" "$main_at" 1 "$trial")"
    no_server() {
        env DEBUGINFOD_URLS=http://127.0.0.1:9/ DEBUGINFOD_CACHE_PATH="$PWD/asked" "$collshim" report stripped.json >out &&
            [ ! -e asked ]
    }
    check "no server is asked for what a report names" no_server
fi
