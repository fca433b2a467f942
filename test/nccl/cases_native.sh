# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Calls that have to run natively do, and give a reason.

reason 'devices of one process' 'ncclCommInitAll' "${every[@]}" "${two_hosts[@]}" init_all
reason 'few multiprocessors by configuration' 'multiprocessors' "${every[@]}" "${two_hosts[@]}" policies
check 'few multiprocessors by configuration: parts too' test "$(rerouted allreduce)" -eq 0
reason 'few multiprocessors by environment' 'multiprocessors' NCCL_CTA_POLICY=EFFICIENCY "${every[@]}" "${two_hosts[@]}" async_error
for limit in NCCL_MAX_CTAS=8 NCCL_MAX_NCHANNELS=4; do
  reason "few multiprocessors by $limit" 'multiprocessors' $limit "${every[@]}" "${two_hosts[@]}" async_error
done
preloaded 'a limit that is none' NCCL_MAX_NCHANNELS=64 "${every[@]}" "${two_hosts[@]}" async_error
check 'a limit that is none: rerouted' test "$(rerouted allreduce)" -gt 0
preloaded 'as many as are fast' NCCL_CTA_POLICY=DEFAULT "${every[@]}" "${two_hosts[@]}" async_error
check 'as many multiprocessors as are fast: rerouted' test "$(rerouted allreduce)" -gt 0
reason 'a communicator made unseen' 'not seen' "${every[@]}" "${two_hosts[@]}" unseen
reason 'all communicators are non-blocking' 'non-blocking' NCCL_COMM_BLOCKING=0 "${every[@]}" "${two_hosts[@]}" nonblocking
reason 'an exchange of 65 ranks' 'more ranks than' "${every[@]}" NCCLSIM='near=9 far=9' "$ranks" --ranks 65 --hosts 13 --count 4000 set_rates
reason 'foreign operations in a group' 'in a group with' "${every[@]}" "${two_hosts[@]}" group_foreign
reason 'a call of another size, in capture' 'in capture' "${every[@]}" "${two_hosts[@]}" captured_other
check 'a call of another size, in capture: all three' test "$(native 'in capture')" -eq 3
reason 'the first call, in capture' 'in capture' "${every[@]}" "${two_hosts[@]}" captured_first
reason 'before the guard has settled, in capture' 'in capture' COLLSHIM_MIN_BYTES=1K "$ranks" --ranks 4 --hosts 2 --count 50003 captured
reason 'both ways at once, not in capture' 'in capture' COLLSHIM_MODE=verify "${every[@]}" "${two_hosts[@]}" captured
reason 'an operation that was made unseen' 'only the library knows' "${every[@]}" "${two_hosts[@]}" premul_unseen
reason 'a non-blocking communicator' 'non-blocking' "${every[@]}" "${two_hosts[@]}" nonblocking
reason 'rounding sums' 'COLLSHIM_EXACT' COLLSHIM_EXACT=1 "${every[@]}" "${two_hosts[@]}" async_error
preloaded 'operations that round' COLLSHIM_EXACT=1 "${every[@]}" "${two_hosts[@]}" reductions
# 3 collectives, 6 types of floats, 3 lengths; sums, products, averages and both scaled sums.
check 'operations that round: all of them are native' test "$(native 'COLLSHIM_EXACT')" -eq $((3 * 6 * 3 * 5))
reason 'a context of its own' 'not the primary one' "${every[@]}" "${two_hosts[@]}" own_context
reason 'a stream of another context' 'not the primary one' "${every[@]}" "${two_hosts[@]}" foreign_context
check 'a stream of another context: what came before is rerouted' test "$(rerouted allreduce)" -ge 2
check 'a stream of another context: so are exchanges' test "$(rerouted alltoallv)" -eq 1
reason 'fp8 before sm_90' 'sums of fp8' GPUSIM='devices=8 sm=80' "${every[@]}" "${two_hosts[@]}" fp8_sums
preloaded 'fp8 on sm_90' "${every[@]}" "${two_hosts[@]}" fp8_sums
check 'fp8 on sm_90: rerouted' test "$(rerouted allreduce)" -gt 0
reason 'small' 'smaller than' "${two_hosts[@]}" async_error
reason 'another NCCL on odd ranks' 'did not agree' NCCL_RANKS_ODD=NCCLSIM=version=22904 "${every[@]}" "${two_hosts[@]}" async_error
check 'another NCCL on odd ranks: all is native' test "$(rerouted allreduce)" -eq 0
reason 'a topology for other ranks' 'does not fit' COLLSHIM_TOPOLOGY='node:3 rank:3' "${every[@]}" "${two_hosts[@]}" async_error

