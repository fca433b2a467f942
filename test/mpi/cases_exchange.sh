# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Alltoallv, Alltoallw and the neighbour collectives: random calls that check themselves and are counted exactly; when a
# communicator's traffic is looked at, and when it is rerouted.

# exchange N CALLS HOW [NAME=VALUE...]: a whole test
exchange() {
    local n=$1 calls=$2 how=$3
    shift 3
    begin "$calls random exchanges on $n ranks, types $how${*:+, $*}"
    launch "$n" "$@" -- "$programs/exchange" "$seed" "$calls" "$how"
    want_random_calls alltoallv
    finish
}

# exchange_started N CALLS [NAME=VALUE...]: a whole test
exchange_started() {
    local n=$1 calls=$2
    shift 2
    quiet "$calls random exchanges on $n ranks, half of them nonblocking${*:+, $*}" "$n" "$@" -- "$programs/exchange" SEED \
        "$calls" started
    want_number alltoallv "(.rerouted - .rerouted_nonblocking)" -eq "$(expected alltoallv)"
    want_number alltoallv .rerouted_nonblocking -ge $((calls * n / 5))
    finish
}

# Ranks ask about few of 134 small calls. The large ones that follow are predicted to gain where rails differ, and only
# there. Then come 60 calls, each with a demand of its own.
asking='.native["agreeing on the sizes costs more than it brings"]'
exchange_is_watched() {
    local ranks=4 uneven='node:2 rank:2 rail:2@100Mbit,50Mbit'

    quiet "small exchanges, then skewed ones over unequal rails, then changing ones" $ranks COLLSHIM_MIN_BYTES=64KiB \
        COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY="$uneven" -- "$programs/exchange" 9 0 phases
    want_number alltoallv '.native["smaller than COLLSHIM_MIN_BYTES"]' -gt 0
    want_number alltoallv "$asking" -ge $((120 * ranks))
    want_number alltoallv .rerouted -ge $((100 * ranks))
    want_number alltoallv .balancing.questions -ge $ranks
    want_number alltoallv .balancing.state_changes -ge $ranks
    want_number alltoallv .balancing.state_changes -le $((20 * ranks)) # a change per window of 8 calls, of 160
    want_number alltoallv \
        '.balancing | if .to_hottest_bytes * 2 > .sent_bytes and .to_hottest_bytes < .sent_bytes then 1 else 0 end' -eq 1
    finish

    right "the same exchanges with the guard" $ranks COLLSHIM_MIN_BYTES=64KiB COLLSHIM_TOPOLOGY="$uneven" -- \
        "$programs/exchange" 9 0 phases
    want_number alltoallv .rerouted -gt 0
    finish

    right "the same exchanges where balancing gains nothing" $ranks COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=always \
        COLLSHIM_TOPOLOGY='node:1 rank:4' -- "$programs/exchange" 9 0 phases
    want_number alltoallv .rerouted -eq 0
    want_number alltoallv '.native["balancing would gain too little on the links"]' -ge $ranks
    want_number alltoallv "$asking" -ge $((270 * ranks))
    finish

    right "a forced algorithm reroutes every large exchange" $ranks COLLSHIM_MIN_BYTES=64KiB COLLSHIM_TOPOLOGY="$uneven" \
        COLLSHIM_ALGORITHM=alltoallv=pairwise -- "$programs/exchange" 9 0 phases
    want_number alltoallv "$asking" -eq 0
    want_number alltoallv .rerouted -ge $((140 * ranks))
    finish
}

# A question stands for the calls that passed unasked behind a large one, so that exchanges meet in time.
exchange_meets() {
    local ranks=4

    right "large skewed exchanges alone, which have to pay for setting up" $ranks COLLSHIM_MIN_BYTES=64KiB \
        COLLSHIM_TEST_SHARE=2 COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit' -- "$programs/exchange" 9 300 large
    want_number alltoallv '.native["the calls so far have not paid for setting up"]' -ge $ranks
    want_number alltoallv .balancing.predictions -gt 0
    finish
}

# Ranks that are very unlike. Two rails into the second node: half of the bytes for rank 2 are relayed by rank
# 3, if by any rank.
exchange_is_lopsided() {
    local relayed='node:2 rank:2 rail:2@100Mbit' available

    quiet "a relay that has nothing to send itself comes late to every exchange" 4 COLLSHIM_TOPOLOGY="$relayed" -- \
        "$programs/lopsided" 1 late
    want_number alltoallv .rerouted -eq "$(expected alltoallv)"
    finish

    right "the same with the guard, which does not insist on such a relay" 4 COLLSHIM_MIN_BYTES=64KiB \
        COLLSHIM_TOPOLOGY="$relayed" -- "$programs/lopsided" 1 late
    want_number alltoallv .calls -gt 0
    want_number alltoallv .algorithms.nimble -lt "$(expected alltoallv)"
    finish

    # Relays and their sizes; messages of that size to MPICH are among huge.c's.
    [ "$quick" -eq 0 ] && [ "$family" = openmpi ] || return 0
    available=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    if [ "$available" -lt 6 ]; then
        skip "a message of more than 2 GiB" "$available GiB of memory are left, it takes 6"
        return
    fi
    quiet "a message of more than 2 GiB, relayed in part, from a rank to one other" 4 \
        COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit' -- "$programs/lopsided" 1 huge
    want_number alltoallv .rerouted -eq 4
    finish
}

