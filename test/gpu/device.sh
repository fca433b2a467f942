#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/device.sh BUILD [PART...]: what there is to try on this machine's own GPU; `make test-gpu` is that
# with all that this machine can build. What lies in BUILD, built elsewhere perhaps, is run as it is: the
# machine may have part of what a build takes, which would leave less than there was. What does not is built if
# that can be (no compiler, no CUDA toolkit, no NCCL), or skipped with a line. PART: contract, collaborative, torch,
# or one of scripts/gpu-cluster; default all. Exit status 0: all that ran held; 2: wrong usage.
#
# Such a machine needs the driver, bash and glibc 2.34, and of BUILD what is named below: 10 MiB.
# libnccl.so.2 (300 MiB, hardly smaller if compressed) is not among it: it comes with PyTorch, the CUDA
# toolkit, or a path in NCCL_LIBRARY.
set -uo pipefail
# shellcheck source=test/usage.sh
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build}
parts=("${@:2}")
status=0

# have FILE...: there, or built from these sources
have() {
  local log file
  for file in "$@"; do
    [ -e "$file" ] && continue
    log=$(make -s -j"$(nproc)" B="$build" "$file" 2>&1) && continue
    echo "skip: no $file, and it cannot be built here: $(grep -m 1 -iE 'error|no rule|not found' <<<"$log")"
    return 1
  done
}

try() { # COMMAND...
  local rc=0
  echo "# $*"
  "$@" || rc=$?
  [ $rc -eq 0 ] || [ $rc -eq 77 ] || status=1
}

has_nccl() { have "$build/libcollshim.so" "$build/libcollshim-nccl.so" "$build/collshim-helper" "$build/test/nccl_ranks"; }

[ ${#parts[@]} -gt 0 ] || parts=(contract collaborative cluster torch)
for part in "${parts[@]}"; do
  case $part in
    contract) have "$build/test/gpu_contract" && try "$build/test/gpu_contract" --rates ;;
    collaborative) have "$build/test/bench_collaborative" && try "$build/test/bench_collaborative" --check 4000 1M 16M &&
      try "$build/test/bench_collaborative" 64M ;;
    cluster) has_nccl && try scripts/gpu-cluster --build "$build" ;;
    torch) has_nccl && try test/apps/torch/run.sh "$build" ;;
    *) has_nccl && try scripts/gpu-cluster --build "$build" --only "$part" ;;
  esac
done
exit $status
