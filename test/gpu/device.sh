#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/device.sh BUILD: what there is to try on this machine's own GPU, `make test-gpu`. The
# machine may be bare: what it cannot build (no compiler, no CUDA toolkit, no MPI, no NCCL) is run as
# it lies in BUILD, built elsewhere, or skipped with a line. Exit status 0: all that ran held.
#
# Such a machine needs the driver, bash and glibc 2.34, and of BUILD what is named below: 10 MiB.
# libnccl.so.2 (300 MiB, hardly smaller if compressed) is not among it: it comes with PyTorch, the CUDA
# toolkit, or a path in NCCL_LIBRARY.
set -uo pipefail
# shellcheck source=test/usage.sh
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build}
status=0

# have FILE...: built from these sources, or at least there
have() {
  local log file
  if log=$(make -s -j"$(nproc)" B="$build" "$@" 2>&1); then return 0; fi
  for file in "$@"; do
    [ -e "$file" ] && continue
    echo "skip: no $file, and it cannot be built here: $(grep -m 1 -iE 'error|no rule|not found' <<<"$log")"
    return 1
  done
  echo "as built before (it cannot be built here): $*"
}

try() { # COMMAND...
  local rc=0
  echo "# $*"
  "$@" || rc=$?
  [ $rc -eq 0 ] || [ $rc -eq 77 ] || status=1
}

have "$build/test/gpu_contract" && try "$build/test/gpu_contract" --rates
have "$build/test/bench_collaborative" && try "$build/test/bench_collaborative" --check 4000 1M 16M &&
  try "$build/test/bench_collaborative" 64M
if have "$build/libcollshim.so" "$build/libcollshim-nccl.so" "$build/collshim-helper" "$build/test/nccl_ranks"; then
  try scripts/gpu-cluster --build "$build"
  try test/apps/torch/run.sh "$build"
fi
exit $status
