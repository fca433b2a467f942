# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Right results: random calls over many topologies, then the programs that each look at one thing.

# differential N CALLS HOW [NAME=VALUE...]: begins a test
differential() {
    local n=$1 calls=$2 how=$3
    shift 3
    quiet "$calls random calls on $n ranks, types $how${*:+, $*}" "$n" "$@" -- "$programs/differential" SEED "$calls" "$how"
}

# rerouted N CALLS [NAME=VALUE...]: a whole test, in which all calls that can be are rerouted
rerouted() {
    differential "$1" "$2" mixed "${@:3}"
    want_rerouted
    finish
}

# Ranks and topology: nodes of one rank, of different sizes, ranks dealt out or in no order, slow
# and shared rails. Behind the ranks, the chunk.
topologies_openmpi=('4 250 node:2 gpu:2 place:cyclic' '4 0 node:3 rank:2,1,1' '5 500 place:0,1,0,2,1'
    '6 1000 node:2 rank:3 rail:2@100Mbit,50Mbit' '6 250 rank:1,5 place:cyclic' '7 750 node:7' '3 0 node:1 rank:3')
topologies_mpich=('3 250 node:2 rank:2,1' '4 0 place:0,1,1,0')

# One rank of each node crosses.
leaders='bcast=compose(stripe=1),reduce=compose(stripe=1)'
for one in allgather allgatherv allreduce reduce_scatter reduce_scatter_block; do
    leaders+=",$one=lane(lanes=1)"
done

# Each collective by a composition that is a text.
write_texts() {
    local one
    while read -r one text; do
        printf '%s\n' "$text" >"$tmp/$one.text"
        texts+="${texts:+,}$one=text:$tmp/$one.text"
    done <<'END'
allgather for i in all { multicast(i; all; block i) }
allgatherv machine(ring=1, stripe=1) for i in all { multicast(i; 0; block i) } fence multicast(0; others)
allreduce for i in all { reduction(all; i; block i; op) } fence for i in all { multicast(i; all; block i) }
bcast multicast(root; others)
reduce for i in all { reduction(all; i; block i; op) } fence for i in all { multicast(i; root; block i) }
reduce_scatter for i in all { reduction(all; i; block i; op) }
reduce_scatter_block reduction(all; p-1; op) fence for i in all { multicast(p-1; i; block i) }
gather for i in all { multicast(i; root; block i) }
scatter for i in all { multicast(root; i; block i) }
alltoall for i in all { for j in all { multicast(i; j; block j -> block i) } }
END
}

random_calls() {
    local calls=300 n chunk topology row texts=
    local -n topologies=topologies_$kin

    [ "$family" = openmpi ] || calls=100
    [ "$quick" -eq 0 ] || calls=$((calls / 3))
    rerouted 1 $calls
    rerouted 2 $calls
    rerouted 4 $calls COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_CHUNK_BYTES=100
    rerouted 4 $calls COLLSHIM_TOPOLOGY='node:2 rank:3,1' COLLSHIM_CHUNK_BYTES=100 COLLSHIM_ALGORITHM="$leaders"
    write_texts
    rerouted 4 $calls COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_CHUNK_BYTES=100 COLLSHIM_ALGORITHM="$texts"
    [ "$quick" -eq 0 ] || return 0
    for row in "${topologies[@]}"; do
        read -r n chunk topology <<<"$row"
        rerouted "$n" $calls COLLSHIM_TOPOLOGY="$topology" COLLSHIM_CHUNK_BYTES="$chunk"
    done
}

# MODE=verify compares every call and finds no difference; ab takes both ways.
random_calls_both_ways() {
    local n=4 calls=200 collective

    [ "$family" = openmpi ] || { n=3; calls=80; }
    differential $n $calls alike COLLSHIM_MODE=verify
    want_rerouted
    want_counted .verified_equal
    want_number allgather .verified_different -eq 0
    want_number allgatherv .verified_different -eq 0
    finish

    differential $n $calls alike COLLSHIM_MODE=ab
    for collective in allgather allgatherv; do
        want_number $collective .rerouted -gt 0
        want_number $collective '.native["the native turn of COLLSHIM_MODE=ab"]' -gt 0
        want_number $collective '(.rerouted + .native["the native turn of COLLSHIM_MODE=ab"])' \
            -eq "$(expected $collective)"
    done
    finish
}

# program NAME N CLAIM [ARGUMENT...]
program() {
    quiet "$3" "$2" COLLSHIM_TOPOLOGY="${topology:-}" -- "$programs/$1" SEED "${@:4}"
}