# neighbors N CALLS HOW [NAME=VALUE...]: a whole test
neighbors() {
    local n=$1 calls=$2 how=$3 collective
    shift 3
    quiet "$calls random calls of the neighbour collectives on $n ranks${*:+, $*}" "$n" "$@" -- "$programs/neighbors" SEED \
        "$calls" "$how"
    if [[ " $* " != *" COLLSHIM_MODE=off "* ]]; then
        for collective in neighbor_allgather neighbor_alltoall; do
            want_number $collective "(.rerouted - (.rerouted_nonblocking // 0))" -eq "$(expected $collective)"
            want_number $collective .rerouted -gt 0
            want_number $collective '.native["a rank is a neighbour twice, which libraries do not treat alike"]' -gt 0
            [[ " $* " != *" COLLSHIM_MODE=verify "* ]] || want_number $collective .verified_different -eq 0
        done
        want_number neighbor_allgather '.native["a communicator without a topology"]' -eq "$n"
        want_started
    fi
    finish
}

# Nonblocking and persistent ones go by what balancing gains in blocking ones.
neighbors_start_nothing() {
    local collective
    quiet "nonblocking and persistent calls of the neighbour collectives where balancing gains nothing" 4 \
        COLLSHIM_MIN_BYTES=1KiB COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:1 rank:4' -- "$programs/neighbors" SEED 200 \
        started
    for collective in neighbor_allgather neighbor_alltoall; do
        want_number $collective .rerouted -eq 0
        want_number $collective '.native["nonblocking, and no schedule of one process has won in blocking calls like it"]' -gt 0
    done
    finish
}

# A ring along the nodes: of each node the last rank alone sends much to another one, over one of two rails.
neighbors_are_watched() {
    quiet "a ring of skewed halos is balanced over the rails of ranks that have none" 6 COLLSHIM_MIN_BYTES=64KiB \
        COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:2 rank:3 rail:3@100Mbit' -- "$programs/neighbors" 9 20 skewed
    want_number neighbor_alltoall .rerouted -ge $((15 * 6))
    ! progresses || want_number neighbor_alltoall .rerouted_nonblocking -eq $((3 * 6))
    finish

    right "the same halos on one node, where balancing gains nothing" 6 COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=always \
        COLLSHIM_TOPOLOGY='node:1 rank:6' -- "$programs/neighbors" 9 20 skewed
    want_number neighbor_alltoall .rerouted -eq 0
    want_number neighbor_alltoall '.native["balancing would gain too little on the links"]' -ge 6
    finish
}

# Ranks, chunk and topology.
exchange_openmpi=('5 5 place:0,1,0,2,1' '6 100 node:2 rank:3 rail:2@100Mbit,50Mbit'
    '7 50 rank:1,5,1 rail:2@100Mbit place:cyclic' '6 100 node:3 rank:2 rail:2@10Mbit,90Mbit')
exchange_mpich=('3 100 node:2 rank:2,1 rail:2@100Mbit,30Mbit')

# Each rank computes in a mode of its own: the first claim is that no decision depends on it. The guard may take the
# library's way for any of 160 exchanges.
floats() {
    local least=${1:+1}
    quiet "ranks in floating-point modes of their own${*:+, $*}" 4 COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit' \
        "$@" -- "$programs/floats" SEED 40
    want_number alltoallv .rerouted -ge "${least:-100}"
    finish
}

cases_exchange() {
    local calls=200 row n chunk topology
    local -n rows=exchange_$kin

    [ "$family" = openmpi ] || calls=80
    [ "$quick" -eq 0 ] || calls=$((calls / 3))
    exchange 3 $calls plain COLLSHIM_MODE=off
    exchange 4 $calls mixed COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit' COLLSHIM_CHUNK_BYTES=100
    exchange 4 80 odd COLLSHIM_TOPOLOGY='node:2 rank:2'
    exchange 4 $calls plain COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_MODE=verify
    neighbors 3 150 native COLLSHIM_MODE=off
    neighbors 4 150 mixed COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit' COLLSHIM_CHUNK_BYTES=100
    # MPICH 4 hangs in its own persistent collectives, which serve where there is no hook.
    if progresses; then
        neighbors 4 200 started COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit'
        neighbors 2 150 started
        exchange_started 4 $calls COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit,50Mbit' COLLSHIM_CHUNK_BYTES=100
        [ "$quick" -eq 1 ] || exchange_started 3 $calls COLLSHIM_TEST_SHM=copy
        [ "$quick" -eq 1 ] || neighbors 6 200 started
        neighbors_start_nothing
    fi
    neighbors 3 150 native COLLSHIM_TOPOLOGY='node:2 rank:2,1' COLLSHIM_MODE=verify
    neighbors_are_watched
    exchange_is_watched
    exchange_meets
    exchange_is_lopsided
    floats
    [ "$quick" -eq 1 ] || floats COLLSHIM_MIN_BYTES=64KiB
    [ "$quick" -eq 0 ] || return 0
    for row in "${rows[@]}"; do
        read -r n chunk topology <<<"$row"
        exchange "$n" $calls mixed COLLSHIM_TOPOLOGY="$topology" COLLSHIM_CHUNK_BYTES="$chunk"
    done
}
