# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Results: of the stand-in itself, of the programs with the preload, in graphs, verified, by a profile.

# The stand-in itself keeps NCCL's promises.
claims 'native, 4 processes' "$ranks" --ranks 4 --count 5003 "${all[@]}"
claims 'native, 2 hosts' "$ranks" --ranks 8 --hosts 2 --count 703 "${all[@]}"
claims 'native, threads' "$ranks" --ranks 4 --threads --count 703 "${all[@]}"
[ -n "$quick" ] || for seed in 1 2 3; do
  claims "native, late streams $seed" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 4 --count 703 "${all[@]:3}"
done

# The same programs with the preload: rerouted as often as it can be, forced native, and off.
rows=(
  'parallel_rings allgather allreduce reduce_scatter_block bcast reduce'
  'lane allgather allreduce reduce_scatter_block bcast reduce'
  'compose allgather allreduce reduce_scatter_block bcast reduce alltoall'
  'linear allgather allreduce reduce_scatter_block bcast reduce alltoall'
)
for row in "${rows[@]}"; do
  read -r name collectives <<<"$row"
  forced=$(for c in $collectives; do printf '%s=%s,' "$c" "$name"; done)
  preloaded "$name, 3 hosts" "${every[@]}" COLLSHIM_ALGORITHM="${forced%,}" "$ranks" --ranks 6 --hosts 3 --count 5003 reductions moves
  for c in $collectives; do
    check "$name: $c was rerouted" test "$(rerouted "$c")" -gt 0
  done
  # Every type, every operation: none is left to the library.
  check "$name: every operation was rerouted" \
    jq -e '[.nccl.collectives[] | select(.collective | test("reduce")) | .native == {}] | all and length == 3' "$tmp/report.nccl"
  [ -n "$quick" ] && break
done
printf 'for i in all { multicast(i; all; block i) }\n' >"$tmp/allgather.text"
preloaded 'compositions as text, 3 hosts' "${every[@]}" \
  COLLSHIM_ALGORITHM="allreduce=text:$root/docs/samples/allreduce.text,allgather=text:$tmp/allgather.text" \
  "$ranks" --ranks 6 --hosts 3 --count 703 reductions moves
check 'they are rerouted' test "$(rerouted allgather)" -gt 0 -a "$(rerouted allreduce)" -gt 0
preloaded 'a text that is no allreduce' "${every[@]}" COLLSHIM_ALGORITHM="allreduce=text:$tmp/allgather.text" \
  "$ranks" --ranks 6 --hosts 3 --count 703 reductions
check 'it is refused, and said once' test "$(rerouted allreduce)-$(grep -c 'it is no allreduce.*runs natively' "$tmp/printed")" = 0-1
preloaded 'as it chooses, 4 processes' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 "${all[@]}"
preloaded 'as it chooses, threads' "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' "$ranks" --ranks 4 --threads --count 703 "${prompt[@]}"
preloaded 'as it chooses, one rank' "${every[@]}" "$ranks" --ranks 1 --count 703 "${all[@]}"
preloaded 'ranks of unequal hosts' "${every[@]}" COLLSHIM_TOPOLOGY='node:0,0,0,1,1' "$ranks" --ranks 5 --count 703 "${prompt[@]}"
# The rails of rank 0's process: as the topology says, else not known
rails() { jq -e "$1" "$tmp/report.nccl" >/dev/null; }
preloaded 'rails' "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit' "$ranks" --ranks 4 --count 703 reductions
rails '.rails | length == 1 and (.[0] | .rail == 0 and .calls > 0 and .sent_bytes > 0 and .received_bytes > 0 and .sent_share == 1 and
  .can_send_bytes_per_s == 12500000 and .sent_bytes_per_s == null and .changed_at_call == null)'
