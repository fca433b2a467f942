#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/apps/run.sh [BUILD_DIR]: unmodified MPI programs on the emulated cluster, without and with the
# preload.
#
# For each program: both runs succeed and say the same, nothing is complained about, what is known about the
# result is true, and the report shows that the collectives it calls were rerouted.
#
# The rails are fast. HPCC sends a fixed amount through them, 50 s of it at 200 Mbit/s, and no speed
# is judged here. COLLSHIM_MIN_BYTES=0, so that every call that can be rerouted is.
#
# Needs root, as the fabric does.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/apps
name=apps$$
build=${1:-$root/build}

die() {
    echo "test/apps: $1" >&2
    exit 1
}

if [[ ! -r $build/libcollshim.so ]]; then
    die "$build/libcollshim.so is missing: run make first, or name the build directory"
fi
[[ $EUID -eq 0 ]] || skip_all "the emulated cluster needs root"
command -v jq >/dev/null || die "jq is missing: scripts/setup test installs it"
build=$(cd "$build" && pwd)

# same NAME WANTED GOT: equal files, and there is something in them
same() {
    if [[ ! -s $2 ]]; then
        fail "$1" "$2 is empty"
    elif diff "$2" "$3" >"$tmp/diff"; then
        pass "$1"
    else
        fail "$1" "$(head -n 20 "$tmp/diff")"
    fi
}

# on_fabric SECONDS MPI DIR OPTION... -- PROGRAM...: runs 4 ranks on 2 hosts, in DIR; stdout goes to
# DIR/out, stderr to DIR/err. In the background, so that a signal is acted on at once.
on_fabric() {
    local seconds=$1 mpi=$2 dir=$3 status=0
    shift 3
    [[ $mpi != mpich ]] || set -- --preload "$build/test/yield.so" "$@"
    mkdir -p "$dir"
    (cd "$dir" && exec "$fabric" run --name "$name" --mpi "$mpi" -n 4 --timeout "$seconds" "$@") \
        >"$dir/out" 2>"$dir/err" </dev/null &
    wait $! || status=$?
    return $status
}

# ran NAME DIR STATUS: the verdict on one run
ran() {
    if [[ $3 -eq 0 ]]; then
        pass "$1"
    else
        fail "$1" "exit status $3"$'\n'"$(tail -n 20 "$2/err" "$2/out")"
        return 1
    fi
}

# both_ways NAME SECONDS MPI DIR PROGRAM...: runs it in DIR/native and DIR/preload, which may hold
# its input. Returns 1, with a failed test, if there is nothing to compare.
both_ways() {
    local title=$1 seconds=$2 mpi=$3 dir=$4 status=0
    shift 4
    on_fabric "$seconds" "$mpi" "$dir/native" -- "$@" || status=$?
    ran "$title: runs without the preload" "$dir/native" "$status" || return 1
    status=0
    on_fabric "$seconds" "$mpi" "$dir/preload" --preload "$build/libcollshim.so" \
        --env COLLSHIM_MIN_BYTES=0 --env COLLSHIM_REPORT="$dir/report.json" -- "$@" || status=$?
    ran "$title: runs with the preload" "$dir/preload" "$status" || return 1
    if grep -h '^collshim:' "$dir/preload/err" "$dir/preload/out" >"$tmp/said"; then
        fail "$title: collshim has nothing to complain about" "$(head -n 20 "$tmp/said")"
    else
        pass "$title: collshim has nothing to complain about"
    fi
}

