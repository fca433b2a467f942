#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/abi/run.sh [BUILD_DIR]: the standard ABI of MPI 5. Our header says what an installed one says, and one
# program, compiled once, is rerouted by one preload under every library that has the ABI, with the same bits.
#
# The libraries are MPICH 5's and Intel MPI's (scripts/setup wheels); without them that part is skipped.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/abi
build=${1:-$root/build}
wheels=${FABRIC_WHEELS:-$root/build/wheels}
if [ ! -r "$build/libcollshim-abi.so" ]; then
    echo "test/abi: $build/libcollshim-abi.so is missing: run make first, or name the build directory" >&2
    exit 1
fi
command -v jq >/dev/null || { echo "test/abi: jq is not installed" >&2; exit 1; }
build=$(cd "$build" && pwd)
compile=(gcc -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror "-I$root")
ours=("${compile[@]}" "-I$root/shim/abi")
export I_MPI_PIN=off

declare -A title=([mpich5]="MPICH 5" [intel]="Intel MPI")
libraries=()
for library in mpich5 intel; do
    if [ -e "$wheels/$library/lib/libmpi_abi.so.1" ]; then
        libraries+=("$library")
    else
        skip "${title[$library]}" "no $wheels/$library/lib/libmpi_abi.so.1: scripts/setup wheels"
    fi
done

# --- the header

# constants: the names in our header that stand for a value
constants() {
    sed -nE 's/^#define (MPI_[A-Z0-9_a-z]+) [^\\].*/\1/p' "$root/shim/abi/mpi.h"
    grep -oE '\bMPI_[A-Z0-9_]+ = ' "$root/shim/abi/mpi.h" | sed 's/ = //'
}

