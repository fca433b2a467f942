#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/device.sh: tests on this machine's own GPU, the most valuable first. `make test-gpu` is that with
# all that this machine can build. Programs in BUILD, built elsewhere perhaps, are run as they are: the
# machine may lack parts of a build. Missing programs are built if possible (no compiler, no CUDA toolkit, no
# NCCL), or skipped with a line.
#
# Such a machine needs the driver, bash and glibc 2.34, and the files of BUILD named below: 10 MiB. libnccl.so.2 (300
# MiB, hardly smaller if compressed) is not among them. It comes with PyTorch, the CUDA toolkit, or a path in
# NCCL_LIBRARY.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

# NAME|MINUTES at most|what to look for
steps=(
  'contract|6|the driver does what the code relies on; each kernel at least 0.85 of the copy rate'
  'cluster|7|rerouted cases pass on the real NCCL, between hosts of one rank each'
  'shared|9|NCCL 2.30: ranks of a host on one GPU, P2P inside and sockets between hosts; registered buffers and graphs do not hang'
  'times|5|microseconds of a group (the model: 20 between hosts) and of calls, on the stream and for the host'
  'guard|5|left to the guard, calls settle at the time of the better of the library and the reroute'
  'channels|4|GB/s of a channel inside a host (the model: 20)'
  'torch|6|PyTorch trains to the same losses, also with expandable segments'
  'queue|3|with one hardware queue all is native, and compute beside it is not held up'
  'helpers|6|several processes per rank: right, and their ends are survived'
  'limits|4|compute-sanitizer finds nothing; buffers beyond 2 GiB; a full card runs natively'
  'collaborative|3|the two paths for GPU memory of one host'
  'plugin|3|the tuner is asked, and the profiler times kernels'
)

usage() {
  cat <<'TXT'
test/gpu/device.sh [--simulated] [--minutes N] [--limit S] [--results FILE] BUILD [STEP...]
Runs the steps in their order; STEP: those, default all. Each has a limit of minutes.
  --simulated   on the stand-in NCCL and the simulated driver of BUILD: the script is tried, no GPU is
  --minutes N   begin no step that may not end within so many minutes from the start
  --limit S     no command runs longer than so many seconds
  --results F   where results go, a line each: step, what, value, unit; default BUILD/test/gpu-results.tsv
Prints the results as a Markdown table at the end. Runs beside a Multi-Process Service of its own, where one starts
(scripts/with-mps).
NCCL_LIBRARY: libnccl.so.2 for all steps. NCCL_SHARED_LIBRARY: one of 2.30.3 or later for the step `shared`.
NCCL_SOURCE: NCCL's sources, from which that one is built beside the first steps, into BUILD/nccl.
Exit status: 0 what ran held, 1 some did not, 2 wrong usage.
TXT
  for row in "${steps[@]}"; do
    IFS='|' read -r name most look <<<"$row"
    printf '  %-14s %2d min  %s\n' "$name" "$most" "$look"
  done
}

arguments=("$@")
simulated='' minutes='' longest='' results='' build='' only=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --simulated) simulated=1; shift ;;
    --minutes) minutes=${2:?}; shift 2 ;;
    --limit) longest=${2:?}; shift 2 ;;
    --results) results=${2:?}; shift 2 ;;
    -*) echo "device.sh: no option $1; --help lists them" >&2; exit 2 ;;
    *) if [ -z "$build" ]; then build=$1; else only+=("$1"); fi; shift ;;
  esac
done
build=${build:-build}
results=${results:-$build/test/gpu-results.tsv}
for name in "${only[@]}"; do
  printf '%s\n' "${steps[@]}" | grep -q "^$name|" || { echo "device.sh: no step $name; --help lists them" >&2; exit 2; }
