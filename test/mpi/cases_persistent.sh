# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Persistent collectives: random ones, started in any order; what may happen to their requests and communicators.
# Counts as in cases_nonblocking.sh: a start of a rerouted request is a nonblocking call.

# persistent N ROUNDS [NAME=VALUE...]: a whole test
persistent() {
    local n=$1 rounds=$2 natively=()
    shift 2
    progresses || natively=(native)
    case " $* " in *_MODE=* | *_NONBLOCKING=0*) natively=(native) ;; esac
    begin "$rounds rounds of persistent calls on $n ranks${*:+, $*}"
    if [ "$library" = mpich ] && [ "${natively[*]}" ]; then
        skip "$name" "MPICH 4.0.2 hangs in them by itself"
        return
    fi
    launch "$n" "$@" -- "$programs/persistent" "$seed" "$rounds" "${natively[@]}"
    want_right
    want_lines
    case " $* " in
        *_MODE=off* | *_MODE=ab*) ;;
        *_NONBLOCKING=0*) want_started 'nonblocking, and the settings leave such calls to the library' ;;
        *) want_started ;; # of `native` ones: the nonblocking calls beside
    esac
    finish
}

# persistent_edge WHAT CLAIM [NAME=VALUE...]: a whole test
persistent_edge() {
    local what=$1 claim=$2
    shift 2
    quiet "persistent: $claim${*:+, $*}" 3 "$@" -- "$programs/persistent_edges" "$what"
    if [ "$what" = threads ] && [ "$library" = mpich5 ]; then
        want_number allreduce .rerouted_nonblocking -eq 0 # shim/mpi/api/progress.c says why
    else
        want_started
    fi
    finish
}

# Requests follow what the guard found for blocking calls, of which there are too few here.
persistent_follows_the_guard() {
    begin "persistent calls that the guard has not judged are the library's"
    launch 3 COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=measure -- "$programs/persistent_edges" cancel
    want_number allreduce .rerouted_nonblocking -eq 0
    finish
}

persistent_null() {
    right "persistent: a request without a place is the library's error" 3 -- "$programs/persistent_edges" null
    finish
}

# The reserve serves it.
persistent_lacks_memory() {
    local collective
    quiet "persistent: a rank lacks memory when a request is made" 3 -- "$programs/persistent_edges" short
    for collective in allgatherv gatherv alltoallv; do
        want_number $collective .rerouted_nonblocking -ge 3
        want_number $collective '.native["a rank could not get it ready"]' -eq 0
    done
    finish
}

persistent_types() {
    quiet "persistent: blocks of different types on one rank" 3 -- "$programs/persistent_edges" types
    want_started
    finish
}

# inert WHAT CLAIM: a whole test
inert() {
    quiet "$2 run as ever" 3 -- "$programs/inert" "$1"
    finish
}

cases_persistent() {
    local rounds=80

    [ "$quick" = 0 ] || rounds=25
    persistent 4 $rounds
    persistent 3 $rounds COLLSHIM_TEST_SHM=off 'COLLSHIM_TOPOLOGY=node:2 rank:2,1'
    [ "$quick" = 1 ] || persistent 5 $rounds COLLSHIM_TEST_SHM=copy 'COLLSHIM_TOPOLOGY=node:2 rank:3,2 rail:2'
    persistent 3 20 COLLSHIM_MODE=off
    persistent 3 20 COLLSHIM_MODE=verify
    persistent 3 20 COLLSHIM_NONBLOCKING=0
    # Open MPI writes to any place, NULL included.
    [ "$kin" = openmpi ] || persistent_null
    inert session 'sessions'
    inert partitioned 'partitioned messages'
    progresses || return 0
    persistent_edge many "more requests than there are channels"
    persistent_edge freed "a communicator is freed while its request lives"
    persistent_edge finalize "requests live at MPI_Finalize"
    persistent_edge error "a rank's wrong arguments"
    persistent_edge cancel "MPI_Cancel is an error"
    persistent_edge memory "a start takes no memory"
    persistent_lacks_memory
    persistent_edge threads "two threads with a communicator each"
    started_on_devices persistent
    from_fortran persistent "the bindings of mpif90.$family have none"
    persistent_types
    persistent_follows_the_guard
}
