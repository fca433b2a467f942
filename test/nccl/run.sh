#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/nccl/run.sh [--quick] BUILD: NCCL with the preload and without, on the stand-in NCCL and the
# simulated driver; and the real libnccl, if installed, as far as possible without a GPU. On a real GPU:
# scripts/gpu-cluster.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
quick=
[ "${1:-}" = --quick ] && { quick=1; shift; }
build=$(cd "${1:?usage: test/nccl/run.sh [--quick] BUILD}" && pwd)
here=$root/test/nccl
ranks=$build/test/nccl_ranks
shim=$build/libcollshim.so
tune=$root/scripts/tune-nccl
tool=$root/test/mpi/tool

if [ ! -x "$ranks" ] || [ ! -e "$build/libcollshim-nccl.so" ]; then
  skip_all "built without the headers of CUDA or NCCL"
fi
# shellcheck source=test/killed_job.sh
. "$root/test/killed_job.sh"
unset CUDA_DEVICE_MAX_CONNECTIONS NCCL_MAX_CTAS NCCL_MAX_NCHANNELS NCCL_NCHANNELS_PER_PEER NCCL_NCHANNELS_PER_NET_PEER NCCL_LOCAL_REGISTER NCCL_GRAPH_REGISTER NCCL_HOSTID NCCL_COMM_BLOCKING NCCL_COMM_ID NCCL_CTA_POLICY

# The stand-in on a machine of 8 devices; VARIABLE=VALUE... first.
simulated() { env LD_LIBRARY_PATH="$build/ncclsim:$build/gpusim" GPUSIM="devices=8" timeout 600 env "$@"; }