done
# Ranks that share the GPU in turns take ten times as long, and times mean nothing.
[ -n "$simulated${GPU_TEST_BEGUN:-}" ] || [ ! -x "$build/test/gpu_contract" ] ||
  exec env GPU_TEST_BEGUN=1 scripts/with-mps "$build/test/gpu_contract" test/gpu/device.sh "${arguments[@]}"
status=0 step='' source_job=''
mkdir -p "$(dirname "$results")" && : >"$results" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# have FILE...: there, or built from these sources
have() {
  local log file
  for file in "$@"; do
    [ -e "$file" ] && continue
    log=$(make -s -j"$(nproc)" B="$build" "$file" 2>&1) && continue
    skip "no $file, and it cannot be built here: $(grep -m 1 -iE 'error|no rule|not found' <<<"$log")"
    return 1
  done
}
has_nccl() { have "$build/libcollshim.so" "$build/libcollshim-nccl.so" "$build/collshim-helper" "$build/test/nccl_ranks"; }

note() { printf '%s\t%s\t%s\t%s\n' "$step" "$1" "$2" "${3:-}" >>"$results"; } # WHAT VALUE [UNIT]
skip() { echo "skip: $1"; note "skipped" "$1"; }

# DESCRIPTION COMMAND...: shown, its claims and its end noted; its output stays in $tmp/out
try() {
  local rc=0 what=$1
  echo "# $what"
  "${@:2}" 2>&1 | tee "$tmp/out" || rc=$?
  case $rc in
    0) note "$what" "$(grep -ohE '[0-9]+ passed, [0-9]+ failed' "$tmp/out" | awk '{ p += $1; f += $3 } END { print NR ? p " passed, " f " failed" : "done" }')" ;;
    77) skip "$what: $(grep -m 1 '^skip' "$tmp/out")" ;;
    124) note "$what" "did not end within $limit s"; status=1 ;;
    *) note "$what" "failed: status $rc; $(grep -m 1 -E '^not ok|error|WARN' "$tmp/out")"; status=1 ;;
  esac
  return "$rc"
}
limited() { timeout "$limit" "$@"; }
# WHAT LABEL-FIELD[+LABEL-FIELD] NUMBER-FIELD UNIT: of each JSON line of the last output; seconds in us, rate is bytes by seconds
value() {
  awk -v label="$2" -v number="$3" '
    function field(name) { return match($0, "\"" name "\": \"?[^,\"}]*") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : "" }
    /^[{].*"seconds"/ {
      x = number == "rate" ? field("bytes") / field("seconds") / 1e9 : field(number) * (number == "seconds" ? 1e6 : 1)
      l = ""
      for (i = 1; i <= split(label, of, "+"); i++)
        l = l (i > 1 ? " " : "") field(of[i])
      gsub(/"/, "", l)
      printf "%s\t%.1f\n", l, x
    }' "$tmp/out" | while IFS=$'\t' read -r label number; do note "$1 $label" "$number" "$4"; done
}

if [ -n "$simulated" ]; then
  have "$build/gpusim/libcuda.so.1" "$build/ncclsim/libnccl.so.2" || exit 1
  LD_LIBRARY_PATH=$(realpath "$build/ncclsim"):$(realpath "$build/gpusim")
  NCCL_LIBRARY=$(realpath "$build/ncclsim/libnccl.so.2")
  export LD_LIBRARY_PATH NCCL_LIBRARY GPUSIM=devices=8 NCCLSIM='near=300 far=5'
  cluster=(scripts/gpu-cluster --simulated --build "$build")
else
  cluster=(scripts/gpu-cluster --build "$build")
fi
[ -z "$longest" ] || cluster+=(--limit "$longest")
export NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_MNNVL_ENABLE=0 NCCL_NVLS_ENABLE=0

# LIBRARY VARIABLE=VALUE... -- ARGUMENTS...: ranks on the one GPU
ranks() {
  local library=$1 variables=()
  shift
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  env LD_LIBRARY_PATH="$(dirname "$library"):${LD_LIBRARY_PATH:-}" timeout "$limit" env "${variables[@]}" "$build/test/nccl_ranks" --devices 1 "$@"
}
# The calls that the last report says were rerouted
rerouted() { grep -oh '"rerouted": [0-9]*' "$tmp/report.nccl" | awk '{ n += $2 } END { print n + 0 }'; }
shim="LD_PRELOAD=$(realpath -m "$build/libcollshim.so")"
every=("$shim" COLLSHIM_MIN_BYTES=0)

# Sets `shared_library` and `shared`: an NCCL that lets several ranks of a host share the GPU, and its variables.
find_shared() {
  shared_library=${NCCL_SHARED_LIBRARY:-$build/nccl/lib/libnccl.so.2} shared=(NCCL_MULTI_RANK_GPU_ENABLE=1)
  [ -z "$source_job" ] || wait "$source_job"
  [ -z "$simulated" ] || { shared_library=$NCCL_LIBRARY shared+=(NCCLSIM='version=23007 near=300 far=5'); }
  [ -e "$shared_library" ] || { skip 'no NCCL 2.30: NCCL_SHARED_LIBRARY names one, NCCL_SOURCE its sources'; return 1; }
}

# From sources that were brought along: the operations that the cases use, for this GPU alone.
build_source() {
  [ -n "${NCCL_SOURCE:-}" ] || return 0
  mkdir -p "$build/nccl"
  make -s -C "$NCCL_SOURCE" -j"$(nproc)" src.build BUILDDIR="$(realpath "$build/nccl")" CUDA_HOME="${CUDA_HOME:-/usr/local/cuda}" \
    NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90" \
    ONLY_FUNCS='SendRecv|AllReduce * *|AllGather|ReduceScatter * *|Broadcast|Reduce * *' >"$build/nccl/log" 2>&1 &
  source_job=$!
}

step_contract() {
  [ -n "$simulated" ] || { command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; }
  [ ! -x "$build/collshim" ] || "$build/collshim" info | grep -iE 'device|driver|nccl|service'
  have "$build/test/gpu_contract" || return 0
  local rates=(--rates)
  [ -z "$simulated" ] || rates=(--without-kernels)
  try 'the contract with the driver' limited "$build/test/gpu_contract" "${rates[@]}"
  grep -E 'of the copy rate|GB/s' "$tmp/out" | head -n 8 | while read -r line; do note rate "$line"; done
}
step_cluster() {
  has_nccl || return 0
  for part in library lane parallel_rings compose linear; do
    try "cases by $part" limited "${cluster[@]}" --only "$part"
  done
}
step_shared() {
  { has_nccl && find_shared; } || return 0
  # A graph of memory that one rank alone can map hangs 2.30.7 itself, with several ranks on a GPU.
  local of_two=(--ranks 4 --hosts 2 --count 20011) larger=(--ranks 4 --hosts 2 --count 300007)
  try 'two hosts of two ranks, the library alone' ranks "$shared_library" "${shared[@]}" -- "${of_two[@]}" reductions moves sets || return 0
  for name in lane parallel_rings; do
    try "two hosts of two ranks, by $name" ranks "$shared_library" "${shared[@]}" "${every[@]}" \
      COLLSHIM_ALGORITHM="allreduce=$name,allgather=$name,reduce_scatter_block=$name" -- "${of_two[@]}" reductions moves groups
  done
  try 'two hosts of two ranks, in graphs' ranks "$shared_library" "${shared[@]}" "${every[@]}" -- "${larger[@]}" captured captured_scaled captured_group
  [ "$limit" -lt 60 ] || limit=60 # NCCL hangs where one end of a message is registered
  try 'two hosts of two ranks, registered buffers and windows' ranks "$shared_library" "${shared[@]}" "${every[@]}" NCCL_DEBUG=INFO \
    NCCL_DEBUG_SUBSYS=REG,P2P -- "${larger[@]}" registered registered_late windows
  [ -n "$simulated" ] || note 'lines of registration in its log' "$(grep -c 'register' "$tmp/out")"
}
# LABEL LIBRARY COUNT HOSTS VARIABLE=VALUE...: four ranks' calls, by the library and rerouted
times() {
  local what="$1, $(($3 * 4 / 1024)) KiB" library=$2 of=(--ranks 4 --hosts "$4" --count "$3" rates)
  local lane='COLLSHIM_ALGORITHM=allreduce=lane,allgather=lane,reduce_scatter_block=lane'
  shift 4
  try "$what, the library" ranks "$library" "$@" -- "${of[@]}"
  value "$what, library:" collective seconds us
  value "$what, library, host:" collective call_us us
  try "$what, rerouted" ranks "$library" "$@" "${every[@]}" "$lane" COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:2 rank:2' \
    COLLSHIM_REPORT="$tmp/report" -- "${of[@]}"
  value "$what, rerouted:" collective seconds us
  value "$what, rerouted, host:" collective call_us us
  note "$what, calls rerouted" "$(rerouted)"
}
step_times() {
  has_nccl || return 0
  local library count counts=(16384 262144 4194304 16777216)
  library=$(scripts/nccl-library 2>&1) || { skip "$library"; return 0; }
  [ -z "$simulated" ] || counts=(16384)
  try 'groups of one message' ranks "$library" -- --ranks 2 --hosts 2 --count 4096 group_rates
  value 'a group of bytes:' bytes seconds us
  for count in "${counts[@]}"; do times 'hosts of one' "$library" "$count" 4; done
  find_shared || return 0
  for count in "${counts[@]}"; do times 'hosts of two' "$shared_library" "$count" 2 "${shared[@]}"; done
}
# The rounds are interleaved: the library and the guard in each.
step_guard() {
  { has_nccl && find_shared; } || return 0
  local of=(--ranks 4 --hosts 2 --count 4194304 settled_rates) round
  [ -z "$simulated" ] || of=(--ranks 4 --hosts 2 --count 262144 settled_rates)
  for round in 1 2 3; do
    try "round $round, the library" ranks "$shared_library" "${shared[@]}" -- "${of[@]}"
    value "round $round, library:" collective+bytes seconds us
    value "round $round, library, host:" collective+bytes call_us us
    try "round $round, left to the guard" ranks "$shared_library" "${shared[@]}" "$shim" COLLSHIM_LOG=info COLLSHIM_TOPOLOGY='node:2 rank:2' \
      -- "${of[@]}"
    value "round $round, guard:" collective+bytes seconds us
    value "round $round, guard, first calls:" collective+bytes first_us us
    value "round $round, guard, host:" collective+bytes call_us us
    grep 'guard: NCCL' "$tmp/out" | sed 's/^collshim: guard: NCCL //' | while read -r line; do note "round $round, verdict" "$line"; done
    [ -z "$simulated" ] || break
  done
}
step_channels() {
  local count=16777216
  { has_nccl && find_shared; } || return 0
  [ -z "$simulated" ] || count=1048576
  for n in 1 2 8; do
    try "messages of $n channels" ranks "$shared_library" "${shared[@]}" NCCL_NCHANNELS_PER_NET_PEER="$n" -- \
      --ranks 4 --hosts 2 --count "$count" message_rates
    value "$n channels, inside a host, bytes:" bytes rate GB/s
  done
}
step_torch() {
  has_nccl || return 0
  try 'PyTorch' limited test/apps/torch/run.sh "$build"
  [ -n "$simulated" ] || try 'PyTorch, expandable segments' limited env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True test/apps/torch/run.sh "$build"
}
step_queue() {
  has_nccl || return 0
  local library
  library=$(scripts/nccl-library 2>&1) || { skip "$library"; return 0; }
  try 'one queue, the library' ranks "$library" CUDA_DEVICE_MAX_CONNECTIONS=1 -- --ranks 4 --hosts 4 --count 300007 beside_compute
  try 'one queue, preloaded' ranks "$library" CUDA_DEVICE_MAX_CONNECTIONS=1 "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' \
    COLLSHIM_REPORT="$tmp/report" -- --ranks 4 --hosts 4 --count 300007 beside_compute
  note 'calls rerouted with one queue (0 is right)' "$(rerouted)"
}
step_helpers() {
  has_nccl || return 0
  for part in processes processes_lane times; do try "helpers: $part" limited "${cluster[@]}" --only "$part"; done
  [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || try 'helpers: processes in turns' limited env -u CUDA_MPS_PIPE_DIRECTORY \
    -u CUDA_MPS_LOG_DIRECTORY "${cluster[@]}" --only processes reductions moves helper_killed
}
step_limits() {
  has_nccl || return 0
  local library count=600000000 sanitizer
  library=$(scripts/nccl-library 2>&1) || { skip "$library"; return 0; }
  [ -z "$simulated" ] || count=100000
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -n "$sanitizer" ] && [ -z "$simulated" ]; then
    try 'the contract under memcheck' limited "$sanitizer" --report-api-errors no --error-exitcode 9 "$build/test/gpu_contract" --collectives
    try 'a rerouted call under memcheck' limited env LD_LIBRARY_PATH="$(dirname "$library")" "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:1' \
      "$sanitizer" --report-api-errors no --target-processes all --error-exitcode 9 "$build/test/nccl_ranks" --devices 1 --ranks 2 --hosts 2 --count 5003 async_error
  else
    skip 'compute-sanitizer is not here'
  fi
  try "blocks of $((count / 250000)) MB" ranks "$library" NCCL_RANKS_RATES=allgather "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:1' -- \
    --ranks 2 --hosts 2 --count "$count" rates
  try 'memory that the program takes later' ranks "$library" "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' -- --ranks 4 --hosts 4 \
    --count 500003 memory_for_others
  try 'a full card' ranks "$library" "${every[@]}" COLLSHIM_TOPOLOGY='node:2 rank:2' ${simulated:+GPUSIM='devices=8 memory=320'} -- \
    --ranks 4 --hosts 4 --count 5003 full_device
}
step_collaborative() {
  have "$build/test/bench_collaborative" || return 0
  try 'collaborative, results' limited "$build/test/bench_collaborative" --check 4000 1M 16M
  [ -n "$simulated" ] || try 'collaborative, 64 MiB' limited "$build/test/bench_collaborative" 64M
}
step_plugin() {
  [ -z "$simulated" ] || { skip 'the stand-in NCCL loads no plugins'; return 0; }
  has_nccl && try 'the plugin' limited "${cluster[@]}" --only plugin
}

table() {
  echo '| step | what | result |'
  echo '|---|---|---|'
  awk -F '\t' '{ printf "| %s | %s | %s%s |\n", $1, $2, $3, $4 == "" ? "" : " " $4 }' "$results"
}

[ -n "$simulated" ] || build_source
for row in "${steps[@]}"; do
  IFS='|' read -r step most look <<<"$row"
  limit=$((most * 60))
  [ "${longest:-$limit}" -ge "$limit" ] || limit=$longest
  [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $step "* ]] || continue
  if [ -n "$minutes" ] && [ $((SECONDS / 60 + most)) -gt "$minutes" ]; then
    note 'not begun' "it may take $most minutes, $((minutes - SECONDS / 60)) are left"
    continue
  fi
  echo "# step $step, at most $most minutes a command: $look"
  before=$SECONDS
  "step_$step"
  note 'took' "$((SECONDS - before))" s
done
[ -z "$source_job" ] || kill "$source_job" 2>/dev/null
if [ -n "$simulated" ]; then
  echo '# Simulated: this says that the script runs, and nothing about a GPU.'
else
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
fi
table
[ $status -eq 0 ]
