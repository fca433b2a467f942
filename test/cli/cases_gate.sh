# shellcheck shell=bash disable=SC2016,SC2154 # jq's and the check's own variables; variables of test/cli/run.sh, which sources this
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs of two sides: a loss, none, too few of them, and files that cannot be compared. How sure it is: test/unit/test_gate.c.

# runs FOLDER SPREAD TIMES [FILTER]: ten reports; the second of two call sites takes TIMES as long
runs() {
    mkdir -p "$1"
    for ((i = 0; i < 10; i++)); do
        jq -c --argjson i $i --argjson noise "$(((i * 7 + ${#1} * 3) % 10 - 5))" --argjson spread "$2" --argjson times "$3" '
            (1 + $noise / 5 * $spread) as $f | .job.seconds *= $f | .sites |= map(.native_rank_s *= $f | .rerouted_rank_s *= $f) |
            .sites[1] |= (.native_rank_s *= $times | .rerouted_rank_s *= $times) | '"${4-.}" sites.json >"$1/$i.json"
    done
}
runs base 0.01 1
runs same 0.01 1
runs slow 0.01 1.05
runs fast 0.01 0.9
runs wild 0.8 1.05
expect 0 "No loss: nothing takes 5 % longer." "$collshim" gate base same
expect 3 "Loss: 1 slower; most of all lib.so+0x1234, by " "$collshim" gate base slow
expect 3 "Loss: 1 slower; most of all lib.so+0x1234, by " "$collshim" report --diff base slow
expect 0 " faster" "$collshim" gate base fast
expect 0 "Not sure: 4 could hide a loss of 5 %. Runs differ too much" "$collshim" gate base wild
expect 0 "No loss" "$collshim" gate base slow --loss 20
json '.verdict == "no loss" and (.rows | length) == 4 and .baseline.runs == 10' "$collshim" gate base same --json
json_with 3 '.verdict == "loss" and ([.rows[] | select(.verdict == "slower")] | length) == 1' "$collshim" gate base slow --json
expect 3 "| lib.so\+0x1234: allreduce of 1MiB on 4 ranks |" "$collshim" gate base slow --markdown
expect 0 "Not sure: 4 could hide" "$collshim" gate base slow/1.json
expect 0 "a side has one run" "$collshim" gate base/1.json slow/1.json

# A new run that lies in its baseline's folder is no baseline.
cp -r base both
mkdir new
for i in 1 2 3; do ln "both/$i.json" "new/$i.json"; done
json '.baseline.runs == 7 and .new.runs == 3' "$collshim" gate both new --json
json '.baseline.runs == 9 and .new.runs == 1' "$collshim" gate both both/4.json --json
expect 1 "base: no run to compare; all its reports are new ones" "$collshim" gate base base
mkdir hollow
expect 1 "hollow: no run to compare; a folder of reports has files" "$collshim" gate hollow base

# A row that cannot be compared is left out, and named.
cp -r base mixed
echo '{}' >mixed/a.json
: >mixed/b.json
head -c 300 base/1.json >mixed/c.json
mkfifo mixed/d.json
jq .partial=true base/1.json >mixed/e.json
jq '.job.program = "/bin/other"' base/1.json >mixed/f.json
jq '.ranks = 8' base/1.json >mixed/g.json
ln -s ../base/1.json mixed/h.json
json '.baseline.left_out == {"no report": 3, "partial": 1, "of another program or shape": 2} and .baseline.runs == 10' \
    timeout 20 "$collshim" gate mixed same --json
expect 0 "Left out: 3 files no report, the first mixed/" "$collshim" gate mixed same
runs older 0.01 1 '.collshim = "0.0.9" | .library = "An older one" | .changed = {min_bytes: "1GiB"} | .job.hosts = ["a"]'
expect 0 'Changed: settings {"min_bytes":"1GiB"} -> ' "$collshim" gate older same
expect 0 "Changed: collshim 0.0.9 -> 0.1.0" "$collshim" gate older same
runs users/0 0.01 1
expect 0 "10 runs of the baseline, 10 new" "$collshim" gate users same
runs other 0.01 1 '.job.program = "/bin/other"'
expect 1 "other: no run to compare; 10 files of another program or shape, the first other/" "$collshim" gate other same
runs fewer 0.01 1 'del(.sites[1])'
expect 0 "Not compared: lib.so+0x1234: allreduce of 1MiB on 4 ranks, in 10 runs of the baseline and 0 new ones" "$collshim" gate base fewer
runs untimed 0.01 1 'del(.sites)'
expect 1 "a run has no call site that was timed" "$collshim" gate base untimed
expect 1 "none: No such file" "$collshim" gate base none
expect 1 "mixed/a.json: JSON, but no report" "$collshim" gate base mixed/a.json
expect 1 "mixed/b.json: empty" "$collshim" gate base mixed/b.json
expect 1 "mixed/c.json: not JSON, or cut off" "$collshim" gate base mixed/c.json
expect 1 "mixed/d.json: no regular file" timeout 20 "$collshim" gate base mixed/d.json
expect 2 "two reports, or folders of reports" "$collshim" gate base
expect 2 "'0' is no percentage from 0.1 to 100" "$collshim" gate base same --loss 0
expect 2 "'5x' is no percentage" "$collshim" gate base same --loss 5x
expect 2 "one of --json and --markdown" "$collshim" gate base same --json --markdown
hostile strange.json .
for how in '' --markdown --json; do
    # shellcheck disable=SC2086 # none is meant
    check "gate $how: a terminal obeys nothing of a report" shown "$collshim" gate strange.json hostile.json $how
done

# A spool's older jobs are the baseline of its newer ones.
history() { # FOLDER FILTER TIMES: ten jobs, then ten that the filter changed
    runs "$1/a" 0.01 1 '.job.began = 1700000000 + $i'
    runs "$1/bbb" 0.01 "$3" ".job.began = 1700001000 + \$i | $2"
}
history library '.library = "A newer one"' 1.3
history nodes '.job.hosts = ["node7"]' 1.3
history version '.collshim = "0.2.0"' 1.3
history settings '.changed = {min_bytes: "1GiB"} | .collshim = "0.2.0"' 1.3
history alike . 1.3
history even '.library = "A newer one"' 1
rm library/a/[0-5].json
for how in library nodes version; do
    json '.slower | length == 1 and .[0].jobs_since == 10' "$collshim" site $how --json
done
expect 0 "  app on 4 ranks of 2 nodes: a call takes " "$collshim" site version
expect 0 "    collshim 0.1.0, A library -> collshim 0.1.0, A newer one" "$collshim" site library
expect 0 "collshim_slower_programs 1" "$collshim" site nodes --prometheus
rm library/a/[67].json
for how in settings alike even library; do
    json '.reports >= 12 and .slower == []' "$collshim" site $how --json
done
