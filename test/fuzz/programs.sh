#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/fuzz/programs.sh [--programs N] [--seed N] [--ranks N] [--steps N] [--mpi NAME] [BUILD_DIR]: random legal MPI
# programs (test/mpi/wild.c), each by the library alone and then under collshim. There every call is rerouted that can be,
# with settings that follow from the program's seed. Both must end well and print the same. A program that fails under
# collshim alone is shrunk to the steps that it takes. Programs that fail without collshim too are the library's: they
# are counted apart. Defaults: 20 programs from seed 1 on, 4 ranks, 60 steps, openmpi and mpich.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
many=20 first=1 ranks=4 steps=60 build=$root/build libraries=(openmpi mpich)
while [ $# -gt 0 ]; do
    case $1 in
        --programs) many=${2:?} && shift ;;
        --seed) first=${2:?} && shift ;;
        --ranks) ranks=${2:?} && shift ;;
        --steps) steps=${2:?} && shift ;;
        --mpi) libraries=("${2:?}") && shift ;;
        *) build=$1 ;;
    esac
    shift
done
build=$(cd "$build" && pwd)
# shellcheck source=test/mpi/launch.sh
. "$root/test/mpi/launch.sh"
limit=60 # seconds, of a program that takes one
# Open MPI 4.1.4's other components refuse windows of one rank, or now and then lose a file in /dev/shm.
export OMPI_MCA_osc=pt2pt

# Rows of settings; the seed picks one. Every call that can be is rerouted in all of them.
ways=(
    'COLLSHIM_CHOOSE=always'
    'COLLSHIM_CHOOSE=always COLLSHIM_TEST_SHM=copy COLLSHIM_CHUNK_BYTES=1KiB'
    'COLLSHIM_CHOOSE=always COLLSHIM_TEST_SHM=off COLLSHIM_CHUNK_BYTES=4KiB'
    'COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY=node:2,rank:2,rail:2'
    'COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY=node:4,rail:1 COLLSHIM_CHUNK_BYTES=1KiB'
    'COLLSHIM_MODE=ab'
    'COLLSHIM_MODE=verify'
    'COLLSHIM_CHOOSE=measure'
)

# attempt SEED KEPT NAME=VALUE...: sets result to the exit status and what the program prints
attempt() {
    # shellcheck disable=SC2034 # launch.sh reads it
    preload=$build/libcollshim.so
    complaints='' settings=()
    launch "$ranks" "${@:3}" -- "$programs/wild" "$1" "$steps" "$2"
    result="$rc $(grep '^wild: ' <<<"$out")"
}
natively() { attempt "$1" "$2" "LD_PRELOAD=${yielding[$kin]-}"; }
# shellcheck disable=SC2086 # several
rerouted() { attempt "$1" "$2" ${ways[$1 % ${#ways[@]}]}; }

# differs SEED KEPT: does it fail under collshim alone? Sets outcome.
differs() {
    local alone
    natively "$1" "$2"
    alone=$result
    [ "${alone%% *}" = 0 ] || { outcome=library && return 1; }
    rerouted "$1" "$2"
    outcome=same
    [ "$result" != "$alone" ] || return 1
    outcome="natively: $alone; under collshim: $result; ${ways[$1 % ${#ways[@]}]}"
    return 0
}

# shrink SEED: sets kept to a list of steps that still fails, from which no run of steps can be left out
shrink() {
    local list=() size i without before=$outcome
    mapfile -t list < <(seq 0 $((steps - 1)))
    for ((size = steps / 2; size > 0; size /= 2)); do
        for ((i = 0; i < ${#list[@]}; )); do
            without=("${list[@]:0:i}" "${list[@]:i+size}")
            if [ ${#without[@]} -gt 0 ] && differs "$1" "$(IFS=,; echo "${without[*]}")"; then
                list=("${without[@]}") before=$outcome
            else
                i=$((i + size))
            fi
        done
    done
    kept=$(IFS=,; echo "${list[*]}") outcome=$before
}

table=
for library in "${libraries[@]}"; do
    choose "$library"
    ours=0 theirs=0 same=0 whose=
    command -v "$launcher" >/dev/null || { skip all "$launcher is not installed" && continue; }
    for ((seed = first; seed < first + many; seed++)); do
        [ $((seed % 10)) -ne 0 ] || echo "# $library: seed $seed; $same the same, $theirs fail natively, $ours differ" >&2
        if differs "$seed" "0-$((steps - 1))"; then
            ours=$((ours + 1))
            shrink "$seed"
            fail "seed $seed" "$outcome"$'\n'"wild $seed $steps $kept on $ranks ranks"$'\n'"$(head -n 8 <<<"$err")"
        elif [ "$outcome" = library ]; then
            theirs=$((theirs + 1)) whose+=" $seed"
        else
            same=$((same + 1))
        fi
    done
    [ $ours -gt 0 ] || pass "$same programs do the same with collshim and without"
    [ $theirs -eq 0 ] || echo "# $library alone fails with the seeds$whose"
    table+=$(printf '%-10s %9d %6d %9d %8d' "$library" "$many" $same $theirs $ours)$'\n'
done
printf '%-10s %9s %6s %9s %8s\n%s' LIBRARY PROGRAMS SAME LIBRARY\'S DIFFER "$table"
conclude
