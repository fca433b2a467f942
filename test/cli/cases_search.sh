# shellcheck shell=bash disable=SC2154 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Compositions as text, and the search for the best recipe.

text=$root/docs/samples/allreduce.text
expect 0 "no deadlock, every byte right" "$collshim" plan allreduce --text "$text" --check
expect 0 "     5 .3..#.##.3......" "$collshim" plan allreduce --text "$text" --picture
expect 0 "NODE > NODE" "$collshim" plan allgather --topology 'node:33 rank:2' --picture
expect 0 "predicted" "$collshim" sim allreduce --algorithm "text:$text"
json '.algorithm == "text" and (.recipe | test("allreduce.text@[0-9a-f]{16}$"))' "$collshim" plan allreduce --text "$text" --json
expect 2 "one of them will do" "$collshim" plan allreduce --text "$text" --algorithm lane
printf 'multicast(0; 1)\n' >"$work/short"
expect 2 "it is no bcast: rank 2: output byte 0 is never written" "$collshim" plan bcast --text "$work/short"
expect 2 "text does not serve scan" "$collshim" plan scan --text "$text"
expect 2 "no such file" "$collshim" plan allreduce --text "$work/nowhere"
expect 2 "has changed" "$collshim" plan allreduce --algorithm "text($text@0123456789abcdef)"
head -c 10000000 /dev/zero | tr '\0' '#' >"$work/large"
expect 2 "too large; a text has at most 1048576 bytes" "$collshim" plan bcast --text "$work/large"
printf 'multicast(0; 1)\nmulticast(1; 0)\n' >"$work/circle"
expect 2 "circle:2:1: rank 0 gets, and in the same step reads, block 0 (line 1)" "$collshim" plan bcast --text "$work/circle"
printf 'multicast(root; others)\n' >"$work/bcast"
expect 2 "too many to be proved" "$collshim" plan bcast --text "$work/bcast" --topology 'node:1000 rank:100'

machine=(--topology 'node:4 gpu:4 rail:4@100Gbit' --bytes 64MiB)
profile=$work/found.profile
printf 'bcast * * native\n' >"$profile"
expect 0 "no deadlock, every byte right" "$collshim" search bcast "${machine[@]}" --profile "$profile"
found=$(sed -n 's/^profile      //p' out)
check "search: the row is in front of the others" test "$(cat "$profile")" = "$found"$'\n''bcast * * native'
check "search: it has the time that sim gives its recipe" test \
    "$("$collshim" sim bcast "${machine[@]}" --algorithm "${found##* }" | sed -n 's/^predicted    \([0-9.]*\) ms.*/\1/p')" = \
    "$(sed -n 's/^best         \([0-9.]*\) ms.*/\1/p' out)"
expect 0 "until the limit" "$collshim" search allreduce --topology 'node:16 gpu:4 rail:4' --limit 1
expect 0 "bcast  2x2  0-0  " "$collshim" search bcast --topology 'node:2 rank:2' --bytes 0
check "search: the row is there before its proof" test "$(grep -cE '^(profile|checked) ' out)$(tail -1 out | cut -c1-7)" = 2checked
expect 2 "is no number of seconds" "$collshim" search bcast --limit soon
expect 2 "has a demand" "$collshim" search alltoallv
run 1 "$collshim" search bcast --profile "$work/nowhere/profile" || true
check "search: a profile that cannot be written" grep -qF "no such directory" err

# The first line on stderr is a result; an interrupt then ends the search with it.
interrupted() {
    local rc=0
    # A background job ignores SIGINT, but for one that asks for it.
    python3 - "$collshim" >out 2>err <<'END' || rc=$?
import signal, subprocess, sys
p = subprocess.Popen([sys.argv[1], "search", "allreduce", "--topology", "node:16 gpu:4 rail:4", "--limit", "0"],
                     stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
p.stderr.readline()
p.send_signal(signal.SIGINT)
p.communicate()
sys.exit(p.returncode)
END
    [[ $rc == 130 ]] || { echo "exits with $rc: $(head -c 300 err)"; return 1; }
    grep -q '^tried .*interrupted' out && grep -q '^profile ' out
}
check "search: interrupted, it keeps the best so far" interrupted
