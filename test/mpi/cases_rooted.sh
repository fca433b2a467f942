# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gather, scatter, alltoall: random calls that check themselves and are counted exactly; what agreeing
# on sizes costs; the functions with large counts.

# rooted N CALLS HOW [NAME=VALUE...]: a whole test
rooted() {
    local n=$1 calls=$2 how=$3
    shift 3
    begin "$calls random gathers, scatters and alltoalls on $n ranks, types $how${*:+, $*}"
    launch "$n" "$@" -- "$programs/rooted" "$seed" "$calls" "$how"
    want_random_calls gather gatherv scatter scatterv alltoall
    finish
}

# Ranks ask about few of 211 small calls, 200 of them on one communicator. A wrong one is among them, which rank 0 tells
# all. Ranks detect the large ones that follow, and the guard tries them.
rooted_sizes_are_asked_for_rarely() {
    local collective why ranks=3

    quiet "many small gatherv and scatterv calls, then large ones" $ranks COLLSHIM_MIN_BYTES=64KiB \
        COLLSHIM_TOPOLOGY='node:2 rank:2,1' -- "$programs/rooted" SEED 0 small
    for collective in gatherv scatterv; do
        for why in "smaller than COLLSHIM_MIN_BYTES" "left to the library to judge the arguments"; do
            want_number $collective ".native[\"$why\"]" -gt 0
            want_number $collective ".native[\"$why\"] % $ranks" -eq 0 # on all ranks alike
        done
        want_number $collective \
            '.native["agreeing on the sizes costs more than it brings"]' -ge $((190 * ranks))
        want_number $collective .rerouted -gt 0
    done
    finish
}

# large_counts [NAME=VALUE...]: a library that has none is served all the same
large_counts() {
    local collective

    quiet "functions with large counts${*:+, $*}" 3 COLLSHIM_TOPOLOGY='node:2 rank:2,1' "$@" -- "$programs/large"
    for collective in allgather allgatherv allreduce reduce reduce_scatter reduce_scatter_block \
        scan exscan bcast; do
        [ $# -gt 0 ] || want_number $collective .rerouted -gt "$(expected above)"
    done
    finish
}

# Ranks, chunk and topology.
rooted_openmpi=('5 100 place:0,1,0,2,1' '6 0 node:2 rank:3 rail:2@100Mbit,50Mbit'
    '7 50 rank:1,5,1 rail:2@100Mbit place:cyclic' '6 100 node:3 rank:2 rail:2@10Mbit,90Mbit')
rooted_mpich=('3 100 node:2 rank:2,1 rail:2@100Mbit,30Mbit')

# below_threshold PROGRAM COLLECTIVE...: sizes that ranks have to tell each other are judged by COLLSHIM_MIN_BYTES,
# not by what the library's own algorithms are for
below_threshold() {
    local collective late='[.native | to_entries[] | select(.key | test("gain|trial|first call")) | .value] | add'
    quiet "$1 below COLLSHIM_MIN_BYTES: nothing is tried" 4 COLLSHIM_MIN_BYTES=1G COLLSHIM_TOPOLOGY='node:2 rank:2' -- \
        "$programs/$1" 3 60 plain
    for collective in "${@:2}"; do
        want_number "$collective" .calls -gt 0
        want_number "$collective" "($late)" -eq 0
    done
    finish
}

cases_rooted() {
    local calls=300 how=alike row n chunk topology
    local -n rows=rooted_$kin

    [ "$family" = openmpi ] || { calls=100; how=plain; }
    [ "$quick" -eq 0 ] || calls=$((calls / 3))
    rooted 3 $calls $how COLLSHIM_MODE=off
    rooted 4 $calls mixed COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_CHUNK_BYTES=100
    rooted 4 $calls $how COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_MODE=verify
    rooted_sizes_are_asked_for_rarely
    below_threshold rooted gatherv scatterv
    below_threshold exchange alltoallv
    large_counts
    if [ "$family" = openmpi ]; then # MPICH 4.0.2's own MPI_Reduce_c in place crashes
        large_counts COLLSHIM_MODE=off
        large_counts COLLSHIM_MIN_BYTES=1G
    fi
    [ "$quick" -eq 0 ] || return 0
    for row in "${rows[@]}"; do
        read -r n chunk topology <<<"$row"
        rooted "$n" $calls mixed COLLSHIM_TOPOLOGY="$topology" COLLSHIM_CHUNK_BYTES="$chunk"
    done
}
