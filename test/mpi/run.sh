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
# shellcheck source=test/mpi/cases_results.sh
. "$here/cases_results.sh"
# shellcheck source=test/mpi/cases_reductions.sh
. "$here/cases_reductions.sh"
# shellcheck source=test/mpi/cases_types.sh
. "$here/cases_types.sh"
# shellcheck source=test/mpi/cases_rooted.sh
. "$here/cases_rooted.sh"
# shellcheck source=test/mpi/cases_exchange.sh
. "$here/cases_exchange.sh"
# shellcheck source=test/mpi/cases_device.sh
. "$here/cases_device.sh"
# shellcheck source=test/mpi/cases_settings.sh
. "$here/cases_settings.sh"
# shellcheck source=test/mpi/cases_renamed.sh
. "$here/cases_renamed.sh"
# shellcheck source=test/mpi/cases_store.sh
. "$here/cases_store.sh"
# shellcheck source=test/mpi/cases_site.sh
. "$here/cases_site.sh"
# shellcheck source=test/mpi/cases_reports.sh
. "$here/cases_reports.sh"
# shellcheck source=test/mpi/cases_callers.sh
. "$here/cases_callers.sh"
# shellcheck source=test/mpi/cases_process.sh
. "$here/cases_process.sh"
# shellcheck source=test/mpi/cases_helpers.sh
. "$here/cases_helpers.sh"
# shellcheck source=test/mpi/cases_variants.sh
. "$here/cases_variants.sh"
# shellcheck source=test/mpi/cases_nonblocking.sh
. "$here/cases_nonblocking.sh"
# shellcheck source=test/mpi/cases_persistent.sh
. "$here/cases_persistent.sh"
# shellcheck source=test/mpi/cases_failures.sh
. "$here/cases_failures.sh"

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
    # What follows a failure of the driver does not depend on the library: one shows all of it.
    failures=few
    [ "$library" != "${libraries[0]}" ] || failures=all
    for cases in ${only//,/ }; do
        "cases_$cases"
    done
done

conclude