brief() {
    quiet "$4" 4 COLLSHIM_MIN_BYTES=65536 COLLSHIM_TEST_SHARE=2 -- "$programs/brief" SEED "${@:1:3}" "${@:5}"
}
want_unpaid() { # want_unpaid OPERATOR N: so many calls, of all ranks together, came before their ranks met
    want_number allreduce '.native["the calls so far have not paid for setting up"]' "$@"
}

one_thing_each() {
    local topology given one what mode

    program oddtypes 3 "datatypes of unusual making"
    want_rerouted
    finish

    topology='node:2 rank:2' program traffic 4 "the application's own messages on the same communicator"
    want_rerouted
    finish

    program errors 2 "wrong calls get the library's own answer, and the communicator lives on"
    want_number allgather .rerouted -ge "$(expected allgather)"
    finish
    for mode in ab verify; do
        right "wrong calls with COLLSHIM_MODE=$mode: the error handler runs once" 2 COLLSHIM_MODE=$mode -- "$programs/errors"
        finish
    done

    # All calls rerouted that can be, ranks compared; and as a program has it.
    for given in 'COLLSHIM_TEST_COMPARE_SIZES=1 COLLSHIM_CHOOSE=always' 'COLLSHIM_MIN_BYTES= COLLSHIM_TEST_SHARE= COLLSHIM_TEST_COMPARE_SIZES='; do
        for one in ignored made; do
            if [ "$family,$one" = abi,ignored ]; then
                skip "$one, $given" "MPICH 5 crashes in it by itself"
                continue
            fi
            # shellcheck disable=SC2086 # words are meant
            quiet "$one: what MPI ignores, and types of every constructor, $given" 3 $given -- "$programs/$one" SEED
            finish
        done
    done

    program handler 2 "one rank's error handler calls a collective"
    want_rerouted
    finish
    for what in jumps calls; do
        for mode in ab verify; do
            if [ "$family" = abi ]; then
                skip "COLLSHIM_MODE=$mode: one rank's error handler $what" "MPICH 5 hangs in it by itself"
                continue
            fi
            right "COLLSHIM_MODE=$mode: one rank's error handler $what, among many calls" 2 COLLSHIM_MODE=$mode -- \
                "$programs/handler" SEED $what 60
            want_number bcast .rerouted -gt 0
            finish
        done
    done

    program crowd 2 "more communicators at once than a library has twice; of those made later, some are rerouted"
    want_number allgather .rerouted -gt 150
    want_number allgather '(.rerouted + .native["too many communicators at once are rerouted already"])' \
        -eq "$(expected allgather)"
    finish

    # brief COMMUNICATORS CALLS BYTES CLAIM: 4 ranks, of whom the odd ones have more communicators (test/mpi/brief.c)
    brief 40 5 200000 "communicators of less than 16 MiB are the library's, and one that lives for long is not"
    want_unpaid -ge $((4 * 44 * 5))
    want_number allreduce '.native["the library\u0027s turn in a trial of the guard"]' -gt 0
    finish
    brief 20 20 1048576 "communicators of 20 calls of a MiB: the first 16 MiB are the library's"
    want_unpaid -ge $((4 * 24 * 16))
    finish

    # On one rank all goes to the library; more communicators than MPICH has room for.
    local loops=400
    [ "$family" = openmpi ] || loops=2600
    program attributes 2 "$loops communicators come and go, callbacks run as often as without" $loops
    want_rerouted
    finish
}

# wrong_on_one_rank CLAIM N [NAME=VALUE...] -- ARGUMENT...: a whole test of `refused`
wrong_on_one_rank() {
    local n=$2 given=()

    begin "$1"
    shift 2
    while [ "$1" != -- ]; do
        given+=("$1")
        shift
    done
    launch "$n" "${given[@]}" -- "$programs/refused" "$seed" "${@:2}"
    want_right
    want_lines
    finish
}

