#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/sanitize.sh [--quick] BUILD_DIR [address,undefined | thread]: the GPU contract and the collectives
# on the simulated driver. Every part runs under the address and undefined-behaviour sanitizers, then under
# the thread sanitizer, on late streams of 8 seeds. The thread sanitizer has to see orders that are taken
# away. --quick: one seed, one order, and no faults.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
cd "$(dirname "$0")/../.." || exit 1
quick=0 seeds=(1 2 3 4 5 6 7 8)
orders=(StreamWaitEvent:1/3 StreamWaitEvent:2/3 StreamWaitEvent:3/3 EventRecord:1/1 EventQuery:1/1 StreamSynchronize:1/1)
[ "${1:-}" != --quick ] || { quick=1 seeds=(3) orders=(StreamWaitEvent:1/3) && shift; }
build=${1:-build}
kinds=("${@:2}")
[ ${#kinds[@]} -gt 0 ] || kinds=('address,undefined' thread)

# The kernels' image is no code that runs here, and takes a while to make.
build_with() { # SANITIZERS DIRECTORY
  mkdir -p "$2"
  [ ! -e "$build/cuda_kernels.fatbin" ] || cp -u "$build/cuda_kernels.fatbin" "$2"
  make -s -j"$(nproc)" B="$2" CFLAGS='-O1 -g' NVCC= SANITIZE="$1" "$2/test/gpu_contract" "$2/gpusim/libcuda.so.1"
}

run() { # DIRECTORY GPUSIM ARGUMENTS...: into $out
  out=$(LD_LIBRARY_PATH=$1/gpusim GPUSIM=$2 timeout 900 "${plain[@]}" "$1/test/gpu_contract" "${@:3}" 2>&1)
}

clean() { # SANITIZERS DIRECTORY GPUSIM ARGUMENTS...
  local status=0
  run "${@:2}" || status=$?
  grep -qE 'WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:' <<<"$out" && status=1
  [ $status -eq 0 ] || grep -E -m 12 -A 14 'Sanitizer|runtime error|^not ok' <<<"$out"
  [ $status -ne 124 ] || echo 'it did not end in time'
  ok "$1, $3: ${*:4}" $status
}

# Both see that something is wrong: the results, or the thread sanitizer.
lost() { # DIRECTORY DROP
  run "$1" "devices=1 seed=3 drop=$2" --without-kernels
  grep -qE 'WARNING: ThreadSanitizer|^not ok' <<<"$out"
  ok "without $2: something is seen" $?
}

if [ ! -e "${CUDA_HOME:-/usr/local/cuda}/include/cudaTypedefs.h" ]; then
  skip_all "no CUDA headers"
fi
# Where addresses are too random for the thread sanitizer, not so.
plain=(env)
setarch -R true 2>/dev/null && plain=(setarch -R)
# Memory that the simulated driver keeps because its release was made to fail: the driver counts it, and the
# tests look at the count.
mkdir -p "$build/sanitize"
echo 'leak:libcuda.so.1' >"$build/sanitize/not-leaks"
export LSAN_OPTIONS=suppressions=$build/sanitize/not-leaks:print_suppressions=0
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=0
for kind in "${kinds[@]}"; do
  dir=$build/sanitize/${kind%,*}
  build_with "$kind" "$dir" || { ok "a build with $kind" 1 && continue; }
  # Every kernel and every fault: one thing after the other, so no affair of the thread sanitizer's.
  [ "$kind" = thread ] || [ $quick -eq 1 ] || clean "$kind" "$dir" 'devices=2'
  for seed in "${seeds[@]}"; do
    clean "$kind" "$dir" "devices=3 seed=$seed" --without-kernels
    clean "$kind" "$dir" "devices=2 seed=$seed" --collectives
  done
done
[[ " ${kinds[*]} " == *' thread '* ]] && for drop in "${orders[@]}"; do
  lost "$build/sanitize/thread" "$drop"
done
conclude
