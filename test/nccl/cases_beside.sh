# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Cases that mostly wait, and run beside the rest: ranks that are late, ranks without the same settings, the notice board.

# The same groups, cut differently by each rank.
claims 'exchanges in parts, native' "$ranks" --ranks 4 --count 703 "${slow[@]}"
awaited 'exchanges in parts' "$slow_job" "$tmp/slow.said"
[ "$(rerouted alltoallv slow)" -gt 0 ] && [ "$(native 'not one exchange' slow)" -gt 0 ]
ok 'exchanges in parts: native where they are not one' $?
[ "$(rerouted allreduce slow)" -gt 0 ] && [ "$(rerouted allreduce slow)" -lt 10 ]
ok 'a rank that is late once: rerouted later' $?

# Not every rank has the preload, or the same settings: native, and no hang.
wait "$mixed_off_job"
ok 'off on odd ranks' $?
wait "$mixed_exact_job"
ok 'other settings on odd ranks' $?
for name in odd_exact odd_off; do
  check "$name: native" jq -e '[.nccl.collectives[] | select(.collective == "allreduce") | .rerouted] == [0]' "$tmp/$name.nccl"
done

# The notice board alone: its keeper stopped, for an accelerated 3 to 9 s in 1,000 agreements and for as long as that in 200;
# clients that say or read nothing; its end.
claims 'the board: a keeper that is stopped, accelerated' "$board" --scale 40 stopped
awaited "the board: ${by_itself[*]}" "$board_job" "$tmp/board"