# Open MPI's own calls of unlike sizes end on two ranks only, MPICH 4's on three only, MPICH 5's never.
unlike_calls() {
    local n=3 topology shm collective direct=
    [ "$kin" = mpich ] || n=2

    wrong_on_one_rank "what the library refuses on one rank, in default settings" 3 COLLSHIM_MIN_BYTES= COLLSHIM_TEST_SHARE= -- alone
    wrong_on_one_rank "what the library refuses on one rank, all rerouted" 3 -- alone
    wrong_on_one_rank "what the library refuses on one rank, sizes compared" 3 COLLSHIM_TEST_COMPARE_SIZES=1 -- alone
    if [ "$family" = abi ]; then
        skip "ranks whose sizes differ get the library's own answer" "it has none: its ranks wait for ever"
    else
        wrong_on_one_rank "ranks whose sizes differ get the library's own answer" $n COLLSHIM_TEST_COMPARE_SIZES=1 -- lengths
        wrong_on_one_rank "ranks whose operations differ return" 2 COLLSHIM_TEST_COMPARE_SIZES=1 COLLSHIM_CHOOSE=always -- operations
        wrong_on_one_rank "sizes on both sides of COLLSHIM_MIN_BYTES get the library's own answer" $n COLLSHIM_MIN_BYTES= \
            COLLSHIM_TEST_SHARE= -- beside
    fi
    for collective in allgather allreduce bcast gather scatter alltoall; do
        direct+=,$collective=linear
    done
    for topology in node:1 node:3; do
        for shm in on copy; do
            [ "$topology $shm" != "node:3 copy" ] || continue
            wrong_on_one_rank "messages of unequal length, $topology, COLLSHIM_TEST_SHM=$shm" 3 COLLSHIM_TEST_SHM=$shm \
                COLLSHIM_ALGORITHM="${direct#,}" COLLSHIM_CHUNK_BYTES=1MiB \
                COLLSHIM_TOPOLOGY="$([ $topology = node:1 ] && echo node:1 rank:3 || echo $topology)" -- unequal 50000
        done
    done
    differential 3 100 mixed COLLSHIM_TEST_COMPARE_SIZES=1
    want_rerouted
    finish
}

# Calls that are counted, where communicators are made meanwhile: Open MPI lets ours wait then (numbering.h).
counted_while() {
    local reason='first seen while the program may have been making a communicator'
    [ "$kin,$1" = openmpi,fresh ] && echo ".rerouted + (.native[\"$reason\"] // 0)" || echo .rerouted
}

threads() {
    local n=2 rounds=20 how
    [ "$family" = openmpi ] || rounds=5
    [ "$quick" -eq 0 ] || rounds=3

    for how in steady fresh; do
        quiet "four threads with a communicator each, $how ones" $n -- "$programs/threads" SEED $rounds $how
        want_every "$(counted_while $how)" allgather allgatherv
        finish
    done
}

overlapping() {
    local n=3 calls=60 collective
    local claim="threads whose communicators share some ranks"
    [ "$quick" -eq 0 ] || calls=20

    quiet "$claim" $n COLLSHIM_TOPOLOGY='node:2 rank:2,1' -- "$programs/overlap" SEED $calls
    for collective in allgather allgatherv allreduce reduce reduce_scatter reduce_scatter_block bcast gather gatherv \
        scatter scatterv alltoall alltoallv; do
        want_number $collective "$(counted_while fresh)" -ge "$(expected $collective)"
        want_number $collective .rerouted -gt 0
    done
    finish
}

# Open MPI copies twice between what it takes for nodes, which takes a minute; so its two ranks share one.
more_than_an_int() {
    local -A settings_of=([openmpi]='node:1 rank:2' [mpich]='node:2 rank:1')
    local claim="messages of more than 2 GiB" collective

    quiet "$claim" 2 COLLSHIM_CHOOSE=always COLLSHIM_CHUNK_BYTES=4MiB COLLSHIM_TOPOLOGY="${settings_of[$kin]}" -- \
        "$programs/huge" SEED
    for collective in allgather allreduce bcast alltoallv; do
        want_number $collective .rerouted -ge 2
    done
    finish
}

# Where memory is not shared, and in the chunks that collshim chooses.
more_than_32_bits() {
    quiet "a message of more than 4 GiB without shared memory" 2 COLLSHIM_CHOOSE=always COLLSHIM_TEST_SHM=off -- \
        "$programs/longer" SEED
    want_number bcast .rerouted -eq 6 # of both ranks, with the two small ones of every program
    finish
}

fortran_bindings() {
    local binding
    for binding in mpif_h mpi mpi_f08; do
        if [ ! -x "$fortran/gather_$binding" ]; then
            skip "Fortran, $binding" "$lacks_fortran"
            continue
        fi
        quiet "Fortran, $binding" 3 COLLSHIM_TOPOLOGY='node:2 rank:2,1' -- "$fortran/gather_$binding"
        want_rerouted
        want_number gather .rerouted -eq "$(expected gather)"
        want_number alltoall .rerouted -eq "$(expected alltoall)"
        want_number alltoallv .rerouted -eq "$(expected alltoallv)"
        finish
    done
}

cases_results() {
    random_calls
    random_calls_both_ways
    one_thing_each
    unlike_calls
    threads
    overlapping
    [ "$quick" -ne 0 ] || { more_than_an_int; more_than_32_bits; }
    fortran_bindings
}
