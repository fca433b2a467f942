# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Reports, and files that cannot take one.

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
check 'times of call sites: those that the guard measured' \
  jq -e '[.sites[] | select(.rerouted_us_median > 0 and .native_us_median > 0)] | length > 0' "$tmp/report.nccl"
claims 'reports of processes' LD_PRELOAD="$shim" COLLSHIM_REPORT="$tmp/of-%p" "${every[@]}" "${two_hosts[@]}" split
check 'reports of processes: one of each rank' test "$(jq -s -c '[map(.counts_are) | sort[] | .[-1:]]' "$tmp"/of-*.nccl)" = '["0","1","2","3"]'
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
  check 'a report into a full file system: nothing is left' test "$(ls -A "$places/folder.nccl")" = filling
  umount "$places/folder.nccl"
else
  skip 'a report into a full file system' 'mounting one needs root'
fi
check 'reports that cannot be written: nothing has changed' test "$(ls -lAR "$places")" = "$before"
simulated LD_PRELOAD="$shim" COLLSHIM_REPORT=/dev/stdout "${every[@]}" "${two_hosts[@]}" split >"$tmp/said" 2>&1 &&
  [ "$(sed -n '/^{$/,/^}$/p' "$tmp/said" | jq .ranks)" = 4 ]
ok 'a report on stdout' $?