ok 'a process tells what its rail carried' $?
"$build/collshim" report --wide "$tmp/report.nccl" | grep -qE ' 0 +[0-9]+ +[0-9.]+ +100% +- +100 '
ok 'collshim report shows it' $?
preloaded 'rails of threads' "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit' "$ranks" --ranks 4 --threads --count 703 reductions
check 'a process of several ranks tells what all its rails carried' rails '.rails | length == 1 and (.[0] | .rail == null and .sent_bytes > 0 and .can_send_bytes_per_s == null)'
preloaded 'no rails' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 reductions
check 'without a topology rails are not known' rails '.rails == []'
preloaded 'large' "${every[@]:0:1}" "$ranks" --ranks 4 --hosts 2 --count 1500000 sets messages blocked_stream
preloaded 'alternating' COLLSHIM_MODE=ab "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 repeated
[ "$(native 'COLLSHIM_MODE=ab')" -gt 0 ] && [ "$(rerouted allreduce)" -gt 0 ]
ok 'ab mode does both' $?
preloaded 'forced native' COLLSHIM_ALGORITHM=allreduce=native "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${all[@]:5}"
check 'native stays native' test "$(rerouted allreduce)" -eq 0
preloaded 'off' COLLSHIM_MODE=off "$ranks" --ranks 4 --hosts 2 --count 703 "${all[@]}"
[ -n "$quick" ] || for seed in 1 2 3 4 5 6 7 8; do
  preloaded "late streams $seed" "${every[@]}" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 4 --hosts 2 --count 2003 \
    moves blocked_stream two_streams thread_streams foreign_context groups destroy_early group_many group_crosswise sets sets_blocked
done

# Into graphs, which are launched beside other calls. Rank 0 makes 7 calls of each kind outside of the graph and one in it.
preloaded 'in graphs' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 captured
jq -e '[.nccl.collectives[] | select(.collective | test("^(allreduce|allgather|reduce_scatter_block)$")) | .rerouted == 8] | all and length == 3' \
  "$tmp/report.nccl" >/dev/null
ok 'in graphs: all is rerouted, and counted' $?
# A communicator that grows keeps what graphs use. Alone, so that no other memory is left for others; three ranks of a host,
# so that something lies there while one of them is late.
preloaded 'in graphs, grown' "${every[@]}" "$ranks" --ranks 6 --hosts 2 --count 2003 captured_grown
[ -n "$quick" ] || for seed in 1 2 3 4; do
  preloaded "in graphs, late streams $seed" "${every[@]}" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 4 --hosts 2 --count 2003 captured captured_grown
done
preloaded 'exchanges, 8 ranks' "${every[@]}" "$ranks" --ranks 8 --hosts 2 --count 20003 sets sets_loose sets_blocked group_many
[ "$(rerouted alltoallv)" -ge 10 ] && [ "$(rerouted allgather)" -ge 40 ]
ok 'groups and exchanges are rerouted' $?
preloaded 'split in a group' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 split_in_group
[ "$(rerouted allreduce)" -ge 3 ] && [ "$(native 'not seen')" -eq 0 ]
ok 'split in a group: known, and rerouted' $?
preloaded 'a thread of several ranks' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 group_devices
[ "$(rerouted allreduce)" -eq 12 ] && [ "$(rerouted reduce_scatter_block)" -eq 12 ]
ok 'a thread of several ranks: all is rerouted' $?
preloaded 'operations made and ended in a group' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 group_made captured_scaled
jq -e '[.nccl.collectives[] | .native == {}] | all' "$tmp/report.nccl" >/dev/null && [ "$(rerouted allreduce)" -eq 14 ]
ok 'operations made and ended in a group, or captured: all is rerouted' $?
verified 'verified results' 'allgather allreduce reduce_scatter_block bcast alltoall' "$ranks" --ranks 4 --hosts 2 --count 5003 reductions moves
verified 'verified groups' 'allgather allreduce alltoallv' "$ranks" --ranks 4 --hosts 2 --count 703 group_many group_devices two_streams blocked_stream sets sets_blocked

# A profile says which schedule, by the rows that MPI reads.
printf '%s\n' 'allreduce 2x2 * parallel_rings chunk=8K' 'allgather * * native' 'alltoallv * * pairwise' >"$tmp/profile"
preloaded 'a tuning profile' COLLSHIM_PROFILE="$tmp/profile" COLLSHIM_MIN_BYTES=0 "$ranks" --ranks 4 --hosts 2 --count 5003 group_many sets
jq -e '[.nccl.collectives[] | {(.collective): .algorithms}] | add |
  (.allreduce | keys) == ["parallel_rings"] and (.allgather | keys) == [] and (.alltoallv | keys) == ["pairwise"]' "$tmp/report.nccl" >/dev/null
ok 'a tuning profile: its rows are taken' $?
