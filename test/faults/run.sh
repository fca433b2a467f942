#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/faults/run.sh [--stride N] [--from N] [--only LIST] [--mpi LIST] [BUILD_DIR]: what collshim asks of the system
# fails (make faults).
#
#   --stride N    every N-th call alone (default 1)
#   --from N      the first one, from 1 on (default 1)
#   --only LIST   these parts alone: one, one-on, all, all-on, limit, limit-all
#   --mpi LIST    these libraries alone: openmpi,mpich
#   --tell        show each job that goes wrong, not the first 12 of a part
#
# A part makes one job for each call: that call fails on rank 1 (one) or on every rank (all), and with -on all calls
# behind it fail too. In limit parts the last rank's address space has a limit (ulimit -v), and blocks are large. A
# job must end well, in time, with the library's results byte for byte. Each part is a row of the table and a test.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
stride=1 from=1 only=one,one-on,all,all-on,limit,limit-all mpis=openmpi,mpich shown=12 limited=$((1 << 36))
build=$root/build
while [ $# -gt 0 ]; do
    case $1 in
        --stride) stride=${2:?--stride: a number is missing} && shift ;;
        --from) from=${2:?--from: a number is missing} && shift ;;
        --only) only=${2:?--only: names are missing} && shift ;;
        --mpi) mpis=${2:?--mpi: names are missing} && shift ;;
        --tell) shown=100000 ;;
        -*) echo "test/faults: no option $1; --help lists them" >&2; exit 2 ;;
        *) build=$1 ;;
    esac
    shift
done
[ -r "$build/test/faults.so" ] || { echo "test/faults: $build/test/faults.so is missing: run make test-programs" >&2; exit 1; }
build=$(cd "$build" && pwd)
ranks=3 limit=60 at_once=$(nproc)

# job MPI PRELOAD NAME=VALUE...: a job's output; LIMITED is a limit of KiB for each rank
job() {
    local mpi=$1 preload=$2 pair command=()
    local program=("$build/$mpi/test/mpi/faulty" "${COUNT:-3000}")
    [ -z "${LIMITED-}" ] || program=(bash -c "ulimit -v $LIMITED; exec ${program[*]}")
    shift 2
    case $mpi in
        openmpi) command=(mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl "self,vader") ;;
        mpich) command=(mpiexec.mpich) preload+=${preload:+:}$build/test/yield.so ;;
    esac
    command+=(-n "$ranks")
    for pair in "LD_PRELOAD=$preload" COLLSHIM_MIN_BYTES=0 COLLSHIM_TEST_SHARE=0 COLLSHIM_TEST_COMPARE_SIZES=0 COLLSHIM_CHOOSE=always "$@"; do
        case $mpi in
            openmpi) command+=(-x "$pair") ;;
            mpich) command+=(-env "${pair%%=*}" "${pair#*=}") ;;
        esac
    done
    TMPDIR=$(mktemp -d "$tmp/job.XXXXXX") "$root/scripts/private-shm" timeout -k 5 "$limit" "${command[@]}" "${program[@]}" </dev/null
}

# The settings of a part's job. Limits: KiB above what the job takes without.
settings_of() {
    case $1 in
        one*) echo FAULTS_RANK=1 ;;&
        *-on) echo FAULTS_ON=1 ;;&
        limit) echo FAULTS_RANK=1 FAULTS_ON=1 ;;
        limit-all) echo FAULTS_ON=1 ;;
    esac
}

# try MPI PART N: the job's verdict in $tmp/verdict.N, and in $tmp/why.N what is to be seen of it
try() {
    local rc=0 verdict=same given
    mapfile -t given < <(settings_of "$2" | tr ' ' '\n')
    job "$1" "$build/libcollshim.so:$build/test/faults.so" "${given[@]}" FAULTS_AT="$3" FAULTS_TELL=1 >"$tmp/out.$3" 2>"$tmp/why.$3" || rc=$?
    case $rc in
        0) [ "$(sort "$tmp/out.$3")" = "$native" ] || verdict=differs ;;
        124 | 137) verdict=hangs ;;
        *) verdict=fails ;;
    esac
    echo "$verdict" >"$tmp/verdict.$3"
    rm -f "$tmp/out.$3"
}

# part MPI PART: its jobs, and its row
part() {
    local mpi=$1 part=$2 n calls bad=0 begun=$SECONDS spoken=$SECONDS verdict
    local -A count=([same]=0 [differs]=0 [fails]=0 [hangs]=0)
    local LIMITED='' COUNT='' first=()
    case $part in limit*) LIMITED=$limited COUNT=150000 ;; esac
    native=$(job "$mpi" "" 2>"$tmp/why" | sort)
    rm -f "$tmp/calls"
    job "$mpi" "$build/libcollshim.so:$build/test/faults.so" FAULTS_COUNT="$tmp/calls" >"$tmp/out" 2>&1 || :
    calls=$(sort -rn "$tmp/calls" | head -n 1)
    for ((n = from; n <= calls; n += stride)); do
        while [ "$(jobs -pr | wc -l)" -ge "$at_once" ]; do wait -n || :; done
        try "$mpi" "$part" "$n" &
        [ $((SECONDS - spoken)) -lt 10 ] || { spoken=$SECONDS; echo "# $mpi $part: $n of $calls calls, $((SECONDS - begun)) s" >&2; }
    done
    wait
    for ((n = from; n <= calls; n += stride)); do
        verdict=$(<"$tmp/verdict.$n")
        count[$verdict]=$((count[$verdict] + 1))
        [ "$verdict" = same ] || first+=("call $n: the job $verdict: $(grep -m 1 '^faults:' "$tmp/why.$n" || :)"$'\n'"$(grep -v '^faults:' "$tmp/why.$n" | head -n 4)")
    done
    rm -f "$tmp"/verdict.* "$tmp"/why.*
    rows+=("$(printf '%-8s %-10s %6d %6d %8d %6d %6d %8d' "$mpi" "$part" "$calls" "${count[same]}" "${count[differs]}" "${count[fails]}" "${count[hangs]}" $((SECONDS - begun)))")
    bad=${#first[@]}
    if [ "$bad" -eq 0 ]; then pass "$mpi $part: ${count[same]} jobs end as natively"; else
        fail "$mpi $part: $bad jobs do not end as natively" "$(printf "%s\n" "${first[@]:0:shown}")"
    fi
}

rows=()
for mpi in ${mpis//,/ }; do
    [ -x "$build/$mpi/test/mpi/faulty" ] || { skip "$mpi" "no program was built for it"; continue; }
    for part in ${only//,/ }; do part "$mpi" "$part"; done
done
printf '%-8s %-10s %6s %6s %8s %6s %6s %8s\n' MPI PART CALLS SAME DIFFERS FAILS HANGS SECONDS
printf '%s\n' "${rows[@]}"
conclude