# Buffers that NCCL knows of, and none of our scratch: before a call, behind some, by one rank alone, in a window. Calls on them
# have been rerouted if the stand-in complains of messages of which one end is registered.
known='buffers are registered'
reason 'registered buffers' "$known" "${every[@]}" "${two_hosts[@]}" registered
check 'registered buffers: all is native' test "$(rerouted allreduce)" -eq 0
preloaded 'buffers that are not registered' NCCL_LOCAL_REGISTER=0 "${every[@]}" "${two_hosts[@]}" registered
check 'buffers that are not registered: rerouted' test "$(rerouted allreduce)" -gt 0
# From call 2n on, where a rank has registered one behind n calls (docs/nccl.md).
reason 'registered late' "$known" "${every[@]}" "${two_hosts[@]}" registered_late
[ "$(rerouted allreduce)" -ge 5 ] && [ "$(rerouted allreduce)" -lt 10 ]
ok 'registered late, behind 5 calls: before call 10' $?
reason 'registered by one rank' "$known" "${every[@]}" "${two_hosts[@]}" registered_by_one
[ "$(rerouted allreduce)" -ge 14 ] && [ "$(native "$known")" -gt 0 ]
ok 'registered by one rank, behind 14 calls: later than that' $?
reason 'a registered exchange' "$known" "${every[@]}" "${two_hosts[@]}" registered_exchange
check 'a registered exchange: those before it are rerouted' test "$(rerouted alltoallv)" -eq 2
for case in windows window_in_group; do
  reason "$case" "$known" "${every[@]}" "${two_hosts[@]}" $case
  check "$case: from the window on" test "$(rerouted allreduce)" -eq 3
done
# In a graph NCCL registers by itself what it can export. One rank's memory of that kind makes it native on all.
reason 'mapped memory, in capture' 'NCCL registers by itself' "${every[@]}" "${two_hosts[@]}" captured_mapped
check 'mapped memory, in capture: native, and rerouted outside' \
  jq -e '[.nccl.collectives[] | [.rerouted, (.native | to_entries[0].value)] == [2, 2]] | all and length == 3' "$tmp/report.nccl"

# Groups in which only some ranks have enough messages to ask the others: these neither wait nor go before the
# collective.
reason 'an exchange beside a collective of another communicator' 'over several communicators' COLLSHIM_MIN_BYTES=16K "$ranks" --ranks 4 \
  --hosts 2 --count 5003 group_apart
[ "$(rerouted allreduce)" -gt 0 ] && [ "$(rerouted alltoallv)" -eq 0 ]
ok 'an exchange beside a collective of another communicator: which may be rerouted' $?

# Irregular groups of an NCCL that may hang in them, between hosts; inside one they are as good as any.
reason 'an NCCL before 2.28.7' 'before 2.28.7' NCCLSIM=version=22803 "${every[@]}" "$ranks" --ranks 6 --hosts 3 --count 703 moves async_error
[ "$(rerouted allreduce)" -eq 0 ] && [ "$(rerouted allgather)" -eq 0 ]
ok 'an NCCL before 2.28.7: all is native' $?
preloaded 'NCCL 2.28.7' NCCLSIM=version=22807 "${every[@]}" "$ranks" --ranks 6 --hosts 3 --count 703 moves async_error
[ "$(rerouted allreduce)" -gt 0 ] && [ "$(native 'before 2.28.7')" -eq 0 ]
ok 'NCCL 2.28.7: rerouted' $?
preloaded 'an NCCL before 2.28.7 inside a host' NCCLSIM=version=22803 "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' "$ranks" --ranks 4 \
  --count 703 async_error
