#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/mpi/run.sh [--quick | --long] [--only LIST] [--mpi FAMILY] [--seed N] [--at-once N] [BUILD_DIR]: the shim in
# front of real MPI libraries, several ranks, unmodified programs (make test-programs).
#
#   --quick       fewer topologies and fewer random calls
#   --long        every allocation of the preload's fails once (failures)
#   --only LIST   these cases_*.sh alone, such as results,helpers
#   --mpi NAME    one library alone: openmpi, mpich, mpich5-abi (MPICH 5's standard ABI), mpich5 (its classic one, with
#                 the programs of mpich) or intel-abi (Intel MPI's); the last two run by name only, all three after
#                 scripts/setup wheels
#   --seed N      for the random calls (default: 1, so that a run tests what changed, and not the dice)
#   --at-once N   so many parts at the same time; a part is one file's cases under one library (default: 1)
#   --smoke       of each file the few jobs that stand for the rest under a second library
#
# That a result is right says nothing if all calls ran natively. So programs print how many calls
# they made that can be rerouted, and the report of the run must have counted exactly as many.
set -euo pipefail
callers_tmp=${TMPDIR:-/tmp}
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/mpi
build=
quick=0
long=0
only=results,reductions,types,rooted,exchange,device,settings,renamed,store,site,reports,callers,process,helpers,variants,nonblocking,persistent,failures
libraries=(openmpi mpich mpich5-abi)
first_seed=1
at_once=1
whole=1
options=()
# shellcheck disable=SC2034 # the cases read quick and long
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=1 options+=("$1") ;;
        --long) long=1 options+=("$1") ;;
        --smoke) whole=0 ;;
        --at-once)
            [[ ${2:-} =~ ^[1-9][0-9]?$ ]] || { echo "test/mpi: --at-once: expected a number from 1 to 99" >&2; exit 2; }
            at_once=$2
            shift
            ;;
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

# Parts that hardly depend on the library run whole under the first one that is here, and as a few jobs under the others:
# smoke_NAME, where a file has it.
run_part() { # run_part LIBRARY FILE WHOLE
    choose "$1"
    whole=$3
    if [ "$whole" -eq 0 ] && declare -F "smoke_$2" >/dev/null; then "smoke_$2"; else "cases_$2"; fi
}

# part_apart LIBRARY FILE WHOLE: in a process of its own, which has a folder of its own
part_apart() {
    [ "$3" -eq 1 ] || set -- "$@" --smoke
    TMPDIR=$callers_tmp "$here/run.sh" --seed "$first_seed" --mpi "$1" --only "$2" "${options[@]}" "${@:4}" "$build" </dev/null
}

# All parts, `at_once` of them at the same time; a part's claims are printed when it has ended.
parts_at_once() {
    local part log running=0 started=0 ended
    local -A log_of=()
    while [ "$running" -gt 0 ] || [ "$started" -lt ${#parts[@]} ]; do
        if [ "$running" -lt "$at_once" ] && [ "$started" -lt ${#parts[@]} ]; then
            log=$tmp/part.$((started++)) running=$((running + 1))
            # shellcheck disable=SC2086 # three words
            part_apart ${parts[started - 1]} >"$log" 2>&1 &
            log_of[$!]=$log
            continue
        fi
        wait -n -p ended || true
        running=$((running - 1))
        add_part "${log_of[$ended]}"
    done
}

# add_part LOG: its claims, numbered on, and its counts; without a last line it has failed
add_part() {
    local counts='^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$'
    awk -v number=$((passed + failed + skipped)) '/^# seed / || /^[0-9]+ passed, / { next }
        /^(not )?ok [0-9]+ / { sub(/[0-9]+/, ++number) } { print }' "$1"
    if [[ $(tail -n 1 "$1") =~ $counts ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
    else
        fail "a part ends" "$(tail -n 20 "$1")"
    fi
}

echo "# seed $first_seed"
parts=()
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
    for cases in ${only//,/ }; do parts+=("$library $cases $whole"); done
    whole=0
done

if [ "$at_once" -eq 1 ]; then
    # shellcheck disable=SC2086 # three words
    for part in "${parts[@]}"; do run_part $part; done
else
    claim_prefix=
    parts_at_once
fi

conclude
