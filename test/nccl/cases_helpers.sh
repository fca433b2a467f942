# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several processes per rank: the library's own algorithm in slices (one rank on each host), and by lanes.

tune=$root/scripts/tune-nccl
tool=$root/test/mpi/tool
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
  check "$1: without helpers" test "$(jq '.nccl.processes_per_rank' "$tmp/report.nccl")" -eq 1
  simulated LD_PRELOAD="$shim" COLLSHIM_PPG="$2" "${cut[@]}" "${@:4}" >"$tmp/said" 2>&1
  check "$1: said" grep -q "$3" "$tmp/said"
}
each_host() { printf '%s\n' "$ranks" --ranks "$1" --hosts "$1" --count "$2"; }
mapfile -t two < <(each_host 2 5003)
mapfile -t three < <(each_host 3 703)
helped '2 processes, the library in slices' 2 library "${cut[@]}" "${three[@]}" reductions "${ordinary[@]}"
helped '4 processes, lanes' 4 lane COLLSHIM_ALGORITHM=allreduce=lane "${cut[@]}" "$ranks" --ranks 4 --hosts 2 --count 703 "${ordinary[@]}"
preloaded '2 processes, parts of communicators' COLLSHIM_PPG=2 "${cut[@]}" "$ranks" --ranks 4 --hosts 4 --count 703 one_rank split
helped 'a helper is killed in a call' 3 library "${cut[@]}" "${two[@]}" helper_killed
check 'a helper is killed: reported' test "$(native 'a helper was lost')" -gt 0
helped 'a helper is killed between calls' 3 library "${cut[@]}" "${three[@]}" helper_killed_idle
if [ -z "$quick" ]; then
  helped '4 processes, the library in slices' 4 library "${cut[@]}" "${two[@]}" reductions "${ordinary[@]}"
  helped '2 processes, lanes' 2 lane COLLSHIM_ALGORITHM=allreduce=lane "${cut[@]}" "$ranks" --ranks 4 --hosts 2 --count 5003 reductions
  helped 'large, and larger again' 3 library "${cut[@]}" "$ranks" --ranks 2 --hosts 2 --count 1500000 async_error repeated
  helped 'with a Multi-Process Service' 2 library "${cut[@]}" GPUSIM='devices=8 mps=1' "${two[@]}" async_error
  check 'a Multi-Process Service is seen' test "$(jq '.nccl.mps' "$tmp/report.nccl")" = true
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
  check 'as the guard finds it: the library and a schedule in slices, and whole' \
    test "$(jq '.nccl.collectives[0] | (.processes | keys) == ["1", "2", "4"] and (.algorithms | length) == 2' "$tmp/report.nccl")" = true
  settled_within 'as the guard finds it, by lanes or whole' 64
  helped 'verified slices' 2 library "${cut[@]}" COLLSHIM_MODE=verify "${two[@]}" reductions async_error
  # But what the program makes of its communicator: 12 types, 2 operations, 3 lengths.
  check 'verified slices: compared, and equal, averages too' \
    jq -e '.nccl.collectives[0] | .verified_equal > 100 and .verified_different == 0 and ([.native[]] | add) == 12 * 2 * 3' "$tmp/report.nccl"
  # The profile says how many, and of what.
  for row in 'native ppg=2:library:2' 'native ppg=9:library:3' 'lane ppg=2:lane:2' 'lane:lane:1'; do
    IFS=: read -r way name k <<<"$row"
    echo "allreduce 2x2 * $way" >"$tmp/profile"
    preloaded "a profile, $way" COLLSHIM_PPG=3 "${cut[@]}" COLLSHIM_PROFILE="$tmp/profile" "$ranks" --ranks 4 --hosts 2 --count 5003 async_error repeated
    check "a profile, $way: $k processes per rank, by $name" \
      test "$(jq -c '.nccl.collectives[] | select(.collective == "allreduce") | [.algorithms, .processes | keys[]]' "$tmp/report.nccl")" = "[\"$name\",\"$k\"]"
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
    check 'helpers near their devices: each on the cores of its own' \
      test "$(awk '{ last[$1] = $2 } END { for (pid in last) print last[pid] }' "$tmp/cores" | sort | xargs)" = '2-4 5-7'
  else
    skip 'helpers near their devices' 'no mount name space'
  fi
  shim=$full
  preloaded 'helpers and ranks that are threads' COLLSHIM_PPG=2 "${cut[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' "$ranks" --ranks 4 \
    --threads --count 703 "${ordinary[@]}"
  preloaded 'other numbers of processes on odd ranks' COLLSHIM_PPG=2 "${cut[@]}" NCCL_RANKS_ODD=COLLSHIM_PPG=3 "${two[@]}" async_error
  check 'other numbers of processes on odd ranks: native' test "$(native 'did not agree')" -gt 0
fi
for end in rank_killed rank_aborted; do
  simulated LD_PRELOAD="$shim" COLLSHIM_PPG=3 "${cut[@]}" "${two[@]}" $end >/dev/null 2>&1
  for _ in $(seq 50); do [ "$(left_behind)" -eq 0 ] || sleep 0.1; done
  check "$end: no helper outlives its rank by 5 s" test "$(left_behind)" -eq 0
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
    check "a whole job is killed, $how s after its start: $left is left" test -z "$left"
  done
else
  skip 'a whole job is killed' 'no user of its own'
fi
