# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The guard takes what is faster by the modelled links: events are looked at, no stream is waited for.

guarded() { # DESCRIPTION NCCLSIM EXPECTED
  preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM="$2" "$ranks" --ranks 8 --hosts 2 --count 200003 repeated repeated
  check "$1: there was a trial" test "$(native 'turn in a trial')" -gt 0
  if [ "$3" = rerouted ]; then [ "$(rerouted allreduce)" -gt 12 ]; else [ "$(native 'at least as fast')" -gt 10 ]; fi
  ok "$1: settled" $?
  settled_within "$1" 64
}
guarded 'slow links between hosts, of which NCCL uses one' 'near=200 far=0.5 rings=1' rerouted
guarded 'links that NCCL uses all of' 'near=200 far=50' native
guarded 'slow links inside hosts' 'near=0.5 far=200' native
# Ranks of a host share what one message has of channels, at any rate of their links: schedules are made for
# that.
allreduce_seconds() { # LINKS
  simulated LD_PRELOAD="$shim" "${every[@]:0:1}" COLLSHIM_CHOOSE=always NCCLSIM='near=300 far=25' NCCL_RANKS_RATES=allreduce \
    COLLSHIM_TOPOLOGY="node:2 gpu:4 rail:4@25GB/s link_nvlink:$1" "$ranks" --ranks 8 --hosts 2 --count 1048576 rates 2>/dev/null |
    jq -rR 'fromjson? | .seconds'
}
seconds=$(allreduce_seconds 300GB/s)
[ -n "$seconds" ] && [ "$seconds" = "$(allreduce_seconds 40GB/s)" ]
ok 'messages inside hosts share channels' $?

# Hosts 500 calls ahead of their streams: the trial's calls are made once, and the guard settles when their times come. No
# call's time is known before 500 more are made, so the 64 calls count from there.
if [ -z "$quick" ]; then
  far_ahead() { preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM="$2" "$ranks" --ranks 4 --hosts 2 --count 20003 ahead && settled_within "$1" $((64 + 500)); }
  far_ahead 'hosts far ahead, links that NCCL uses all of' 'near=200 far=50'
  [ "$(rerouted allreduce)" -le 16 ] && [ "$(native 'at least as fast')" -gt 0 ]
  ok 'hosts far ahead, links that NCCL uses all of: few calls are slower, and it settles' $?
  far_ahead 'hosts far ahead, slow links between hosts' 'near=200 far=0.5 rings=1'
  check 'hosts far ahead, slow links between hosts: the others are rerouted' test "$(rerouted allreduce)" -gt 1000
  # Links that change behind calls 2,500, 5,000 and 7,500: a settled call is looked at every 768 calls at least. The
  # second look finds a change, and two more follow at once.
  preloaded 'links that change' COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.5 rings=1' "$ranks" --ranks 4 --hosts 2 --count 50003 links_change
  sed -nE "s/.*guard: NCCL allreduce .* ranks: (rerouted|the library's own) .* after ([0-9]+) calls.*/\1:\2/p" "$tmp/printed" >"$tmp/verdicts"
  awk -F: '{ turn = NR - 1; bad += $1 != (turn % 2 ? "the library\047s own" : "rerouted") || $2 <= 2500 * turn || $2 > 2500 * turn + 1600 }
    END { exit bad || NR != 4 }' "$tmp/verdicts"
  ok "links that change: a verdict within 1600 calls of each change, not $(paste -sd' ' "$tmp/verdicts")" $?
fi
# Settled calls take as long on the stream as the better of both ways.
settled_times() { jq -n '[inputs.seconds]' <(grep '^{' "$tmp/printed"); }
if [ -z "$quick" ]; then
  settles=(NCCL_RANKS_RATES=allreduce NCCLSIM='near=300 far=5 rings=1' "$ranks" --ranks 4 --hosts 2 --count 262144 settled_rates)
  simulated "${settles[@]}" >"$tmp/printed" 2>&1
  library=$(settled_times)
  preloaded 'calls that settle' COLLSHIM_MIN_BYTES=1K "${settles[@]}"
  jq -ne --argjson library "$library" --argjson ours "$(settled_times)" \
    '($ours | length) == 3 and ([$ours, $library] | transpose | all(.[0] <= 1.001 * .[1])) and $ours[2] < .95 * $library[2]' >/dev/null
  ok 'calls that settle: never slower than the library, large ones faster' $?
fi
# The next job begins with its findings.
stored() { preloaded "$1" COLLSHIM_MIN_BYTES=1K COLLSHIM_STORE="$tmp/store" NCCLSIM='near=200 far=0.5 rings=1' "$ranks" --ranks 8 --hosts 2 --count 200003 repeated; }
rm -f "$tmp/store"
stored 'a job that stores its verdicts'
trials=$(native 'turn in a trial')
grep -qE '^NCCL[0-9.]+/[^ ]+/2x4/[0-9a-f]{8} allreduce 0 [0-9]+K [a-z_]+ ppg=1 ratio=0[.][0-9]+ spread=0[.][0-9]+ jobs=1 day=[0-9]+$' "$tmp/store"
ok 'a job that stores its verdicts: a row' $?
stored 'the job behind it'
[ "$(native 'turn in a trial')" -lt "$trials" ] && [ "$(rerouted allreduce)" -gt 40 ]
ok 'the job behind it: fewer trials' $?
# Sizes may be new in every step: a schedule is made for those that come again.
preloaded 'sizes that come once' COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.5 rings=1' "$ranks" --ranks 8 --hosts 2 --count 200003 fresh
# Timed calls of a look get a schedule the first time: at most three of the ten sizes.
fresh=$(native 'has not come before')
[ "$fresh" -ge 7 ] && [ "$fresh" -le 10 ] && [ "$(native 'could not get it ready')" -eq 0 ]
ok 'sizes that come once: native, and by a schedule the second time' $?
# A graph gets the contender it has settled on, also while the guard looks again.
preloaded 'captured after the guard has settled' COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.5 rings=1' "$ranks" --ranks 8 --hosts 2 --count 100003 captured_late
check 'captured after the guard has settled: as it has' test "$(native 'in capture')" -eq 0
if [ -z "$quick" ]; then
  preloaded 'captured while the guard looks again' COLLSHIM_MIN_BYTES=1 NCCLSIM='near=200 far=0.01 rings=1' COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@0.01GB/s' \
    "$ranks" --ranks 4 --hosts 2 --count 503 captured_again
  [ "$(native 'in capture')" -eq 0 ] && [ "$(native 'turn in a trial')" -gt 3 ]
  ok 'captured while the guard looks again: as it was settled' $?
