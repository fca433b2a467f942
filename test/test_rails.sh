#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_rails.sh: rails that change while a job calls Allgather, on an emulated cluster: one that drops,
# one that drops and returns every second, one that stalls for some seconds, and one that is almost gone beside small
# calls. Each result is compared with the library's; plans change as rarely as shim/decide/choose/follow.c says. Speeds are not
# tested here: bench/rails/run has them. Needs root.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

name=r$$ shim=$root/build/libcollshim.so

[[ $EUID -eq 0 ]] || skip_all "the fabric needs root"
mpi=openmpi
command -v mpicc.openmpi >/dev/null || mpi=mpich
command -v "mpicc.$mpi" >/dev/null || skip_all "no MPI is installed"
at_exit "$fabric" down --name "$name"

# job SECONDS CHANGES [BYTES]: Allgather of 1 MiB per rank on 2 hosts x 2 rails, while the function CHANGES runs beside it
job() {
    local changing status=0
    rm -f "$tmp/lines"
    touch "$tmp/running" "$tmp/lines.0" # no pause before call 0
    "$2" &
    changing=$!
    "$fabric" run --name "$name" --mpi "$mpi" --ppn 2 --preload "$shim" --env COLLSHIM_LOG=info \
        --env COLLSHIM_TEST_SHARE=0 --timeout 150 -- \
        "$tmp/calls" allgather "${3:-1048576}" 400 0 "$1" "$tmp/lines" >"$tmp/job.txt" 2>&1 || status=$?
    rm "$tmp/running"
    wait "$changing"
    "$fabric" rate --name "$name" reset
    cat "$tmp/job.txt"
    return "$status"
}

flap() {
    while sleep 1 && [[ -e $tmp/running ]]; do
        "$fabric" rate --name "$name" --host 1 --rail 1 25mbit
        sleep 1
        "$fabric" rate --name "$name" reset
    done
}

after_calls() {
    while [[ -e $tmp/running && (! -e $tmp/lines || $(wc -l <"$tmp/lines") -lt $1) ]]; do sleep 0.1; done
}

drop() {
    after_calls 10
    "$fabric" rate --name "$name" --host 1 --rail 1 10mbit
}

almost_gone() {
    "$fabric" rate --name "$name" --host 1 --rail 1 5mbit
}

stall() {
    after_calls 20
    "$fabric" rate --name "$name" --host 1 --rail 0 stall
    sleep 3
    "$fabric" rate --name "$name" reset
}

all_right() { # all_right LEAST: so many calls at least, each with the library's result
    awk -v least="$1" '$1 != "pause" { calls++; wrong += $4 != 1 } END { print calls, "calls,", wrong, "wrong"; exit !(calls >= least && !wrong) }' "$tmp/lines"
}

# The changes in a job of n calls: the first, then 3, 6 ... 192 calls apart.
changes_bounded() {
    local calls changes most=1 at=0 apart=3
    calls=$(grep -vc pause "$tmp/lines") changes=$(grep -c 'schedules are made anew' "$tmp/job.txt")
    while ((at + apart < calls)); do
        ((at += apart, apart < 192 && (apart *= 2), most++))
    done
    echo "$changes changes in $calls calls; $most at most"
    ((changes <= most))
}

seen() { # seen PATTERN: the job said it
    grep -qE "$1" "$tmp/job.txt" || { grep -a collshim "$tmp/job.txt"; return 1; }
}

held_up() { # one call waited for the stall
    sort -k2 -n "$tmp/lines" | tail -n 1
    awk '$2 > 2000 { found = 1 } END { exit !found }' "$tmp/lines"
}

check "the program is built" "mpicc.$mpi" -O2 -I "$root/bench" -o "$tmp/calls" "$root/bench/rails/calls.c" \
    "$root/bench/mpi_table.c" -ldl
check "the cluster is up" "$fabric" up --owner $$ --name "$name" --nodes 2 --rails 2
check "a rail drops to a tenth: the job ends well" job 14 drop
check "... all results are right" all_right 15
check "... a line says what changed" \
    seen "rail 1 of node [01] carries [0-9.e-]+ of the fastest rail's rate (in|out), [0-9.e-]+ until call [0-9]+; [0-9]+ rates changed, and schedules are made anew"
check "... plans change as rarely as they may" changes_bounded
check "a rail drops and returns every second: the job ends well" job 12 flap
check "... all results are right" all_right 20
check "... plans change as rarely as they may" changes_bounded
check "a rail stalls for 3 s: the job ends well" job 10 stall
check "... all results are right" all_right 20
check "... a call waited" held_up
check "... plans change as rarely as they may" changes_bounded
check "a rail is almost gone, and calls are small: the job ends well" job 20 almost_gone 131072
check "... all results are right" all_right 20
check "... the rail is found" seen "rail 1 of node 1 was measured at [0-9.e-]+ Mbit/s out and [0-9.e-]+ in, others at"
conclude
