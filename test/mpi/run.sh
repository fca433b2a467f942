#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/mpi/run.sh [--quick | --long] [--only LIST] [--mpi FAMILY] [--seed N] [BUILD_DIR]: the shim in front of real
# MPI libraries, several ranks, unmodified programs (make test-programs).
#
#   --quick       fewer topologies and fewer random calls
#   --long        every allocation of the preload's fails once (failures)
#   --only LIST   these cases_*.sh alone, such as results,helpers
#   --mpi NAME    one library alone: openmpi, mpich, mpich5-abi (MPICH 5's standard ABI), mpich5 (its classic one, with
#                 the programs of mpich) or intel-abi (Intel MPI's); the last two run by name only, all three after
#                 scripts/setup wheels
#   --seed N      for the random calls (default: 1, so that a run tests what changed, and not the dice)
#
# That a result is right says nothing if all calls ran natively. So programs print how many calls
# they made that can be rerouted, and the report of the run must have counted exactly as many.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/mpi
build=
quick=0
long=0
only=results,reductions,types,rooted,exchange,device,settings,renamed,store,site,reports,callers,process,helpers,variants,nonblocking,persistent,failures
libraries=(openmpi mpich mpich5-abi)
first_seed=1
# shellcheck disable=SC2034 # the cases read quick and long
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=1 ;;
        --long) long=1 ;;
        --only) only=${2:?--only: names are missing} && shift ;;
        --mpi) libraries=("${2:?--mpi: a name is missing}") && shift ;;
        --seed)
            [[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || { echo "test/mpi: --seed: expected a number from 1 on" >&2; exit 2; }
            first_seed=$2
            shift
            ;;
        -*) echo "test/mpi: no option $1; --help lists them" >&2; exit 2 ;;
        *) build=$1 ;;
    esac
    shift
done
build=${build:-$root/build}
if [ ! -r "$build/libcollshim.so" ]; then
    echo "test/mpi: $build/libcollshim.so is missing: run make all test-programs first, or name the" \
        "build directory" >&2
    exit 1
fi
build=$(cd "$build" && pwd)

for tool in jq timeout; do
    command -v $tool >/dev/null || { echo "test/mpi: $tool is not installed" >&2; exit 1; }
done

# shellcheck source=test/mpi/launch.sh
. "$here/launch.sh"
# shellcheck source=test/killed_job.sh
. "$here/../killed_job.sh"
for cases in "$here"/cases_*.sh; do
    # shellcheck source=test/mpi/cases_failures.sh
    . "$cases"
done

# What hardly depends on the library is shown whole under the first one that is here, and by a few jobs under the others:
# smoke_NAME, where a file has it.
whole=1
echo "# seed $first_seed"
for library in "${libraries[@]}"; do
    [ -n "${family_of[$library]-}" ] || { echo "test/mpi: --mpi: no '$library'; one of ${!family_of[*]}" >&2; exit 2; }
    choose "$library"
    if ! command -v "$launcher" >/dev/null; then
        skip "all" "$launcher is not installed"
        continue
    fi
    if [ ! -r "$build/libcollshim-$family.so" ] || [ ! -x "$programs/ordinary" ]; then
        begin "all"
        complain "$build has no libcollshim-$family.so or no test programs for it: make all test-programs"
        finish
        continue
    fi
    for cases in ${only//,/ }; do
        how=smoke
        [ "$whole" -eq 0 ] && declare -F "smoke_$cases" >/dev/null || how=cases
        "${how}_$cases"
    done
    whole=0
done

conclude