[ "$(rerouted allreduce)" -gt 0 ] && [ "$(native 'before 2.28.7')" -eq 0 ]
ok 'an NCCL before 2.28.7 inside a host: rerouted' $?
# A group is cut where it is too large for a kernel, on each rank by itself: an irregular group may hang. None
# of ours is cut.
many=NCCL_NCHANNELS_PER_NET_PEER=64
simulated $many "$ranks" --ranks 8 --hosts 8 group_too_large >"$tmp/said" 2>&1 && grep -q 'in a later plan' "$tmp/said"
ok 'irregular groups that are too large: they hang' $?
simulated "$ranks" --ranks 8 --hosts 8 group_too_large >"$tmp/said" 2>&1 && ! grep -q 'in a later plan' "$tmp/said"
ok 'irregular groups that are not: they do not' $?
preloaded 'messages of many channels' $many "${every[@]:0:1}" COLLSHIM_CHUNK_BYTES=64K "$ranks" --ranks 6 --hosts 3 --count 150003 moves sets
[ "$(rerouted allgather)" -gt 0 ] && [ "$(rerouted bcast)" -gt 0 ] && [ "$(rerouted alltoallv)" -gt 0 ]
ok 'messages of many channels: rerouted' $?
# A group that the host has no memory to keep: refused on the rank, since the other ranks may reroute it.
preloaded 'a group without host memory' "${every[@]}" "${two_hosts[@]}" without_memory
check 'a group without host memory: kept in the reserve, and the next one rerouted' test "$(rerouted allreduce)" -gt 0

# A device with little memory. NCCL connects at the first message between two ranks, which takes some; the library's own
# collectives need none. One rank of two hosts has not enough: no call fails, and none is rerouted.
reason 'a device without memory for connections' 'could not get it ready' NCCL_RANKS_ODD='GPUSIM=devices=8 memory=60' "${every[@]}" \
  "${two_hosts[@]}" async_error reductions
check 'a device without memory for connections: all is native' test "$(rerouted allreduce)" -eq 0
# Scratch is a share of what is left, and a device's that is in other hands comes back.
reason 'more scratch than its share' 'could not get it ready' GPUSIM='devices=8 memory=360' "${every[@]:0:1}" COLLSHIM_CHUNK_BYTES=64K \
  "$ranks" --ranks 2 --hosts 2 --count 6000003 memory_for_others
preloaded 'a share of the memory' GPUSIM='devices=8 memory=1100' "${every[@]:0:1}" COLLSHIM_CHUNK_BYTES=64K \
  "$ranks" --ranks 4 --hosts 2 --count 500003 memory
check 'a share of the memory: rerouted' test "$(rerouted reduce_scatter_block)" -eq 20
reason 'a device with one percent left' 'could not get it ready' GPUSIM='devices=8 memory=320' "${every[@]}" "${two_hosts[@]}" "${small[@]}"
check 'a device with one percent left: all is native' test "$(rerouted reduce_scatter_block)" -eq 0
# One queue of the device for all streams: a call holds up nothing that is enqueued behind it.
one_queue=CUDA_DEVICE_MAX_CONNECTIONS=1
claims 'one queue, native' $one_queue "${two_hosts[@]}" beside_compute
reason 'one queue' 'CUDA_DEVICE_MAX_CONNECTIONS' $one_queue "${every[@]}" "${two_hosts[@]}" beside_compute async_error
check 'one queue: all is native' test "$(rerouted allreduce)" -eq 0
reason 'one queue on odd ranks' 'CUDA_DEVICE_MAX_CONNECTIONS' NCCL_RANKS_ODD=$one_queue "${every[@]}" "${two_hosts[@]}" beside_compute
check 'one queue on odd ranks: all is native' test "$(rerouted allreduce)" -eq 0
preloaded 'as many queues as usual' CUDA_DEVICE_MAX_CONNECTIONS=8 "${every[@]}" "${two_hosts[@]}" beside_compute
check 'as many queues as usual: rerouted' test "$(rerouted allreduce)" -gt 0

# Aborted while its ranks meet: the library, which may have freed it by then, is not called with it.
simulated LD_PRELOAD="$shim" "${every[@]}" "${two_hosts[@]}" abort_meeting >"$tmp/said" 2>&1 && ! grep -q '^ncclsim' "$tmp/said"
ok 'aborted while its ranks meet: not called' $?