fi
# The same of exchanges: where the model sees a gain, the clock has the last word.
exchanged() { # DESCRIPTION NCCLSIM CONDITION
  preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K COLLSHIM_CHUNK_BYTES=16K NCCLSIM="$2" \
    COLLSHIM_TOPOLOGY='node:2 gpu:4 rail:4@0.1GB/s link_nvlink:1.2GB/s' \
    "$ranks" --ranks 8 --hosts 2 --count 200003 sets_repeated
  check "$1: settled" jq -e ".nccl.collectives[] | select(.collective == \"alltoallv\") | $3" "$tmp/report.nccl"
  settled_within "$1" 64
}
exchanged 'exchanges over slow rails' 'near=1.2 far=0.1' '.rerouted > 30'
exchanged 'exchanges over rails that are none' 'near=0.1 far=1.2' \
  '.rerouted <= 10 and .native["exchanges like it gained nothing"] > 5'

# Hosts that meet over a slow network for each exchange: that is part of a reroute's price, where streams wait for hosts.
claims 'exchanges whose hosts meet slowly' LD_PRELOAD="$shim:$build/test/far_board.so" COLLSHIM_REPORT="$tmp/report" COLLSHIM_MIN_BYTES=1K \
  COLLSHIM_CHUNK_BYTES=64K GPUSIM='devices=8 clock=real' NCCLSIM='near=12 far=1' \
  COLLSHIM_TOPOLOGY='node:2 gpu:4 rail:4@1GB/s link_nvlink:12GB/s' "$ranks" --ranks 8 --hosts 2 --count 200003 sets_repeated
[ "$(rerouted alltoallv)" -le 20 ] && [ "$(native 'at least as fast|gained nothing')" -gt 10 ]
ok 'exchanges whose hosts meet slowly: native' $?

# Modelled links: 2 hosts of 4, NVLink 12 times a rail. The bound is what must cross each rank's rail.
fraction() { # COLLECTIVE ALGORITHM BYTES-OVER-A-RAIL-PER-BYTE CHUNK [VARIABLE=VALUE]
  local out found
  out=$(simulated LD_PRELOAD="$shim" COLLSHIM_ALGORITHM="$1=$2" COLLSHIM_CHUNK_BYTES="$4" NCCLSIM='near=1.2 far=0.1' "${@:5}" \
    "$ranks" --ranks 8 --hosts 2 --count 1048576 rates set_rates 2>&1)
  jq -e -n -R --arg c "${1%_block}" --argjson share "$3" '[inputs | fromjson? | select(.collective == $c)][0] |
    (.bytes * $share / 1e8 / .seconds) | if . >= 0.9 and . <= 1 then . else halt_error end' <<<"$out" >"$tmp/fraction" 2>&1
  found=$?
  ok "$1 by $2: 0.9 of the bound, not $(head -c 6 "$tmp/fraction")" "$found"
  echo "# $1 by $2: $(head -c 6 "$tmp/fraction") of the bound"
}
# Chunks are as the model of these links finds them.
for row in 'allgather parallel_rings 1' 'reduce_scatter_block parallel_rings 1' 'allreduce lane 0.25'; do
  read -r collective name share <<<"$row"
  fraction "$collective" "$name" "$share" 0 COLLSHIM_TOPOLOGY='node:2 gpu:4 rail:4@0.1GB/s link_nvlink:1.2GB/s'
done
# 0.7 of what each sends goes to one rank. The bound is the exact linear program's, by GLPK where it is: of the demand of
# set_rates, as rows from each rank.
skewed='node:2 gpu:4 rail:4@0.1GB/s link_nvlink:1.2GB/s'
awk -v all=4194304 'BEGIN { hot = int(all / 10) * 7; rest = int((all - hot) / 7)
  for (f = 0; f < 8; f++) { for (t = 0; t < 8; t++) printf "%d ", t == f ? 0 : rest + (t == (f == 0) ? hot : 0); print "" } }' >"$tmp/demand"
"$build/collshim" plan alltoallv --topology "$skewed" --demand "$tmp/demand" --json >"$tmp/plan"
share=$(jq '.balancing | (.optimum // empty) * 1e8 / 4194304' "$tmp/plan")
if [ -n "$share" ]; then
  fraction alltoallv nimble "$share" 64K COLLSHIM_TOPOLOGY="$skewed"
else
  skip 'the exact bound of exchanges' 'it needs GLPK'
fi
