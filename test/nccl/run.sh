#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/nccl/run.sh [--quick] [--only LIST] BUILD: NCCL with the preload and without, on the stand-in NCCL and the
# simulated driver; and the real libnccl, if installed, as far as possible without a GPU. On a real GPU:
# scripts/gpu-cluster. --only LIST: these cases_*.sh alone, such as results,helpers.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
quick=
only=results,native,reports,guard,host_path,opened,helpers,beside
[ "${1:-}" = --quick ] && { quick=1; shift; }
[ "${1:-}" = --only ] && { only=${2:?--only: names are missing}; shift 2; }
build=$(cd "${1:?usage: test/nccl/run.sh [--quick] [--only LIST] BUILD}" && pwd)
here=$root/test/nccl
ranks=$build/test/nccl_ranks
shim=$build/libcollshim.so

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

# Both ways at once, results compared; the stream is not waited for.
verified() { # DESCRIPTION COLLECTIVES PROGRAM...
  preloaded "$1" COLLSHIM_MODE=verify "${every[@]}" "${@:3}"
  for c in $2; do
    jq -e "[.nccl.collectives[] | select(.collective == \"$c\")][0] |
      .verified_equal > 0 and .verified_different == 0" "$tmp/report.nccl" >/dev/null
    ok "$1: $c is compared, and equal" $?
  done
}
# The calls run natively, and the report has such a reason.
reason() { # DESCRIPTION PATTERN VARIABLE=VALUE... PROGRAM...
  preloaded "$1" "${@:3}"
  check "$1: reported" test "$(native "$2")" -gt 0
}
# The last program's first verdict came after at most so many calls of its class.
settled_within() { # DESCRIPTION CALLS
  local calls
  calls=$(sed -n 's/.*guard: NCCL .* after \([0-9]*\) calls.*/\1/p' "$tmp/printed" | head -n 1)
  [ -n "$calls" ] && [ "$calls" -le "$2" ]
  ok "$1: settled after ${calls:-no} calls, at most $2" $?
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
  captured_other captured_mapped captured_registered captured_group rates set_rates two_level_rates group_rates message_rates memory memory_for_others ways)
small=(full_device) # of a device that the simulated driver can fill
processes_only=(forks debugged helper_stopped) # of ranks that are processes, the last of which lose their helpers
late=(captured_late captured_again fresh ahead links_change settled_rates) # many calls
slow=(sets_apart late_once) # several times until a rank has lost its patience
# But those of which a rerouted run waits 5 s for ranks that do not come.
mapfile -t prompt < <(printf '%s\n' "${all[@]}" | grep -vxE 'exchanges|different_order')
check 'every case of the program is run here' \
  test "$(printf '%s\n' "${cases[@]}" | sort)" = "$(printf '%s\n' "${all[@]}" "${processes_only[@]}" "${late[@]}" "${slow[@]}" "${small[@]}" | sort)"

board=$build/test/nccl_board
every=(COLLSHIM_MIN_BYTES=0 COLLSHIM_CHUNK_BYTES=4K)
two_hosts=("$ranks" --ranks 4 --hosts 2 --count 703)
# Each row of the table of findings names tests that are there: cases, or claims of these files.
known=$(simulated "$ranks" --list; "$board" --list)
rows_without_test() {
  sed -n '/^## Findings/,$p' "$here/README.md" | grep '^| [0-9]' | while IFS='|' read -r _ number _ tests state _; do
    [[ $state =~ (mended|refuted|open) ]] || echo "$number: $state"
    [[ $tests == *'`'* || $state == *open* ]] || echo "$number: no test"
    # shellcheck disable=SC2016 # Markdown's backquotes
    grep -oE '`[^`]+`' <<<"$tests" | tr -d '`' | while read -r name; do
      grep -qxF "$name" <<<"$known" || grep -qF "'$name'" "$here"/cases_*.sh ||
        grep -qF "$name:" "$root/test/preload/cases_nccl.sh" || echo "$number: $name"
    done
  done
}
missing=$(rows_without_test | paste -sd,)
[ "$(sed -n '/^## Findings/,$p' "$here/README.md" | grep -c '^| [0-9]')" -eq 23 ] && [ -z "$missing" ]
ok "every finding has its test; not: $missing" $?

# These sleep most of the time, or wait for ranks that do not come: they run beside the others.
by_itself=(silent slow_reader keeper_dies keeper_ends)
[ -n "$quick" ] || by_itself+=(stopped)
mixed() { # FILE ENVIRONMENT-OF-RANK-1
  simulated LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/$1" "${every[@]}" NCCL_RANKS_ODD="$2" "${two_hosts[@]}" async_error >"$tmp/$1.said" 2>&1
}
# shellcheck disable=SC2034 # cases_beside.sh awaits the jobs
if [[ ,$only, == *,beside,* ]]; then
  simulated "$board" "${by_itself[@]}" >"$tmp/board" 2>&1 &
  board_job=$!
  mixed odd_exact COLLSHIM_EXACT=1 &
  mixed_exact_job=$!
  mixed odd_off COLLSHIM_MODE=off &
  mixed_off_job=$!
  simulated LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/slow" "${every[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${slow[@]}" >"$tmp/slow.said" 2>&1 &
  slow_job=$!
fi

for part in ${only//,/ }; do
  # shellcheck source=test/nccl/cases_results.sh
  . "$here/cases_$part.sh"
done

conclude
