#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/nccl_plugin/run.sh BUILD: NCCL's tuner and profiler plugin, by a program that plays NCCL's part, and by
# the real libnccl if installed, as far as possible without a GPU.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
build=$(cd "${1:?usage: test/nccl_plugin/run.sh BUILD}" && pwd)
plugin=$build/libnccl-tuner-collshim.so
library=${NCCL_LIBRARY:-$(find /usr/local/cuda/lib/ /usr/local/cuda/lib64/ /usr/lib/*/ -maxdepth 1 -name libnccl.so.2 2>/dev/null | head -n 1)}
for name in $(compgen -e NCCL_); do unset "$name"; done
unset RANK OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID

# DESCRIPTION [VARIABLE=VALUE...] CASE: the program's own claims count; what it said is in $tmp/said
plays() {
  local status=0 out
  out=$(cd "$tmp" && timeout 60 env "${@:2:$#-2}" "$build/test/plugin_cases" "$plugin" "${@: -1}" 2>"$tmp/said") || status=$?
  if [ "$status" -ne 0 ]; then
    grep '^not ok' <<<"$out" | head -n 5
    tail -n 3 "$tmp/said"
    echo "# in: $1"
  fi
  grep '^#' <<<"$out"
  add_claims "$1" "$status" "$out"
}
# JQ-EXPRESSION: true of the report
reports() { jq -e "$1" "$tmp/report.nccl" >/dev/null; }
said_nothing() { [ ! -s "$tmp/said" ]; }

# 1. The file's exports and its needs.
check 'it needs libc alone' test "$(readelf -d "$plugin" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | grep -vcE '^(libc|libm|ld-linux.*)\.so')" -eq 0
[ "$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sort | tr '\n' ' ')" = \
  'ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 ncclTunerPlugin_v4 ncclTunerPlugin_v5 ncclTunerPlugin_v6 ' ]
ok 'it exports what NCCL looks for, and nothing else' $?

# named FILE: prints the name of a copy that has the hash of its rows in it
named() {
  local hash
  hash=$(COLLSHIM_PROFILE=$1 "$build/collshim" info --json 2>/dev/null | jq -r .profile_hash)
  cp "$1" "$1.$hash.profile" && printf '%s' "$1.$hash.profile"
}

# 2. Without work there is no plugin: NCCL chooses by itself.
plays 'nothing is configured' absent
said_nothing
ok 'nothing is configured: nothing is said' $?
printf '%s\n' 'allreduce * * parallel_rings' 'allgather * * native' >"$tmp/ours"
plays 'rows for our own schedules' COLLSHIM_PROFILE="$tmp/ours" absent
plays 'off' COLLSHIM_MODE=off COLLSHIM_ALGORITHM=allreduce=native:ring/ll COLLSHIM_REPORT="$tmp/off" absent
check 'off: no report' test ! -e "$tmp/off.nccl"
printf '%s\n' 'allreduce 99x* * native:ring/ll channels=4' 'bcast * 7 native:ring/ll' 'alltoall * * native' >"$tmp/elsewhere"
plays 'rows for other shapes and sizes' COLLSHIM_PROFILE="$(named "$tmp/elsewhere")" untouched

# 3. The profile's rows, by each version of the tuner.
cat >"$tmp/profile" <<'TXT'
allreduce 4x8 1M-64M native:ring/ll128 channels=16
allreduce 4x8 *-65K parallel_rings
allreduce 4x8 65M-* native:tree/simple
reduce_scatter_block * * native:pat/simple
allgather 4x8 * native:nvls/simple
bcast 4x8 8192 native
bcast 4x8 * native:ring/ll
reduce 4x8 * native:ring/simple channels=3
TXT
sed -i 's/\*-65K/1-65K/' "$tmp/profile"
# A file that might change while a job starts would part its ranks: the name that they have in common must say what is in
# it. Without that none uses it; with it, a rank that reads anything else does not start.
plays 'a profile without a hash in its name' COLLSHIM_PROFILE="$tmp/profile" absent_tuner
[ "$(grep -c 'rows for NCCL.s own algorithms are left out' "$tmp/said")" -eq 1 ] && [ "$(wc -l <"$tmp/said")" -eq 1 ]
ok 'a profile without a hash in its name: one line' $?
profile=$(named "$tmp/profile")
said_hash=$(grep -o '[0-9a-f]\{16\}' "$tmp/said")
check 'a profile without a hash in its name: the line and collshim info have it' test "$profile" = "$tmp/profile.$said_hash.profile"
sed 's/ring/tree/' "$profile" >"$tmp/other.$said_hash"
plays 'a profile that was replaced' COLLSHIM_PROFILE="$tmp/other.$said_hash" refused
plays 'a profile that one host lacks' COLLSHIM_PROFILE="$tmp/lacking.$said_hash" refused
plays 'a rank that reads another profile and keeps quiet' RANK=3 COLLSHIM_PROFILE="$tmp/other.$said_hash" refused
check 'a rank that reads another profile: it says why' grep -q 'instead of the one in its name' "$tmp/said"
plays 'a profile' COLLSHIM_PROFILE="$profile" chosen
said_nothing
ok 'a profile: nothing is said' $?
plays 'ranks that differ' COLLSHIM_PROFILE="$profile" uniform
plays 'COLLSHIM_ALGORITHM before the profile' COLLSHIM_PROFILE="$profile" \
  COLLSHIM_ALGORITHM=allreduce=native:tree/ll,bcast=native,reduce=parallel_rings,reduce_scatter_block=native:no/such forced
[ "$(grep -c 'reduce_scatter_block=native:no/such: NCCL has no such algorithm' "$tmp/said")" -eq 1 ] && [ "$(wc -l <"$tmp/said")" -eq 1 ]
ok 'COLLSHIM_ALGORITHM: a name that is none costs one line' $?
plays 'no other rounding' COLLSHIM_EXACT=1 COLLSHIM_PROFILE="$profile" exact
plays 'a spool of all jobs: the profiler, which costs time, is not for it' COLLSHIM_REPORT="$tmp" absent_profiler
# One host's site file must not part the ranks: the tuner goes on, the report ends.
mkdir -p "$tmp/site" && touch "$tmp/site/off"
if [ -d /etc/collshim ]; then
  skip 'a site that has stopped collshim' '/etc/collshim is there'
else
  plays 'a site that has stopped collshim: the tuner' COLLSHIM_TEST_SITE="$tmp/site" COLLSHIM_PROFILE="$profile" chosen
  plays 'a site that has stopped collshim: the profiler' COLLSHIM_TEST_SITE="$tmp/site" COLLSHIM_REPORT="$tmp/report" absent_profiler
fi

# 4. Bad profiles: a line for each row, the others hold. With COLLSHIM_STRICT no communicator is made.
sed '1i allreduce * * native:ring/l128' "$tmp/profile" >"$tmp/bad"
bad=$(named "$tmp/bad")
plays 'a bad row' COLLSHIM_PROFILE="$bad" chosen
check 'a bad row: one line' \
  test "$(cat "$tmp/said")" = "collshim: $bad:1: NCCL has no 'native:ring/l128' for allreduce; the nearest is native:ring/ll128 (the row is left out)"
plays 'a bad row, on a rank that keeps quiet' RANK=3 COLLSHIM_PROFILE="$bad" chosen
said_nothing
ok 'a bad row, on a rank that keeps quiet: no line' $?
plays 'a bad row, strictly' COLLSHIM_STRICT=1 COLLSHIM_PROFILE="$bad" refused
plays 'no such profile' COLLSHIM_PROFILE="$tmp/none" absent_tuner
check 'no such profile: one line' test "$(grep -c "$tmp/none: no such file" "$tmp/said")" -eq 1
plays 'no such profile, strictly' COLLSHIM_STRICT=1 COLLSHIM_PROFILE="$tmp/none" refused

# 5. The report, by each version of the profiler.
reported() { # DESCRIPTION JQ-EXPRESSION
  reports "$2"
  ok "$1" $?
}
same='def choice(c): [.nccl.choices[] | select(.collective == c)];'
for v in 4 5 6; do
  plays "a report, v$v" COLLSHIM_REPORT="$tmp/report" report_v$v
  reported "v$v: which" ".ranks == 32 and .counts_are == \"of the process of rank 0\" and .nccl.plugin == {tuner: null, profiler: $v}"
  reported "v$v: the job" '.job | (.program | endswith("/plugin_cases")) and .nodes == 4 and (.hosts | length) == 1'
  reported "v$v: messages" '.nccl.sends == 1 and .nccl.recvs == 2'
  reported "v$v: calls" '[.nccl.collectives[] | select(.collective == "allreduce") | .calls, .rerouted, .native] ==
    [11, 0, {"NCCL'"'"'s own choice of algorithm": 11}]'
  reported "v$v: what NCCL chose" "$same"' choice("allreduce") == [
    {collective: "allreduce", total_bytes_from: 4194304, algorithm: "ring", protocol: "ll128", channels_least: 4, channels_most: 4, calls: 10, timed: 10, us: 250},
    {collective: "allreduce", total_bytes_from: 4194304, algorithm: "tree", protocol: "ll128", channels_least: 2, channels_most: 2, calls: 1, timed: 1, us: 350}]'
  reported "v$v: a kernel without channels" "$same"' choice("allgather") | any(.algorithm == "agxll_r" and .protocol == "-" and .calls == 1 and
    .total_bytes_from == 1048576 and .timed == 0 and .us == null)'
done
reported 'v6: copy engines' "$same"' choice("allgather") | any(.algorithm == "copies" and .calls == 1 and .total_bytes_from == 65536)'
"$build/collshim" report "$tmp/report" >"$tmp/table"
grep -q '^allreduce: 11 calls, 0 rerouted' "$tmp/table" && grep -qE '^ +allreduce +4MiB +ring +ll128 +4 +10 +250\.0$' "$tmp/table"
ok 'collshim report shows it' $?
printf '%s\n' 'allreduce * * native:ring/ll128' 'allgather * * native:ring/simple' >"$tmp/ring"
ring=$(named "$tmp/ring")
plays 'a report with a tuner' COLLSHIM_PROFILE="$ring" COLLSHIM_REPORT="$tmp/report" report_v5
reported 'a tuner: calls that took what was named' '.nccl.plugin.tuner == 5 and ([.nccl.collectives[] | select(.collective == "allreduce") |
  .rerouted, .algorithms, .native] == [10, {"native:ring/ll128": 10}, {"NCCL took another algorithm than was named: not there, or chosen for a group": 1}])'

# 6. Which process writes it, and where that cannot be.
rm -f "$tmp"/report*
plays 'rank 3' COLLSHIM_REPORT="$tmp/report" rank_3
plays 'what the launcher calls rank 1' RANK=1 COLLSHIM_REPORT="$tmp/report" report_v5
check 'other ranks than 0: no report' test ! -e "$tmp/report.nccl"
plays 'rank 3, a report of its own' COLLSHIM_REPORT="$tmp/report-%p" rank_3
check 'with %p: each rank its own' test "$(jq -r .counts_are "$tmp"/report-*.nccl)" = 'of the process of rank 3'
plays 'no such folder' COLLSHIM_REPORT="$tmp/none/report" report_v5
check 'a report that cannot be written: one line' \
  test "$(cat "$tmp/said")" = "collshim: COLLSHIM_REPORT: cannot write $tmp/none/report.nccl: no such directory"
calls() { jq '[.nccl.collectives[].calls] | add' "$tmp/report.nccl"; }
plays 'a forked child' COLLSHIM_REPORT="$tmp/fork-%p" forked
check "a forked child: its parent's report alone" test "$(jq '[.nccl.collectives[].calls] | add' "$tmp"/fork-*.nccl)" = 1
plays 'many communicators' COLLSHIM_REPORT="$tmp/report" many
[ "$(calls)" = 2000 ] && reports '.nccl.choices[0] | .calls == 2000 and .timed == 2000 and .us == 250'
ok 'many communicators: every call' $?
plays 'an aborted communicator' COLLSHIM_REPORT="$tmp/report" aborted
reports '.nccl.choices[0] | .calls == 5002 and .timed == 1'
ok 'an aborted communicator: what never ends takes no room for good' $?
plays 'closed and opened again' COLLSHIM_REPORT="$tmp/report" reopened
check 'closed and opened again: one report of all' test "$(calls)" = 3
ln -s "$plugin" "$tmp/libnccl-profiler-collshim.so"
plays 'the name of a profiler' PROFILER="$tmp/libnccl-profiler-collshim.so" COLLSHIM_PROFILE="$ring" COLLSHIM_REPORT="$tmp/report" two_names
reports '.nccl.plugin == {tuner: 5, profiler: 5}'
ok 'the name of a profiler: one report' $?

# 7. Beside the preload. The preload reports the calls that it sees; the plugin reports those of another NCCL
#    in the process.
if [ -e "$build/libcollshim-nccl.so" ] && [ -e "$build/ncclsim/libnccl.so.2" ]; then
  plays 'beside the preload' LD_PRELOAD="$build/libcollshim.so" LD_LIBRARY_PATH="$build/gpusim" LIBRARY="$build/ncclsim/libnccl.so.2" \
    COLLSHIM_LOG=info COLLSHIM_PROFILE="$ring" COLLSHIM_REPORT="$tmp/beside" beside_the_preload
  check 'beside the preload: it says so' test "$(grep -c 'the preload sees these calls' "$tmp/said")" -eq 1
  [ ! -e "$tmp/beside.nccl" ] && [ "$(jq '[.nccl.collectives[].calls] | add' "$tmp/beside.nccl_plugin")" = 1 ]
  ok 'beside the preload: a name of its own' $?
else
  skip 'beside the preload' 'built without the headers of CUDA or NCCL'
fi
# A preload that serves no NCCL changes nothing.
rm -f "$tmp/report.nccl"
plays 'a preload that sees no NCCL' LD_PRELOAD="$build/libcollshim.so" COLLSHIM_REPORT="$tmp/report" report_v5
check 'a preload that sees no NCCL: the plugin reports' test "$(calls)" = 12

plays 'what it costs' COLLSHIM_PROFILE="$profile" COLLSHIM_REPORT="$tmp/report" cost

# 8. The real library.
found=()
offsets() { # of the functions that plugin_real calls
  nm "$library" 2>/dev/null | awk '/ncclTunerPlugin(Load|Unload)P8|ncclProfilerPlugin(Init|Finalize)P8|getNccl(Tuner|Profiler)_v|ncclProfilerEventMask$|ncclDebugLog17/ && !/cold/ { print $3 "=" $1 }'
}
real() { # VARIABLE=VALUE...
  local status=0 out
  [ ${#found[@]} -gt 0 ] || mapfile -t found < <(offsets)
  out=$(timeout 120 env "$@" NCCL_DEBUG=INFO COLLSHIM_PROFILE="$ring16" \
    "$build/test/plugin_real" "$library" "$plugin" "${found[@]}" 2>&1) || status=$?
  printf '%s\n' "$out" >"$tmp/said"
  if [ "$status" -eq 77 ]; then
    skip 'the real library loads it' "$(grep '^skip' "$tmp/said")"
    return 1
  fi
  [ "$status" -eq 0 ] || { grep '^not ok' "$tmp/said" | head -n 5; tail -n 5 "$tmp/said"; }
  add_claims 'the real library' "$status" "$out"
}
printf '%s\n' 'allreduce * * native:ring/ll128 channels=16' >"$tmp/ring16"
ring16=$(named "$tmp/ring16")
rm -f "$tmp/report.nccl"
if [ ! -e "$library" ]; then
  skip 'the real library loads it' 'no libnccl.so.2; NCCL_LIBRARY=PATH names one'
elif real COLLSHIM_REPORT="$tmp/report" NCCL_TUNER_PLUGIN="$plugin" NCCL_PROFILER_PLUGIN="$plugin"; then
  grep -qE 'TUNER/Plugin: Using .*collshim' "$tmp/said"
  ok 'the real library says that it uses the tuner' $?
  grep -qF "collshim $("$build/collshim" --version | awk '{ print $2 }'): NCCL's tuner, profile $ring16, hash " "$tmp/said"
  ok "NCCL's log has the profile and its hash" $?
  told=$(grep -c '^told' "$tmp/said")
  if [ "$told" -eq 0 ]; then
    check 'a library of older profilers: no report' test ! -e "$tmp/report.nccl"
    conclude
    exit
  fi
  grep -qE 'PROFILER/Plugin: [Ll]oaded collshim' "$tmp/said"
  ok 'the real library says that it uses the profiler' $?
  reports '.nccl.choices == [{collective: "allreduce", total_bytes_from: 2097152, algorithm: "ring", protocol: "ll128", channels_least: 16,
    channels_most: 16, calls: '$((3 * told))', timed: '$((3 * told))', us: 200}]'
  ok "its adapters' events are read right" $?
  # By names, and from a configuration file, which may hold our settings as well.
  ln -s "$plugin" "$tmp/libnccl-tuner-collshim.so"
  printf '%s\n' 'NCCL_TUNER_PLUGIN=collshim' 'NCCL_PROFILER_PLUGIN=collshim' "COLLSHIM_REPORT=$tmp/conf" >"$tmp/nccl.conf"
  real NCCL_CONF_FILE="$tmp/nccl.conf" LD_LIBRARY_PATH="$tmp"
  check 'by a configuration file: its settings are read' test "$(jq .ranks "$tmp/conf.nccl")" = 32
fi
conclude