# DESCRIPTION VARIABLE=VALUE... PROGRAM ARGUMENTS...: the program's own claims count.
claims() {
  local name=$1 out status=0
  shift
  out=$(simulated "$@" 2>&1) || status=$?
  if [ "$status" -ne 0 ]; then
    grep '^not ok' <<<"$out" | head -n 5
    echo "# in: $name"
  fi
  add_claims "$name" "$status" "$out"
  printf '%s\n' "$out" >"$tmp/printed"
}
preloaded() { claims "$1" LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/report" "${@:2}"; }
# The last report, or REPORT, has: rerouted COLLECTIVE [REPORT] calls, or native REASON-PATTERN [REPORT].
rerouted() { jq "[.nccl.collectives[] | select(.collective == \"$1\") | .rerouted] | add // 0" "$tmp/${2:-report}.nccl"; }
native() { jq "[.nccl.collectives[].native | to_entries[] | select(.key | test(\"$1\")) | .value] | add // 0" "$tmp/${2:-report}.nccl"; }
# awaited DESCRIPTION JOB FILE: the claims of a program that ran beside the others, and printed into FILE
awaited() {
  local status=0
  wait "$2" || status=$?
  [ "$status" -eq 0 ] || grep '^not ok' "$3" | head -n 5
  add_claims "$1" "$status" "$(cat "$3")"
}

mapfile -t cases < <(simulated "$ranks" --list | grep -v '^rank_')
all=(reductions moves exchanges messages premul_unseen nothing one_rank groups mixed_group split split_in_group init_in_group nonblocking
  configured policies init_all unseen revoked without_memory windows window_in_group current_device unaligned simulated_end foreign_stream abort_meeting
  blocked_stream two_streams thread_streams own_context foreign_context fp8_sums destroy_early finalize abort async_error registered registered_late registered_by_one
  registered_to_the_end registered_exchange repeated recycled arguments beside_compute
  different_counts different_messages different_order after_destroy many_communicators helper_killed helper_killed_idle
  helper_killed_anytime
  group_many group_too_large group_crosswise group_apart group_made group_foreign group_refused group_devices sets sets_repeated sets_loose sets_blocked captured captured_grown captured_scaled
  captured_first capture_elsewhere
  captured_other captured_mapped captured_registered captured_group rates set_rates two_level_rates group_rates message_rates memory memory_for_others)
small=(full_device) # of a device that the simulated driver can fill
processes_only=(forks debugged helper_stopped) # of ranks that are processes, the last of which lose their helpers
late=(captured_late captured_again fresh ahead links_change settled_rates) # many calls
slow=(sets_apart late_once) # several times until a rank has lost its patience
# But those of which a rerouted run waits 5 s for ranks that do not come.
mapfile -t prompt < <(printf '%s\n' "${all[@]}" | grep -vxE 'exchanges|different_order')
[ "$(printf '%s\n' "${cases[@]}" | sort)" = "$(printf '%s\n' "${all[@]}" "${processes_only[@]}" "${late[@]}" "${slow[@]}" "${small[@]}" | sort)" ]
ok 'every case of the program is run here' $?

# Each row of the table of findings names tests that are there: cases, or claims of this file.
board=$build/test/nccl_board
every=(COLLSHIM_MIN_BYTES=0 COLLSHIM_CHUNK_BYTES=4K)
# Most of its cases sleep, in real time, and these wait 5 s for ranks that do not come: they run beside the others.
by_itself=(silent slow_reader keeper_dies keeper_ends)
[ -n "$quick" ] || by_itself+=(stopped)
simulated "$board" "${by_itself[@]}" >"$tmp/board" 2>&1 &
board_job=$!
two_hosts=("$ranks" --ranks 4 --hosts 2 --count 703)
mixed() { # FILE ENVIRONMENT-OF-RANK-1
  simulated LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/$1" "${every[@]}" NCCL_RANKS_ODD="$2" "${two_hosts[@]}" async_error >"$tmp/$1.said" 2>&1
}
mixed odd_exact COLLSHIM_EXACT=1 &
mixed_exact_job=$!
mixed odd_off COLLSHIM_MODE=off &
mixed_off_job=$!
simulated LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/slow" "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${slow[@]}" >"$tmp/slow.said" 2>&1 &
slow_job=$!
known=$(simulated "$ranks" --list; "$board" --list)
rows_without_test() {
  sed -n '/^## Findings/,$p' "$here/README.md" | grep '^| [0-9]' | while IFS='|' read -r _ number _ tests state _; do
    [[ $state =~ (mended|refuted|open) ]] || echo "$number: $state"
    [[ $tests == *'`'* || $state == *open* ]] || echo "$number: no test"
    # shellcheck disable=SC2016 # Markdown's backquotes
    grep -oE '`[^`]+`' <<<"$tests" | tr -d '`' | while read -r name; do
      grep -qxF "$name" <<<"$known" || grep -qF "'$name'" "$here/run.sh" ||
        grep -qF "$name:" "$root/test/preload/cases_nccl.sh" || echo "$number: $name"
    done
  done
}
missing=$(rows_without_test | paste -sd,)
[ "$(sed -n '/^## Findings/,$p' "$here/README.md" | grep -c '^| [0-9]')" -eq 23 ] && [ -z "$missing" ]
ok "every finding has its test; not: $missing" $?

# 1. The stand-in itself keeps NCCL's promises.
claims 'native, 4 processes' "$ranks" --ranks 4 --count 5003 "${all[@]}"
claims 'native, 2 hosts' "$ranks" --ranks 8 --hosts 2 --count 703 "${all[@]}"
claims 'native, threads' "$ranks" --ranks 4 --threads --count 703 "${all[@]}"
[ -n "$quick" ] || for seed in 1 2 3; do
  claims "native, late streams $seed" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 4 --count 703 "${all[@]:3}"
done

# 2. The same programs with the preload: rerouted as often as it can be, forced native, and off.
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
    [ "$(rerouted "$c")" -gt 0 ]
    ok "$name: $c was rerouted" $?
  done
  # Every type, every operation: none is left to the library.
  jq -e '[.nccl.collectives[] | select(.collective | test("reduce")) | .native == {}] | all and length == 3' "$tmp/report.nccl" >/dev/null
  ok "$name: every operation was rerouted" $?
  [ -n "$quick" ] && break
done
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
"$build/collshim" report "$tmp/report.nccl" | grep -qE ' 0 +[0-9]+ +[0-9.]+ +100% +- +100 '
ok 'collshim report shows it' $?
preloaded 'rails of threads' "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit' "$ranks" --ranks 4 --threads --count 703 reductions
rails '.rails | length == 1 and (.[0] | .rail == null and .sent_bytes > 0 and .can_send_bytes_per_s == null)'
ok 'a process of several ranks tells what all its rails carried' $?
preloaded 'no rails' "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 reductions
rails '.rails == []'
ok 'without a topology rails are not known' $?
preloaded 'large' "${every[@]:0:1}" "$ranks" --ranks 4 --hosts 2 --count 1500000 sets messages blocked_stream
preloaded 'alternating' COLLSHIM_MODE=ab "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 repeated
[ "$(native 'COLLSHIM_MODE=ab')" -gt 0 ] && [ "$(rerouted allreduce)" -gt 0 ]
ok 'ab mode does both' $?
preloaded 'forced native' COLLSHIM_ALGORITHM=allreduce=native "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${all[@]:5}"
[ "$(rerouted allreduce)" -eq 0 ]
ok 'native stays native' $?
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
# The same groups, cut differently by each rank.
claims 'exchanges in parts, native' "$ranks" --ranks 4 --count 703 "${slow[@]}"
awaited 'exchanges in parts' "$slow_job" "$tmp/slow.said"
[ "$(rerouted alltoallv slow)" -gt 0 ] && [ "$(native 'not one exchange' slow)" -gt 0 ]
ok 'exchanges in parts: native where they are not one' $?
[ "$(rerouted allreduce slow)" -eq 3 ] # of ten calls those from the eighth on
ok 'a rank that is late once: rerouted later' $?

# Both ways at once, results compared; the stream is not waited for.
verified() { # DESCRIPTION COLLECTIVES PROGRAM...
  preloaded "$1" COLLSHIM_MODE=verify "${every[@]}" "${@:3}"
  for c in $2; do
    jq -e "[.nccl.collectives[] | select(.collective == \"$c\")][0] |
      .verified_equal > 0 and .verified_different == 0" "$tmp/report.nccl" >/dev/null
    ok "$1: $c is compared, and equal" $?
  done
}
verified 'verified results' 'allgather allreduce reduce_scatter_block bcast alltoall' "$ranks" --ranks 4 --hosts 2 --count 5003 reductions moves
verified 'verified groups' 'allgather allreduce alltoallv' "$ranks" --ranks 4 --hosts 2 --count 703 group_many group_devices two_streams blocked_stream sets sets_blocked

# A profile says which schedule, by the rows that MPI reads.
printf '%s\n' 'allreduce 2x2 * parallel_rings chunk=8K' 'allgather * * native' 'alltoallv * * pairwise' >"$tmp/profile"
preloaded 'a tuning profile' COLLSHIM_PROFILE="$tmp/profile" COLLSHIM_MIN_BYTES=0 "$ranks" --ranks 4 --hosts 2 --count 5003 group_many sets
jq -e '[.nccl.collectives[] | {(.collective): .algorithms}] | add |
  (.allreduce | keys) == ["parallel_rings"] and (.allgather | keys) == [] and (.alltoallv | keys) == ["pairwise"]' "$tmp/report.nccl" >/dev/null
ok 'a tuning profile: its rows are taken' $?

# 3. Calls that have to run natively do, and give a reason.
reason() { # DESCRIPTION PATTERN VARIABLE=VALUE... PROGRAM...
  preloaded "$1" "${@:3}"
  [ "$(native "$2")" -gt 0 ]
  ok "$1: reported" $?
}
reason 'devices of one process' 'ncclCommInitAll' "${every[@]}" "${two_hosts[@]}" init_all
reason 'few multiprocessors by configuration' 'multiprocessors' "${every[@]}" "${two_hosts[@]}" policies
[ "$(rerouted allreduce)" -eq 0 ]
ok 'few multiprocessors by configuration: parts too' $?
reason 'few multiprocessors by environment' 'multiprocessors' NCCL_CTA_POLICY=EFFICIENCY "${every[@]}" "${two_hosts[@]}" async_error
for limit in NCCL_MAX_CTAS=8 NCCL_MAX_NCHANNELS=4; do
  reason "few multiprocessors by $limit" 'multiprocessors' $limit "${every[@]}" "${two_hosts[@]}" async_error
done
preloaded 'a limit that is none' NCCL_MAX_NCHANNELS=64 "${every[@]}" "${two_hosts[@]}" async_error
[ "$(rerouted allreduce)" -gt 0 ]
ok 'a limit that is none: rerouted' $?
preloaded 'as many as are fast' NCCL_CTA_POLICY=DEFAULT "${every[@]}" "${two_hosts[@]}" async_error
[ "$(rerouted allreduce)" -gt 0 ]
ok 'as many multiprocessors as are fast: rerouted' $?
reason 'a communicator made unseen' 'not seen' "${every[@]}" "${two_hosts[@]}" unseen
reason 'all communicators are non-blocking' 'non-blocking' NCCL_COMM_BLOCKING=0 "${every[@]}" "${two_hosts[@]}" nonblocking
reason 'an exchange of 65 ranks' 'more ranks than' "${every[@]}" NCCLSIM='near=9 far=9' "$ranks" --ranks 65 --hosts 13 --count 4000 set_rates
reason 'foreign operations in a group' 'in a group with' "${every[@]}" "${two_hosts[@]}" group_foreign
reason 'a call of another size, in capture' 'in capture' "${every[@]}" "${two_hosts[@]}" captured_other
[ "$(native 'in capture')" -eq 3 ]
ok 'a call of another size, in capture: all three' $?
reason 'the first call, in capture' 'in capture' "${every[@]}" "${two_hosts[@]}" captured_first
reason 'before the guard has settled, in capture' 'in capture' COLLSHIM_MIN_BYTES=1K "$ranks" --ranks 4 --hosts 2 --count 50003 captured
reason 'both ways at once, not in capture' 'in capture' COLLSHIM_MODE=verify "${every[@]}" "${two_hosts[@]}" captured
reason 'an operation that was made unseen' 'only the library knows' "${every[@]}" "${two_hosts[@]}" premul_unseen
reason 'a non-blocking communicator' 'non-blocking' "${every[@]}" "${two_hosts[@]}" nonblocking
reason 'rounding sums' 'COLLSHIM_EXACT' COLLSHIM_EXACT=1 "${every[@]}" "${two_hosts[@]}" async_error
preloaded 'operations that round' COLLSHIM_EXACT=1 "${every[@]}" "${two_hosts[@]}" reductions
# 3 collectives, 6 types of floats, 3 lengths; sums, products, averages and both scaled sums.
[ "$(native 'COLLSHIM_EXACT')" -eq $((3 * 6 * 3 * 5)) ]
ok 'operations that round: all of them are native' $?
reason 'a context of its own' 'not the primary one' "${every[@]}" "${two_hosts[@]}" own_context
reason 'a stream of another context' 'not the primary one' "${every[@]}" "${two_hosts[@]}" foreign_context
[ "$(rerouted allreduce)" -ge 2 ]
ok 'a stream of another context: what came before is rerouted' $?
[ "$(rerouted alltoallv)" -eq 1 ]
ok 'a stream of another context: so are exchanges' $?
reason 'fp8 before sm_90' 'sums of fp8' GPUSIM='devices=8 sm=80' "${every[@]}" "${two_hosts[@]}" fp8_sums
preloaded 'fp8 on sm_90' "${every[@]}" "${two_hosts[@]}" fp8_sums
[ "$(rerouted allreduce)" -gt 0 ]
ok 'fp8 on sm_90: rerouted' $?
reason 'small' 'smaller than' "${two_hosts[@]}" async_error
reason 'another NCCL on odd ranks' 'did not agree' NCCL_RANKS_ODD=NCCLSIM=version=22904 "${every[@]}" "${two_hosts[@]}" async_error
[ "$(rerouted allreduce)" -eq 0 ]
ok 'another NCCL on odd ranks: all is native' $?
reason 'a topology for other ranks' 'does not fit' COLLSHIM_TOPOLOGY='node:3 rank:3' "${every[@]}" "${two_hosts[@]}" async_error

# Buffers that NCCL knows of, and none of our scratch: before a call, behind some, by one rank alone, in a window. Calls on them
# have been rerouted if the stand-in complains of messages of which one end is registered.
known='buffers are registered'
reason 'registered buffers' "$known" "${every[@]}" "${two_hosts[@]}" registered
[ "$(rerouted allreduce)" -eq 0 ]
ok 'registered buffers: all is native' $?
preloaded 'buffers that are not registered' NCCL_LOCAL_REGISTER=0 "${every[@]}" "${two_hosts[@]}" registered
[ "$(rerouted allreduce)" -gt 0 ]
ok 'buffers that are not registered: rerouted' $?
# Calls 1 to 7 are decided before the 8th asks; of one rank's, which is called for the 15th, the 16th.
reason 'registered late' "$known" "${every[@]}" "${two_hosts[@]}" registered_late
[ "$(rerouted allreduce)" -eq 7 ] && [ "$(native "$known")" -eq 11 ]
ok 'registered late: from call 8 on' $?
reason 'registered by one rank' "$known" "${every[@]}" "${two_hosts[@]}" registered_by_one
[ "$(rerouted allreduce)" -eq 15 ] && [ "$(native "$known")" -eq 5 ]
ok 'registered by one rank: from call 16 on' $?
reason 'a registered exchange' "$known" "${every[@]}" "${two_hosts[@]}" registered_exchange
[ "$(rerouted alltoallv)" -eq 2 ]
ok 'a registered exchange: those before it are rerouted' $?
for case in windows window_in_group; do
  reason "$case" "$known" "${every[@]}" "${two_hosts[@]}" $case
  [ "$(rerouted allreduce)" -eq 3 ]
  ok "$case: from the window on" $?
done
# In a graph NCCL registers by itself what it can export. One rank's memory of that kind makes it native on all.
reason 'mapped memory, in capture' 'NCCL registers by itself' "${every[@]}" "${two_hosts[@]}" captured_mapped
jq -e '[.nccl.collectives[] | [.rerouted, (.native | to_entries[0].value)] == [2, 2]] | all and length == 3' "$tmp/report.nccl" >/dev/null
ok 'mapped memory, in capture: native, and rerouted outside' $?

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
preloaded 'a group without host memory' NCCL_RANKS_REFUSED=1 "${every[@]}" "${two_hosts[@]}" without_memory
[ "$(rerouted allreduce)" -gt 0 ]
ok 'a group without host memory: refused, and the next one rerouted' $?

# A device with little memory. NCCL connects at the first message between two ranks, which takes some; the library's own
# collectives need none. One rank of two hosts has not enough: no call fails, and none is rerouted.
reason 'a device without memory for connections' 'could not get it ready' NCCL_RANKS_ODD='GPUSIM=devices=8 memory=60' "${every[@]}" \
  "${two_hosts[@]}" async_error reductions
[ "$(rerouted allreduce)" -eq 0 ]
ok 'a device without memory for connections: all is native' $?
# Scratch is a share of what is left, and a device's that is in other hands comes back.
reason 'more scratch than its share' 'could not get it ready' GPUSIM='devices=8 memory=360' "${every[@]:0:1}" COLLSHIM_CHUNK_BYTES=64K \
  "$ranks" --ranks 2 --hosts 2 --count 6000003 memory_for_others
preloaded 'a share of the memory' GPUSIM='devices=8 memory=1100' "${every[@]:0:1}" COLLSHIM_CHUNK_BYTES=64K \
  "$ranks" --ranks 4 --hosts 2 --count 500003 memory
[ "$(rerouted reduce_scatter_block)" -eq 20 ]
ok 'a share of the memory: rerouted' $?
reason 'a device with one percent left' 'could not get it ready' GPUSIM='devices=8 memory=320' "${every[@]}" "${two_hosts[@]}" "${small[@]}"
[ "$(rerouted reduce_scatter_block)" -eq 0 ]
ok 'a device with one percent left: all is native' $?
# One queue of the device for all streams: a call holds up nothing that is enqueued behind it.
one_queue=CUDA_DEVICE_MAX_CONNECTIONS=1
claims 'one queue, native' $one_queue "${two_hosts[@]}" beside_compute
reason 'one queue' 'CUDA_DEVICE_MAX_CONNECTIONS' $one_queue "${every[@]}" "${two_hosts[@]}" beside_compute async_error
[ "$(rerouted allreduce)" -eq 0 ]
ok 'one queue: all is native' $?
reason 'one queue on odd ranks' 'CUDA_DEVICE_MAX_CONNECTIONS' NCCL_RANKS_ODD=$one_queue "${every[@]}" "${two_hosts[@]}" beside_compute
[ "$(rerouted allreduce)" -eq 0 ]
ok 'one queue on odd ranks: all is native' $?
preloaded 'as many queues as usual' CUDA_DEVICE_MAX_CONNECTIONS=8 "${every[@]}" "${two_hosts[@]}" beside_compute
[ "$(rerouted allreduce)" -gt 0 ]
ok 'as many queues as usual: rerouted' $?

# Aborted while its ranks meet: the library, which may have freed it by then, is not called with it.
simulated LD_PRELOAD="$shim" "${every[@]}" "${two_hosts[@]}" abort_meeting >"$tmp/said" 2>&1 && ! grep -q '^ncclsim' "$tmp/said"
ok 'aborted while its ranks meet: not called' $?

# One report of a job, of rank 0 of the largest communicator: the parts of a split have a rank 0 each, on other ranks. Or each
# process has its own.
preloaded 'the report of a job' "${every[@]}" "${two_hosts[@]}" split
[ "$(jq -c '[.ranks, .counts_are]' "$tmp/report.nccl")" = '[4,"of the process of rank 0"]' ] && "$build/collshim" report "$tmp/report" | grep -q '^allreduce: 4 calls'
ok 'the report of a job: of rank 0' $?
# Which line calls.
claims 'call sites' LD_PRELOAD="$shim" COLLSHIM_MODE=ab COLLSHIM_REPORT="$tmp/sites-%p" "${every[@]}" "${two_hosts[@]}" split
jq -s -e '[.[].sites[] | select(.collective == "allreduce" and .calls > 0 and .comm_ranks > 0 and (.object | endswith("nccl_ranks")))] |
  length > 0' "$tmp"/sites-*.nccl >/dev/null &&
  jq -s -e 'all(([.sites[].calls] | add) == ([.nccl.collectives[].calls] | add))' "$tmp"/sites-*.nccl >/dev/null
ok 'call sites: as many calls as there are collectives' $?
# The job's report is in a spool, not those of its processes.
mkdir "$tmp/spool"
claims 'a spool' LD_PRELOAD="$shim" COLLSHIM_MODE=ab COLLSHIM_REPORT="$tmp/spool" "${every[@]}" "${two_hosts[@]}" split
[ "$(find "$tmp/spool" -name '*-nccl.json' | wc -l)" -eq 1 ] &&
  "$build/collshim" site "$tmp/spool" --json | jq -e '.reports == 1 and (.programs[0] | .program == "nccl_ranks" and .jobs == 1)' >/dev/null
ok 'a job of NCCL has one report in the spool' $?
preloaded 'times of call sites' "$ranks" --ranks 4 --hosts 2 --count 262144 repeated
jq -e '[.sites[] | select(.rerouted_us_median > 0 and .native_us_median > 0)] | length > 0' "$tmp/report.nccl" >/dev/null
ok 'times of call sites: those that the guard measured' $?
claims 'reports of processes' LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/of-%p" "${every[@]}" "${two_hosts[@]}" split
[ "$(jq -s -c '[map(.counts_are) | sort[] | .[-1:]]' "$tmp"/of-*.nccl)" = '["0","1","2","3"]' ]
ok 'reports of processes: one of each rank' $?
claims 'no report of what the launcher calls rank 3' LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/rank-3" RANK=3 "${every[@]}" "${two_hosts[@]}" split
! ls "$tmp"/rank-3* >/dev/null 2>&1
ok 'no report of what the launcher calls rank 3' $?

# A file that cannot take a report costs one line, and nothing is touched. The report's own name has .nccl
# behind it.
no_report() { # WHAT PATH REASON
  simulated LD_PRELOAD="$shim" COLLSHIM_REPORT="$2" "${every[@]}" "${two_hosts[@]}" async_error >"$tmp/said" 2>&1
  ok "a report into $1: the job ends well" $?
  [ "$(grep -c 'COLLSHIM_REPORT' "$tmp/said")" -eq 1 ] && grep -qF "COLLSHIM_REPORT: cannot write $2.nccl: $3" "$tmp/said"
  ok "a report into $1: one line" $?
}
places=$tmp/places
mkdir -p "$places/folder.nccl" && mkfifo "$places/fifo.nccl" && echo precious >"$places/target" && ln -s target "$places/link.nccl"
before=$(ls -lAR "$places")
no_report 'a FIFO' "$places/fifo" 'a FIFO, not a regular file'
no_report 'a symbolic link' "$places/link" 'a symbolic link, not a regular file'
no_report 'a folder' "$places/folder" 'a directory, not a regular file'
no_report 'a folder that is not there' "$places/none/r" 'no such directory'
if mount -t tmpfs -o size=8k none "$places/folder.nccl" 2>/dev/null; then
  cat /dev/zero >"$places/folder.nccl/filling" 2>/dev/null
  no_report 'a full file system' "$places/folder.nccl/r" 'the file system is full'
  [ "$(ls -A "$places/folder.nccl")" = filling ]
  ok 'a report into a full file system: nothing is left' $?
  umount "$places/folder.nccl"
else
  skip 'a report into a full file system' 'mounting one needs root'
fi
[ "$(ls -lAR "$places")" = "$before" ]
ok 'reports that cannot be written: nothing has changed' $?
simulated LD_PRELOAD="$shim" COLLSHIM_REPORT=/dev/stdout "${every[@]}" "${two_hosts[@]}" split >"$tmp/said" 2>&1 &&
  [ "$(sed -n '/^{$/,/^}$/p' "$tmp/said" | jq .ranks)" = 4 ]
ok 'a report on stdout' $?

# 4. Not every rank has the preload, or the same settings: native, and no hang.
wait "$mixed_off_job"
ok 'off on odd ranks' $?
wait "$mixed_exact_job"
ok 'other settings on odd ranks' $?
for name in odd_exact odd_off; do
  jq -e '[.nccl.collectives[] | select(.collective == "allreduce") | .rerouted] == [0]' "$tmp/$name.nccl" >/dev/null
  ok "$name: native" $?
done

# The notice board alone: its keeper stopped, for an accelerated 3 to 9 s in 1,000 agreements and for as long as that in 200;
# clients that say or read nothing; its end.
claims 'the board: a keeper that is stopped, accelerated' "$board" --scale 40 stopped
awaited "the board: ${by_itself[*]}" "$board_job" "$tmp/board"

# 5. The guard takes what is faster by the modelled links: events are looked at, no stream is waited for.
# The last program's first verdict came after at most so many calls of its class.
settled_within() { # DESCRIPTION CALLS
  local calls
  calls=$(sed -n 's/.*guard: NCCL .* after \([0-9]*\) calls.*/\1/p' "$tmp/printed" | head -n 1)
  [ -n "$calls" ] && [ "$calls" -le "$2" ]
  ok "$1: settled after ${calls:-no} calls, at most $2" $?
}
guarded() { # DESCRIPTION NCCLSIM EXPECTED
  preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM="$2" "$ranks" --ranks 8 --hosts 2 --count 200003 repeated repeated
  [ "$(native 'turn in a trial')" -gt 0 ]
  ok "$1: there was a trial" $?
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

# A part of an Allreduce through pinned memory that the ranks of a node share. The kernels of late ranks would find other data
# there if a rank came too early: the sums of 4100103 elements differ from piece to piece.
together=('COLLSHIM_ALGORITHM=allreduce=collaborative(split=40)' "${every[@]:0:1}")
through_host() { jq '[.nccl.collectives[].algorithms.collaborative // 0] | add' "$tmp/report.nccl"; }
by_both() { # DESCRIPTION CALLS
  [ "$(through_host)" -ge "$2" ]
  ok "$1: GPUs and the host" $?
}
mapfile -t one_host < <(printf '%s\n' "${prompt[@]}" | grep -vxE 'exchanges|.*rates|helper_.*|sets.*|messages')
preloaded 'through the host, processes' "${together[@]}" "$ranks" --ranks 4 --count 20003 "${one_host[@]}"
by_both 'through the host, processes' 300
preloaded 'through the host, threads' "${together[@]}" "$ranks" --ranks 3 --threads --count 20003 "${one_host[@]}"
by_both 'through the host, threads' 900
verified 'through the host, verified' allreduce "${together[@]}" "$ranks" --ranks 4 --count 20003 reductions async_error two_streams
preloaded 'through the host, in graphs' "${together[@]}" "$ranks" --ranks 2 --count 5003 captured
jq -e '.nccl.collectives[] | select(.collective == "allreduce") | .rerouted == 8 and .native == {}' "$tmp/report.nccl" >/dev/null
ok 'through the host, in graphs: all is rerouted' $?
[ -n "$quick" ] || for seed in 1 2 3 4; do
  preloaded "through the host, late streams $seed" 'COLLSHIM_ALGORITHM=allreduce=collaborative(split=95)' "${every[@]:0:1}" GPUSIM="devices=8 seed=$seed" \
    "$ranks" --ranks 4 --count 4100103 async_error
  preloaded "through the host, late streams $seed" "${together[@]}" GPUSIM="devices=8 seed=$seed" "$ranks" --ranks 3 --count 20003 \
    blocked_stream two_streams thread_streams destroy_early abort captured captured_grown repeated
done
echo 'allreduce 1x2 * collaborative(split=30)' >"$tmp/profile"
preloaded 'through the host, as a profile says' COLLSHIM_PROFILE="$tmp/profile" COLLSHIM_MIN_BYTES=0 "$ranks" --ranks 2 --count 20003 repeated
by_both 'through the host, as a profile says' 60
reason 'host memory that cannot be pinned' 'no pinned memory' "${together[@]}" GPUSIM='devices=8 fail=MemHostRegister:1' "$ranks" --ranks 2 --count 20003 async_error
[ "$(rerouted allreduce)" -eq 0 ]
ok 'host memory that cannot be pinned: native' $?
# A contender where the topology says how fast the links are; PCIe may be slower than it says.
beside_host() { # DESCRIPTION GPUSIM TOPOLOGY
  preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K COLLSHIM_TOPOLOGY="$3" GPUSIM="devices=8 $2" NCCLSIM='near=0.5 far=0.5' \
    "$ranks" --ranks 2 --count 1000003 repeated repeated # so many calls that busy cores settle, too
}
links='node:1 gpu:2 link_nvlink:0.5GB/s link_pcie:0.5GB/s'
beside_host 'PCIe as fast as the links between GPUs' 'h2d=0.5 d2h=0.5' "$links"
by_both 'PCIe as fast as the links between GPUs' 40
settled_within 'PCIe as fast as the links between GPUs' 64
beside_host 'PCIe slower than the topology says' 'h2d=0.02 d2h=0.02' "$links"
# At most three rounds begin before the first one's times come, each with two calls on either rank, and one that may have
# been held up is made again. Then the library serves or `linear`, which is as fast here.
[ "$(through_host)" -gt 0 ] && [ "$(through_host)" -le 16 ]
ok "PCIe slower than the topology says: $(through_host) calls through the host, at most 16" $?
settled_within 'PCIe slower than the topology says' 64
beside_host 'links of unknown rates' 'h2d=0.5 d2h=0.5' 'node:1 gpu:2'
[ "$(through_host)" -eq 0 ]
ok 'links of unknown rates: nothing through the host' $?

# Hosts 500 calls ahead of their streams: the trial's calls are made once, and the guard settles when their times come. No
# call's time is known before 500 more are made, so the 64 calls count from there.
if [ -z "$quick" ]; then
  far_ahead() { preloaded "$1" COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM="$2" "$ranks" --ranks 4 --hosts 2 --count 20003 ahead && settled_within "$1" $((64 + 500)); }
  far_ahead 'hosts far ahead, links that NCCL uses all of' 'near=200 far=50'
  [ "$(rerouted allreduce)" -le 16 ] && [ "$(native 'at least as fast')" -gt 0 ]
  ok 'hosts far ahead, links that NCCL uses all of: few calls are slower, and it settles' $?
  far_ahead 'hosts far ahead, slow links between hosts' 'near=200 far=0.5 rings=1'
  [ "$(rerouted allreduce)" -gt 1000 ]
  ok 'hosts far ahead, slow links between hosts: the others are rerouted' $?
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
[ "$(native 'in capture')" -eq 0 ]
ok 'captured after the guard has settled: as it has' $?
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
  jq -e ".nccl.collectives[] | select(.collective == \"alltoallv\") | $3" "$tmp/report.nccl" >/dev/null
  ok "$1: settled" $?
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

# 6. A program that opens NCCL itself: caught, and nothing else about it changes.
answers() { # DESCRIPTION FOLDERS PROGRAM...: the same with the preload as without; FOLDERS: of libraries
  local name=$1 folders=$2
  shift 2
  rm -f "$tmp/report.nccl"
  LD_LIBRARY_PATH=$folders GPUSIM=devices=2 timeout 180 "$@" >"$tmp/bare" 2>&1
  LD_LIBRARY_PATH=$folders GPUSIM=devices=2 COLLSHIM_REPORT=$tmp/report LD_PRELOAD=$shim timeout 180 "$@" >"$tmp/with" 2>&1
  grep -q '^init: [01]$' "$tmp/bare" && diff <(grep -v '^from' "$tmp/bare") <(grep -v '^from' "$tmp/with")
  ok "$name: the same answers" $?
}
opened() { # DESCRIPTION OWNER FOLDERS PROGRAM LIBRARY...: OWNER: whose function the program gets
  answers "$1" "${@:3}"
  [ "$(grep -c "AllReduce $2, GetVersion lib.*nccl" "$tmp/with")" -eq "$(grep -c '^from.*AllReduce' "$tmp/bare")" ]
  ok "$1: caught" $?
  grep -q '^from id: a board' "$tmp/with"
  ok "$1: the unique id says where the board is" $?
}
counted() { # DESCRIPTION CALLS
  [ "$(jq '.nccl.collectives[0].calls' "$tmp/report.nccl")" -eq "$2" ]
  ok "$1: counted" $?
}
backend=libcollshim-nccl.so
opened 'dlopen and dlsym' $backend "$build/gpusim" "$build/test/nccl_caught" "$build/ncclsim/libnccl.so.2"
counted 'dlopen and dlsym' 1
opened 'linked' libcollshim.so "$build/ncclsim:$build/gpusim" "$build/test/nccl_linked"
counted 'linked' 1
cp "$build/ncclsim/libnccl.so.2" "$tmp/libother_nccl.so"
opened 'two copies of NCCL' $backend "$build/gpusim" "$build/test/nccl_caught" "$build/ncclsim/libnccl.so.2" "$tmp/libother_nccl.so"
# Not to be caught; a user who wants the report gets a line.
answers 'linked statically' "$build/gpusim" "$build/test/nccl_static"
grep -q '^call: 0' "$tmp/with" && grep -q '0 calls seen' <("$build/collshim" report "$tmp/report" 2>&1)
ok 'linked statically: 0 calls seen' $?
if real=$(scripts/nccl-library 2>/dev/null); then
  # no simulated driver: the real library would misread it
  opened "the real NCCL ($real)" $backend "$tmp" "$build/test/nccl_caught" "$real"
  opened "the real NCCL ($real), linked" libcollshim.so "$(dirname "$real")" "$build/test/nccl_linked"
  grep -qx "version $(($(grep -ao 'NCCL version [0-9.]*' "$real" | head -n 1 | sed -E 's/.* ([0-9]+)\.([0-9]+)\.([0-9]+).*/\1*10000+\2*100+\3/')))" "$tmp/with"
  ok "the real NCCL ($real): its own version" $?
  # Each process makes the id for itself then: it must stay as the library makes it.
  NCCL_COMM_ID=127.0.0.1:40404 answers 'an address by NCCL_COMM_ID' "$tmp" "$build/test/nccl_caught" "$real"
  grep -q '^from id: none' "$tmp/with"
  ok 'an address by NCCL_COMM_ID: the unique id is left alone' $?
else
  skip 'the real NCCL' 'no libnccl.so.2 on this machine'
fi

# The cost of a call that is passed on, some 20 ns. A claim only that nothing waits there: benches measure.
if [ -x "$build/collshim-overhead-nccl" ]; then
  while read -r added call; do
    awk -v ns="$added" 'BEGIN { exit !(ns <= 1000) }'
    ok "a passed on $call costs $added ns more" $?
  done < <(LD_LIBRARY_PATH=$build/nullnccl LD_PRELOAD=$shim "$build/collshim-overhead-nccl" | jq -r '"\(.added_ns) \(.call)"')
fi

# The cost of a rerouted call for the host, NCCL and the driver doing nothing; no claim but that it is
# rerouted.
if [ -x "$build/collshim-enqueue-nccl" ]; then
  for name in lane parallel_rings; do
    LD_LIBRARY_PATH=$build/nullnccl NULL_NCCL_BOARD=1 COLLSHIM_TOPOLOGY='node:2 gpu:4 rail:4@25GB/s link_nvlink:300GB/s' \
      COLLSHIM_ALGORITHM=allreduce=$name LD_PRELOAD=$shim timeout 180 "$build/collshim-enqueue-nccl" >"$tmp/enqueue"
    echo "# $name: $(cat "$tmp/enqueue")"
    jq -e '.groups > 0 and .messages > .groups and .kernels > 0' "$tmp/enqueue" >/dev/null
    ok "$name: enqueued" $?
  done
fi

# 7. Several processes per rank: the library's own algorithm in slices (one rank on each host), and by lanes.
# CHOOSE=always: every call is cut.
cut=(COLLSHIM_MIN_BYTES=1 COLLSHIM_CHOOSE=always NCCL_RANKS_MARK="$tmp")
ordinary=(premul_unseen nothing groups mixed_group init_in_group nonblocking blocked_stream two_streams destroy_early finalize
  abort async_error registered repeated recycled captured captured_first)
helped() { # DESCRIPTION PROCESSES ALGORITHM VARIABLE=VALUE... PROGRAM...
  preloaded "$1" COLLSHIM_PPG="$2" "${@:4}"
  [ "$(jq ".nccl.processes_per_rank" "$tmp/report.nccl")" -eq "$2" ] &&
    [ "$(jq "[.nccl.collectives[].algorithms.$3 // 0] | add" "$tmp/report.nccl")" -gt 0 ]
  ok "$1: in slices by $3" $?
}
# Calls of the last report with so many processes for each rank.
processes() { jq "[.nccl.collectives[].processes[\"$1\"] // 0] | add" "$tmp/report.nccl"; }
# Helpers of this script's ranks, which are given its mark.
left_behind() { grep -lsF "NCCL_RANKS_MARK=$tmp" /proc/[0-9]*/environ 2>/dev/null | while read -r f; do
  [ "$(cat "${f%/environ}/comm" 2>/dev/null)" != collshim-helper ] || echo "${f%/environ}"; done | wc -l; }
unhelped() { # DESCRIPTION PROCESSES MESSAGE VARIABLE=VALUE... PROGRAM...: right, and native with a line that says why
  preloaded "$1" COLLSHIM_PPG="$2" COLLSHIM_LOG=info "${cut[@]}" "${@:4}"
  [ "$(jq '.nccl.processes_per_rank' "$tmp/report.nccl")" -eq 1 ]
  ok "$1: without helpers" $?
  simulated LD_PRELOAD="$shim" COLLSHIM_PPG="$2" "${cut[@]}" "${@:4}" >"$tmp/said" 2>&1
  grep -q "$3" "$tmp/said"
  ok "$1: said" $?
}
each_host() { printf '%s\n' "$ranks" --ranks "$1" --hosts "$1" --count "$2"; }
mapfile -t two < <(each_host 2 5003)
mapfile -t three < <(each_host 3 703)
helped '2 processes, the library in slices' 2 library "${cut[@]}" "${three[@]}" reductions "${ordinary[@]}"
helped '4 processes, lanes' 4 lane COLLSHIM_ALGORITHM=allreduce=lane "${cut[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${ordinary[@]}"
preloaded '2 processes, parts of communicators' COLLSHIM_PPG=2 "${cut[@]}" "$ranks" --ranks 4 --hosts 4 --count 703 one_rank split
helped 'a helper is killed in a call' 3 library "${cut[@]}" "${two[@]}" helper_killed
[ "$(native 'a helper was lost')" -gt 0 ]
ok 'a helper is killed: reported' $?
helped 'a helper is killed between calls' 3 library "${cut[@]}" "${three[@]}" helper_killed_idle
if [ -z "$quick" ]; then
  helped '4 processes, the library in slices' 4 library "${cut[@]}" "${two[@]}" reductions "${ordinary[@]}"
  helped '2 processes, lanes' 2 lane COLLSHIM_ALGORITHM=allreduce=lane "${cut[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 reductions
  helped 'large, and larger again' 3 library "${cut[@]}" "$ranks" --ranks 2 --hosts 2 --count 1500000 async_error repeated
  helped 'with a Multi-Process Service' 2 library "${cut[@]}" GPUSIM='devices=8 mps=1' "${two[@]}" async_error
  [ "$(jq '.nccl.mps' "$tmp/report.nccl")" = true ]
  ok 'a Multi-Process Service is seen' $?
  helped 'more communicators than helpers have channels' 2 library "${cut[@]}" "${two[@]}" many_communicators
  # Each connection has a rate of its own: the more there are, the faster, where links are what takes the time.
  helped 'as the guard finds it' 4 library COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.1' "$ranks" --ranks 2 --hosts 2 --count 400003 repeated
  [ "$(processes 4)" -gt "$(processes 2)" ] && [ "$(processes 2)" -gt 0 ] && [ "$(native 'turn in a trial')" -gt 0 ]
  ok 'as the guard finds it: 4 processes beside 2 and the library' $?
  settled_within 'as the guard finds it' 64
  simulated COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.1' "$tune" --output "$tmp/profile" --build "$build" --ppg 2,4 -- \
    "$ranks" --ranks 2 --hosts 2 --count 400003 repeated >"$tmp/said" 2>&1
  ok 'tune-nccl writes a profile' $?
  helped 'as a profile keeps it' 4 library "${cut[@]}" COLLSHIM_PROFILE="$tmp/profile" "$ranks" --ranks 2 --hosts 2 --count 400003 repeated
  jq -e '.nccl.collectives[0] | (.processes | keys) == ["4"] and .native == {}' "$tmp/report.nccl" >/dev/null &&
    grep -q '^allreduce 2x1 1048576-2097151 native ppg=4  # 0.2' "$tmp/profile" && [ "$(grep -vc '^#' "$tmp/profile")" -eq 1 ]
  ok 'as a profile keeps it: the best that the guard found, without measuring' $?
  ! simulated "$tune" --output "$tmp/none" --build "$build" --ppg 2 "${two[@]}" async_error >"$tmp/said" 2>&1 && [ ! -e "$tmp/none" ] &&
    grep -q 'came to no verdict' "$tmp/said"
  ok 'tune-nccl: too few calls, and no profile' $?
  helped 'as the guard finds it, by lanes or whole' 4 library COLLSHIM_LOG=info COLLSHIM_MIN_BYTES=1K NCCLSIM='near=200 far=0.5 rings=1' "$ranks" --ranks 8 --hosts 2 \
    --count 100003 repeated repeated
  [ "$(jq '.nccl.collectives[0] | (.processes | keys) == ["1", "2", "4"] and (.algorithms | length) == 2' "$tmp/report.nccl")" = true ]
  ok 'as the guard finds it: the library and a schedule in slices, and whole' $?
  settled_within 'as the guard finds it, by lanes or whole' 64
  helped 'verified slices' 2 library "${cut[@]}" COLLSHIM_MODE=verify "${two[@]}" reductions async_error
  # But what the program makes of its communicator: 12 types, 2 operations, 3 lengths.
  jq -e '.nccl.collectives[0] | .verified_equal > 100 and .verified_different == 0 and ([.native[]] | add) == 12 * 2 * 3' "$tmp/report.nccl" >/dev/null
  ok 'verified slices: compared, and equal, averages too' $?
  # The profile says how many, and of what.
  for row in 'native ppg=2:library:2' 'native ppg=9:library:3' 'lane ppg=2:lane:2' 'lane:lane:1'; do
    IFS=: read -r way name k <<<"$row"
    echo "allreduce 2x2 * $way" >"$tmp/profile"
    preloaded "a profile, $way" COLLSHIM_PPG=3 "${cut[@]}" COLLSHIM_PROFILE="$tmp/profile" "$ranks" --ranks 4 --hosts 2 --count 5003 async_error repeated
    [ "$(jq -c '.nccl.collectives[] | select(.collective == "allreduce") | [.algorithms, .processes | keys[]]' "$tmp/report.nccl")" = "[\"$name\",\"$k\"]" ]
    ok "a profile, $way: $k processes per rank, by $name" $?
  done
  for seed in 1 2 3 4 5; do
    helped "helpers, late streams $seed" 3 library "${cut[@]}" GPUSIM="devices=8 seed=$seed" "${three[@]}" blocked_stream two_streams \
      destroy_early async_error repeated
    helped "a helper is killed at any moment $seed" 2 library "${cut[@]}" GPUSIM="devices=8 seed=$seed" "${three[@]}" helper_killed \
      helper_killed_anytime
  done
  helped 'beside children of its own, and a debugger' 3 library "${cut[@]}" "${three[@]}" "${processes_only[@]}"
  helped 'more processes than cores, of which there is one' 6 library "${cut[@]}" taskset -c 0 "${two[@]}" async_error two_streams
  helped 'more slices than elements' 20 library "${cut[@]}" "${two[@]}" --count 3 async_error
  unhelped 'memory that cannot be shared' 2 'has no memory that helpers can share' GPUSIM='devices=8 fail=IpcGetMemHandle:1' "${two[@]}" async_error
  unhelped 'memory that cannot be pinned' 2 'cannot be pinned' GPUSIM='devices=8 fail=MemHostRegister:1' "${two[@]}" async_error
  mkdir -p "$tmp/spare"
  cp "$build/libcollshim.so" "$build/libcollshim-nccl.so" "$tmp/spare"
  printf '#!/bin/sh\nGPUSIM="devices=8 fail=DevicePrimaryCtxRetain:1:2" exec %s\n' "$build/collshim-helper" >"$tmp/spare/collshim-helper"
  chmod +x "$tmp/spare/collshim-helper"
  full=$shim shim=$tmp/spare/libcollshim.so
  unhelped 'no room for helpers on the device' 2 'has no room on the device' "${two[@]}" async_error
  printf '#!/bin/sh\nGPUSIM="devices=8 fail=StreamWaitValue32:1" exec %s\n' "$build/collshim-helper" >"$tmp/spare/collshim-helper"
  unhelped 'a device on which streams cannot wait for values' 2 'cuStreamWaitValue32' "${two[@]}" async_error
  # Two ranks with a device each: their processes find those of eight cores that are near it.
  printf '#!/bin/sh\nLD_PRELOAD=%s CORES_LOG=%s exec %s\n' "$build/test/cores.so" "$tmp/cores" "$build/collshim-helper" >"$tmp/spare/collshim-helper"
  if "$tool/near.sh" true; then
    helped 'helpers near their devices' 2 library "${cut[@]}" LD_PRELOAD="$shim:$build/test/cores.so" "$tool/near.sh" "${two[@]}" async_error
    [ "$(awk '{ last[$1] = $2 } END { for (pid in last) print last[pid] }' "$tmp/cores" | sort | xargs)" = '2-4 5-7' ]
    ok 'helpers near their devices: each on the cores of its own' $?
  else
    skip 'helpers near their devices' 'no mount name space'
  fi
  shim=$full
  preloaded 'helpers and ranks that are threads' COLLSHIM_PPG=2 "${cut[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' "$ranks" --ranks 4 \
    --threads --count 703 "${ordinary[@]}"
  preloaded 'other numbers of processes on odd ranks' COLLSHIM_PPG=2 "${cut[@]}" NCCL_RANKS_ODD=COLLSHIM_PPG=3 "${two[@]}" async_error
  [ "$(native 'did not agree')" -gt 0 ]
  ok 'other numbers of processes on odd ranks: native' $?
fi
for end in rank_killed rank_aborted; do
  simulated LD_PRELOAD="$shim" COLLSHIM_PPG=3 "${cut[@]}" "${two[@]}" $end >/dev/null 2>&1
  for _ in $(seq 50); do [ "$(left_behind)" -eq 0 ] || sleep 0.1; done
  [ "$(left_behind)" -eq 0 ]
  ok "$end: no helper outlives its rank by 5 s" $?
done
# The whole job at once, as helpers start and in the middle of calls.
if job_possible; then
  job_make "$build"/{libcollshim.so,libcollshim-nccl.so,collshim-helper,ncclsim/libnccl.so.2,gpusim/libcuda.so.1,test/nccl_ranks}
  for how in 'others 0' 'others 0.1' 'others 0.6' 'all 0' 'all 0.1' 'all 0.6'; do
    # shellcheck disable=SC2086 # two words
    job_killed $how LD_LIBRARY_PATH="$job" GPUSIM=devices=8 LD_PRELOAD="$job/libcollshim.so" COLLSHIM_PPG=3 "${cut[@]}" \
      "$job/nccl_ranks" --ranks 3 --hosts 3 --count 703 rank_endless
    found=$?
    ok "a whole job is killed, $how s after its start: there were helpers; $(tail -n 1 "$tmp/said")" "$found"
    [ -z "$left" ]
    ok "a whole job is killed, $how s after its start: $left is left" $?
  done
else
  skip 'a whole job is killed' 'no user of its own'
fi

conclude
