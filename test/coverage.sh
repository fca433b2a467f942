#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/coverage.sh [--no-run] [--folder FOLDER] [--lines] [BUILD_DIR [SUITE...]]: which lines of the product do the tests run?
# (make coverage)
#
# Builds with counters into BUILD_DIR (default: build/coverage), runs the suites on it, and prints a row for each folder:
# its lines, those that ran, and their share. The suites are unit, cli, preload, plugin, gpu, mpi, nccl and helpers, or
# those named. A suite may fail claims there, such as one on the preload's machine code: they are counted, and no more.
#
#   --no-run         print the table of the runs before
#   --folder FOLDER  only files below it, with a row for each file
#   --lines          and the numbers of the lines that did not run
#
# Takes about half an hour. Exit status: 0 the table is printed, 1 no build or no counts, 2 wrong usage.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"
cd "$root"

suites=(unit cli preload plugin gpu mpi nccl helpers)
run=1 folder='' lines=0
while [[ ${1-} == -* ]]; do
  case $1 in
    --no-run) run=0 ;;
    --folder) folder=${2:?--folder: a name is missing} && shift ;;
    --lines) lines=1 ;;
    *) echo "test/coverage: no option $1; --help lists them" >&2; exit 2 ;;
  esac
  shift
done
build=${1:-build/coverage}
[ $# -lt 2 ] || suites=("${@:2}")
command -v gcovr >/dev/null || { echo 'test/coverage: gcovr is not installed: scripts/setup lint' >&2; exit 1; }

declare -A command=(
  [unit]="env UNIT_QUICK=1 $build/unit" [cli]="test/cli/run.sh $build" [preload]="test/preload/run.sh $build"
  [plugin]="test/nccl_plugin/run.sh $build" [gpu]="test/gpu/run.sh $build" [mpi]="test/mpi/run.sh $build"
  [nccl]="test/nccl/run.sh $build" [helpers]="test/test_helpers.sh $build")

if [ "$run" -eq 1 ]; then
  # Counters are atomic: threads and processes add to them. A build without kernels for GPUs is quick.
  make -s -j"$(nproc)" B="$build" CUDA_ARCHS=90 CFLAGS='-O1 -g --coverage -fprofile-update=atomic' all test-programs
  find "$build" -name '*.gcda' -delete
  for suite in "${suites[@]}"; do
    [ -n "${command[$suite]-}" ] || { echo "test/coverage: no suite '$suite'; ${!command[*]}" >&2; exit 2; }
    began=$SECONDS
    # shellcheck disable=SC2086 # a command and its arguments
    ${command[$suite]} >"$build/$suite.log" 2>&1 </dev/null || true
    echo "# $suite: $((SECONDS - began)) s, $(tail -n 1 "$build/$suite.log")" >&2
  done
fi

# A backend's file is compiled for each MPI: a line has run if it ran in one of them.
(cd "$tmp" && gcovr --root "$root" --object-directory "$root" --filter "$root/(config|planners|transports|shim)/" \
  --exclude-throw-branches -j "$(nproc)" --json "$tmp/lines.json" "$root/$build") 2>"$tmp/gcovr" ||
  { echo "test/coverage: gcovr: $(tail -n 1 "$tmp/gcovr")" >&2; exit 1; }
python3 test/coverage.py "$tmp/lines.json" "$folder" "$lines"