# write_values: a program that prints each constant's value, and the sizes and places of what is no constant
write_values() {
    local name
    cat <<'TXT'
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#define CONSTANT(name) printf("%s %lld\n", #name, (long long)(intptr_t)(name));
#define NUMBER(value) printf("%s %zu\n", #value, value);
int main(void)
{
TXT
    for name in $(constants); do
        echo "CONSTANT($name)"
    done
    for name in MPI_Aint MPI_Count MPI_Offset MPI_Comm MPI_Datatype MPI_Status; do
        echo "NUMBER(sizeof($name))"
    done
    for name in MPI_SOURCE MPI_TAG MPI_ERROR; do
        echo "NUMBER(offsetof(MPI_Status, $name))"
    done
    echo '}'
}

# write_prototypes: declares each function again, as we do; a compiler refuses what differs
write_prototypes() {
    echo '#include <mpi.h>
#define FUNCTION(name, parameters) int MPI_##name parameters; int PMPI_##name parameters;
#include "shim/abi/functions.def"
double MPI_Wtime(void);
double PMPI_Wtime(void);'
}

same_values() {
    write_values >"$tmp/values.c"
    write_prototypes >"$tmp/prototypes.c"
    mkdir -p "$tmp/theirs"
    cp "$1" "$tmp/theirs/mpi.h"
    "${ours[@]}" -o "$tmp/values_ours" "$tmp/values.c" && "$tmp/values_ours" >"$tmp/ours.txt" &&
        "${compile[@]}" -I"$tmp/theirs" -o "$tmp/values_theirs" "$tmp/values.c" && "$tmp/values_theirs" >"$tmp/theirs.txt" &&
        [ "$(wc -l <"$tmp/ours.txt")" -gt 150 ] && diff "$tmp/ours.txt" "$tmp/theirs.txt"
}

same_prototypes() {
    "${compile[@]}" -I"$tmp/theirs" -fsyntax-only "$tmp/prototypes.c"
}

# has_functions LIBRARY: every function of ours
has_functions() {
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$tmp/there"
    nm -D --defined-only "$build/linkable/libmpi_abi.so.1" | awk '$3 ~ /^P?MPI_/ { print $3 }' | sort -u >"$tmp/wanted"
    comm -23 "$tmp/wanted" "$tmp/there" | tee "$tmp/lacks"
    [ "$(wc -l <"$tmp/wanted")" -gt 200 ] && [ ! -s "$tmp/lacks" ]
}

header=$wheels/mpich5/include/mpi_abi.h
if [ -r "$header" ]; then
    check "header: every value is MPICH's" same_values "$header"
    check "header: every function is declared as MPICH's" same_prototypes
else
    skip "header" "no $header: scripts/setup wheels"
fi
for library in "${libraries[@]}"; do
    check "${title[$library]} has every function of the header" has_functions "$wheels/$library/lib/libmpi_abi.so.1"
done

# --- what is built

no_mpi_needed() {
    ! readelf -dW "$build/libcollshim-abi.so" | grep -E 'NEEDED.*mpi'
}
check "the backend is linked with no MPI" no_mpi_needed

"${ours[@]}" -o "$tmp/bits" "$here/bits.c" "$build/linkable/libmpi_abi.so.1"
refuses_to_run() {
    LD_LIBRARY_PATH=$build/linkable "$tmp/bits" >"$tmp/out" 2>&1 && return 1
    grep -q 'MPI_Init: this libmpi_abi.so.1 is for linking; set LD_LIBRARY_PATH' "$tmp/out"
}
check "the library for linking says what it is" refuses_to_run

# --- one program, every library

# run LIBRARY PROGRAM [NAME=VALUE...]: sets out and rc; the report is in $tmp/report.json
run() {
    rm -f "$tmp/report.json"
    rc=0
    out=$("$private_shm" timeout -k 5 120 env "LD_LIBRARY_PATH=$wheels/$1/lib" "COLLSHIM_REPORT=$tmp/report.json" \
        COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_MIN_BYTES=4KiB COLLSHIM_LOG=info \
        "${@:3}" "$wheels/$1/bin/mpiexec" -n 4 "$2" 2>"$tmp/err" </dev/null) || rc=$?
}

# Calls, over all ranks: of bits.c's 15 all but Alltoallw, which is looked at from its second call on.
rerouted() {
    jq '[.collectives[].rerouted] | add' "$tmp/report.json" 2>/dev/null || echo none
}

preload=LD_PRELOAD=$build/libcollshim.so:$build/test/yield.so
declare -A bits=() counted=()
for library in "${libraries[@]}"; do
    run "$library" "$tmp/bits" "$preload"
    if [[ $rc -eq 0 && $out == bits:* && $(jq -r .library "$tmp/report.json") == *"${title[$library]% *}"* ]]; then
        bits[$library]=$out counted[$library]=$(rerouted)
        pass "${title[$library]}: the program runs, with a report of its library"
    else
        fail "${title[$library]}: the program runs, with a report of its library" "status $rc: $out"$'\n'"$(tail -n 5 "$tmp/err")"
        continue
    fi
    check "${title[$library]}: every large call is rerouted" test "${counted[$library]}" -eq $((14 * 4))
    if [ "$library" = mpich5 ]; then
        "$wheels/mpich5/bin/mpicc_abi" -O2 -o "$tmp/bits_theirs" "$here/bits.c" >"$tmp/log" 2>&1 || fail "mpicc_abi compiles" "$(<"$tmp/log")"
        run "$library" "$tmp/bits_theirs" "$preload"
        check "${title[$library]}: compiled by its own mpicc_abi, the same" test "$out, $(rerouted)" = "${bits[$library]}, ${counted[$library]}"
    fi
done
if [ ${#bits[@]} -eq 2 ]; then
    check "one program, one preload, two libraries: the same bits" test "${bits[mpich5]}" = "${bits[intel]}"
else
    skip "one program, one preload, two libraries" "it takes both: scripts/setup wheels"
fi

# --- wrong calls, which collshim asks the library about

"${ours[@]}" -o "$tmp/refused" "$here/refused.c" "$build/linkable/libmpi_abi.so.1"
wrong_calls() {
    local alone
    run "$1" "$tmp/refused" "LD_PRELOAD=$build/test/yield.so"
    alone="$rc $out"
    run "$1" "$tmp/refused" "$preload"
    [[ "$rc $out" == "$alone" && $alone == "0 refused: "[1-9]* ]] || { echo "alone: $alone; with collshim: $rc $out"; return 1; }
}
for library in "${libraries[@]}"; do
    check "${title[$library]}: wrong calls get what they get without collshim" wrong_calls "$library"
done

# --- Fortran, whose functions call C's

fortran_calls() {
    run intel "$tmp/sums" "$preload"
    [[ $rc -eq 0 && $out == *"sums: right"* && $(rerouted) -eq 16 ]] || { echo "$out; $(rerouted) are rerouted"; return 1; }
}
libmpifort=$wheels/intel/lib/libmpifort_abi.so.1
if ! command -v gfortran >/dev/null; then
    skip "Fortran" "no gfortran: scripts/setup test"
elif [ ! -e "$libmpifort" ]; then
    skip "Fortran" "no $libmpifort: scripts/setup wheels"
else
    gfortran -O1 -o "$tmp/sums" "$here/sums.f90" "$libmpifort" "$build/linkable/libmpi_abi.so.1" -Wl,--allow-shlib-undefined
    check "Intel MPI: Fortran's calls are rerouted" fortran_calls
fi

conclude