# about REPORT COLLECTIVE: sets calls, rerouted; and due, the calls that nothing in the nature of the
# call keeps native. calls is empty if the report has no such row.
about() {
    IFS=$'\t' read -r calls rerouted due < <(jq -r --arg c "$2" '
        .collectives[] | select(.collective == $c)
        | [.calls, .rerouted,
           .calls - ([.native | to_entries[]
                      | select(.key | test("one rank|no bytes|inside a rerouted call")) | .value]
                     | add // 0)]
        | @tsv' "$1") || true
}

# seen_and_rerouted NAME REPORT COLLECTIVE...: those that the program is known to call
seen_and_rerouted() {
    local title=$1 report=$2 collective calls rerouted due
    shift 2
    if ! jq -e '.ranks == 4' "$report" >/dev/null 2>"$tmp/said"; then
        fail "$title: the report is of 4 ranks" "$report: $(cat "$tmp/said" "$report" 2>&1)"
        return
    fi
    for collective; do
        calls=''
        about "$report" "$collective"
        if [[ ${calls:-0} -eq 0 ]]; then
            fail "$title: $collective is seen" "the report shows no call"
        else
            pass "$title: $collective is seen, $calls calls"
            if [[ $due -eq 0 ]]; then
                skip "$title: $collective is rerouted" "every call is of one rank or of no bytes"
            elif [[ $rerouted -gt 0 ]]; then
                pass "$title: $collective is rerouted, $rerouted calls"
            else
                fail "$title: $collective is rerouted" "$(jq -c --arg c "$collective" \
                    '.collectives[] | select(.collective == $c) | .native' "$report")"
            fi
        fi
    done
}

# mpi_of FILE: the family that a program or extension module is linked to, or nothing
mpi_of() {
    local libraries
    libraries=$(ldd "$1" 2>/dev/null) || return 0
    case $libraries in
    *libmpi.so.40*) echo openmpi ;;
    *libmpich.so*) echo mpich ;;
    esac
}

# ready NAME MPI: can programs of this family run, with a backend? Otherwise says why not.
ready() {
    local launcher=mpirun.openmpi
    [[ $2 != mpich ]] || launcher=mpiexec.mpich
    if [[ -z $2 ]]; then
        skip "$1" "linked to no MPI that collshim has a backend for"
    elif ! command -v "$launcher" >/dev/null; then
        skip "$1" "no $launcher"
    elif [[ ! -r $build/libcollshim-$2.so ]]; then
        fail "$1" "$build/libcollshim-$2.so is missing: run make"
    else
        return 0
    fi
    return 1
}

# products N STEPS: what the matrix programs must print, "step checksum" a line. The weighed sum of
# A B is (u A)(B v), u and v being the weights: two vectors are enough, and no product is made.
products() {
    awk -v n="$1" -v steps="$2" '
        function element(matrix, i, j) { return (i * i + 3 * i * j + 7 * j + 31 * matrix) % 997 }
        BEGIN {
            prime = 1000003
            for (k = 0; k < n; k++)
                for (i = 0; i < n; i++)
                    left[k] = (left[k] + (i + 1) * element(0, i, k)) % prime
            for (s = 1; s <= steps; s++) {
                sum = 0
                for (k = 0; k < n; k++) {
                    right = 0
                    for (j = 0; j < n; j++)
                        right = (right + (j + 1) * element(s, k, j)) % prime
                    sum = (sum + left[k] * right) % prime
                }
                print s, sum
            }
        }'
}

# matrix_program NAME MPI STEPS N PROGRAM...: PROGRAM is called with N
matrix_program() {
    local title=$1 mpi=$2 steps=$3 n=$4 dir
    shift 4
    dir=$tmp/$mpi-${1##*/}
    both_ways "$title" 240 "$mpi" "$dir" "$@" "$n" || return 0
    same "$title: same results" "$dir/native/out" "$dir/preload/out"
    products "$n" "$steps" >"$dir/known"
    awk '{ print $1, $NF }' "$dir/preload/out" >"$dir/sums"
    same "$title: known results" "$dir/known" "$dir/sums"
    seen_and_rerouted "$title" "$dir/report.json" allgather allgatherv
}

# compiled TITLE MPI SOURCE: is it? The program is $tmp/MPI/SOURCE then.
compiled() {
    local compiler=MPICC_$2
    compiler=${!compiler:-mpicc.$2}
    if ! command -v "$compiler" >/dev/null; then
        skip "$1" "no $compiler"
        return 1
    fi
    ready "$1" "$2" || return 1
    mkdir -p "$tmp/$2"
    if ! "$compiler" -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror -o "$tmp/$2/$3" "$here/$3.c" \
        2>"$tmp/said"; then
        fail "$1: compiles" "$(<"$tmp/said")"
        return 1
    fi
}

app_matmul() {
    local mpi
    for mpi in openmpi mpich; do
        # A prime: no number of ranks divides it.
        compiled "matmul, $mpi" "$mpi" matmul || continue
        matrix_program "matmul, $mpi" "$mpi" 20 509 "$tmp/$mpi/matmul"
    done
}

# Odd numbers of tokens; each owner computes some of what comes back itself.
app_moe() {
    local mpi title dir steps=6
    for mpi in openmpi mpich; do
        title="moe, $mpi" dir=$tmp/$mpi-moe
        compiled "$title" "$mpi" moe || continue
        both_ways "$title" 240 "$mpi" "$dir" "$tmp/$mpi/moe" 3001 0.7 $steps || continue
        same "$title: same results" "$dir/native/out" "$dir/preload/out"
        if [[ $(cut -d ' ' -f 2 "$dir/preload/out" | sort -u | wc -l) -eq $steps ]]; then
            pass "$title: every step has a result of its own"
        else
            fail "$title: every step has a result of its own" "$(<"$dir/preload/out")"
        fi
        seen_and_rerouted "$title" "$dir/report.json" alltoall alltoallv
    done
}

app_mpi4py() {
    local python=/usr/bin/python3 module mpi
    if ! module=$("$python" -c 'import importlib.util as u; print(u.find_spec("mpi4py.MPI").origin)' \
        2>/dev/null); then
        skip mpi4py "no mpi4py for $python; package python3-mpi4py"
        return
    fi
    mpi=$(mpi_of "$module")
    if ready mpi4py "$mpi"; then
        matrix_program "mpi4py, $mpi" "$mpi" 6 150 "$python" "$here/allgather_matmul.py"
    fi
}

# verdicts FILE: HPCC's results without what it measured: each test's verdicts, and the summary
# less times and rates. The number of updates that RandomAccess makes is cut to fit a time, and
# PTRANS leaves out a line of its table whose time is 0; its total stays.
verdicts() {
    sed -nE -e '/^(WALL|CPU)/d' \
        -e '/PASSED|FAILED|residual checks|tests skipped|errors in|Node\(s\) with error/p' \
        -e '/Solution Validates|^max\(\|x-x0\|\)/p' \
        -e '/^Begin of Summary/,$ {
              /=/!d
              /(_time[0-9]?|CheckTime|ExeUpdates|[GT]flops|GUPs|GBs|_Copy|_Scale|_Add|_Triad)=/d
              /(Latency_usec|Bandwidth_GBytes)=/d
              p
            }' "$1"
}

app_hpcc() {
    local dir=$tmp/hpcc hpcc mpi way
    if ! hpcc=$(command -v hpcc); then
        skip HPCC "no hpcc; package hpcc"
        return
    fi
    mpi=$(mpi_of "$hpcc")
    ready HPCC "$mpi" || return 0
    for way in native preload; do
        mkdir -p "$dir/$way"
        cp "$here/hpccinf.txt" "$dir/$way"
    done
    both_ways HPCC 400 "$mpi" "$dir" "$hpcc" || return 0
    for way in native preload; do
        verdicts "$dir/$way/hpccoutf.txt" >"$dir/$way/verdicts" || true
        # HPCC ends with 0 also after errors.
        if grep -qx 'Success=1' "$dir/$way/verdicts" &&
            [[ $(grep -c '^Found 0 errors in .*passed' "$dir/$way/verdicts") -eq 4 ]] &&
            grep -q '^||Ax-b||.*PASSED' "$dir/$way/verdicts" &&
            ! grep -qE 'FAILED|[1-9][0-9]* tests completed and failed' "$dir/$way/verdicts"; then
            pass "HPCC, $way: its own checks pass"
        else
            fail "HPCC, $way: its own checks pass" "$(cat "$dir/$way/verdicts")"
        fi
    done
    same 'HPCC: same results' "$dir/native/verdicts" "$dir/preload/verdicts"
    seen_and_rerouted HPCC "$dir/report.json" allreduce bcast reduce gather alltoall
}

at_exit wait
raise_fabric "$name" --nodes 2 --rails 2 --rate 1gbit || die "the fabric does not start"

app_matmul
app_moe
app_mpi4py
app_hpcc

conclude
