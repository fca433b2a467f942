# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Nonblocking collectives: random calls in every form of completion; and that they advance in every call
# of the application that waits, under libraries whose progress engine calls us.

no_hook='nonblocking, under a library whose progress engine has no hook'

# Does the library's progress engine call us (shim/mpi/api/progress.c)?
progresses() { [ "$kin" = openmpi ] || [ "$library" = mpich5 ]; }

# started FIELD...: a number of the report, summed over collectives
started() {
    [ -r "$tmp/report.json" ] || { echo 0; return; }
    jq "[.collectives[] | $1 // 0] | add" "$tmp/report.json"
}

# want_started [REASON]: as many nonblocking calls were rerouted as the program says; without a hook, or with a
# REASON for which they are native: none, and as many or more have it
want_started() {
    local want got why=${1-}
    want=$(sed -nE 's/.*to start: nonblocking=([0-9]+).*/\1/p' <<<"$out" | head -n 1)
    progresses || [[ $why = *" the settings "* ]] || why=$no_hook
    got=$(started .rerouted_nonblocking)
    if [ -z "$why" ]; then
        [ "$got" = "${want:-none}" ] ||
            complain "report: ${got:-no} nonblocking calls were rerouted, the program started ${want:-no known number of} such calls"
        return
    fi
    [ "$got" = 0 ] || complain "report: $got nonblocking calls were rerouted, wanted none"
    got=$(started ".native[\"$why\"]")
    [ "${got:-0}" -ge "${want:-1}" ] 2>/dev/null || complain "report: ${got:-no} calls are native because: $why; wanted $want"
}

# nonblocking N ROUNDS [NAME=VALUE...]: a whole test
nonblocking() {
    local n=$1 rounds=$2
    shift 2
    quiet "$rounds rounds of nonblocking calls on $n ranks${*:+, $*}" "$n" "$@" -- "$programs/nonblocking" SEED "$rounds"
    case " $* " in
        *" COLLSHIM_MODE=off "* | *" COLLSHIM_MODE=ab "*) ;;
        *" COLLSHIM_NONBLOCKING=0 "*) want_started 'nonblocking, and the settings leave such calls to the library' ;;
        *) want_started ;;
    esac
    if [[ " $* " = *" COLLSHIM_MODE=verify "* ]] && progresses; then
        [ "$(started .verified_equal)" -ge "$(started .rerouted_nonblocking)" ] ||
            complain "report: not every call was compared"
        [ "$(started .verified_different)" = 0 ] || complain "report: a call differs from the library's"
    fi
    finish
}

# nonblocking_progress WHAT CLAIM [NAME=VALUE...]: a whole test
nonblocking_progress() {
    local what=$1 claim=$2
    shift 2
    right "$claim${*:+, $*}" 3 "$@" -- "$programs/progress" "$what" 400000
    [ "$what" != threads ] || [ "$library" != mpich5 ] || { finish; return; } # natively: progress.c
    want_started
    finish
}

# nonblocking_among: requests of other kinds beside them
nonblocking_among() {
    quiet "nonblocking calls among null, inactive and other requests, in every form of completion" 3 -- "$programs/waits" \
        SEED
    want_started
    finish
}

# The guard judges blocking calls, and nonblocking ones of their size follow it.
nonblocking_follows_the_guard() {
    local all rerouted won lost
    local unjudged='nonblocking, and no schedule of one process has won in blocking calls like it'

    right "under the guard, nonblocking calls that no blocking one came before are native" 3 COLLSHIM_MIN_BYTES=64KiB -- \
        "$programs/progress" silent 400000
    want_started 'nonblocking, and no blocking call on the communicator came before'
    finish

    right "under the guard, nonblocking calls are native before it has judged" 3 COLLSHIM_MIN_BYTES=64KiB -- \
        "$programs/progress" silent 400000 2
    want_started "$unjudged"
    finish

    printf 'allreduce * * linear\n' >"$tmp/nonblocking.profile"
    right "under the guard, nonblocking calls follow the tuning profile before it has judged" 3 COLLSHIM_MIN_BYTES=64KiB \
        "COLLSHIM_PROFILE=$tmp/nonblocking.profile" -- "$programs/progress" silent 400000 2
    want_started
    finish

    progresses || return 0
    right "nonblocking calls follow what the guard has judged" 3 COLLSHIM_MIN_BYTES=64KiB -- "$programs/progress" silent \
        400000 200
    all=$(sed -nE 's/.*to start: nonblocking=([0-9]+).*/\1/p' <<<"$out")
    rerouted=$(started .rerouted_nonblocking)
    won=$(started '([.sizes[]?.guard_rerouted] | add)') # verdicts, of one rank
    lost=$(started '([.sizes[]?.guard_native] | add)')
    if [ "$won" -gt 0 ] && [ "$lost" -gt 0 ]; then
        # A busy machine changed the verdict, and the report does not tell which was the last.
        [[ $rerouted = 0 || $rerouted = "$all" ]] || complain "$rerouted of $all nonblocking calls were rerouted"
    elif [ "$won" -gt 0 ]; then
        [ "$rerouted" = "$all" ] || complain "$rerouted of $all nonblocking calls were rerouted, though that won"
    else
        [ "$rerouted" = 0 ] || complain "$rerouted nonblocking calls were rerouted, though the library won"
    fi
    finish
}

# A library that takes no device memory fails where the calls are its own.
started_on_devices() { # nonblocking|persistent
    begin "$1 calls of buffers on devices and on hosts"
    if [ ! -r "$build/gpusim/libcuda.so.1" ]; then
        skip "$name" "no simulated driver was built"
        return
    fi
    launch 3 "LD_LIBRARY_PATH=$build/gpusim" 'GPUSIM=devices=2 seed=3' -- "$programs/nonblocking_device" "$seed" 8 "$1"
    want_right
    want_started
    finish
}

# Calls whose sizes only some ranks know are started where something uniform is in their favour.
unsized() {
    local what favour want

    printf 'gatherv * * linear\nscatterv * * linear\nalltoallv * * pairwise\n' >"$tmp/unsized.profile"
    for favour in "COLLSHIM_PROFILE=$tmp/unsized.profile" \
        "COLLSHIM_ALGORITHM=gatherv=linear,scatterv=linear,alltoallv=nimble" COLLSHIM_CHOOSE=model; do
        want=-gt
        [ "$favour" != COLLSHIM_CHOOSE=model ] || want=-eq
        quiet "Igatherv, Iscatterv and Ialltoallv with ${favour%%=*}, small and large" 4 COLLSHIM_MIN_BYTES=16KiB \
            COLLSHIM_CHOOSE=always "$favour" -- "$programs/nonblocking" SEED 40
        for what in gatherv scatterv alltoallv; do
            want_number "$what" .rerouted_nonblocking $want 0
        done
        finish
    done
}

# The bench compares the results of all forms. Sizes that only some ranks know follow a blocking call, without a guard.
forms_are_alike() {
    local what

    begin "all forms of all collectives, behind blocking ones, without a guard"
    launch 4 COLLSHIM_CHOOSE=always COLLSHIM_TOPOLOGY='node:2 rank:2 rail:2@100Mbit' -- "$build/collshim-forms-$family" 262144 3
    [ "$rc" -eq 0 ] || complain "exit status $rc, wanted 0"
    [[ $out == *"0 results differ"* ]] || complain "the program does not say that its results are right"
    for what in gatherv scatterv bcast scan alltoall; do
        want_number "$what" .rerouted_nonblocking -gt 0
    done
    finish
}

# started_by_helpers WHAT CLAIM [NAME=VALUE...]: a whole test; the helpers of all ranks carry each nonblocking call
started_by_helpers() {
    local what=$1 claim=$2
    shift 2
    right "$claim, carried by helpers${*:+, $*}" 3 COLLSHIM_TOPOLOGY=node:3 COLLSHIM_PPG=2 "$@" -- "$programs/progress" \
        "$what" 400000 1
    [ "$what" != threads ] || [ "$library" != mpich5 ] || { finish; return; } # natively: progress.c
    want_started
    case $what in
        killed | wrong)
            want_lines "* of * bytes: a rank's helper died; *"
            [ "$(started .sliced_redone)" = 3 ] || complain "$(started .sliced_redone) redone, wanted one call on 3 ranks"
            ;;
        *)
            want_lines
            [ "$(started .sliced)" -ge "$(started .rerouted_nonblocking)" ] || complain "helpers carried $(started .sliced) calls"
            [ "$(started .sliced_redone)" = 0 ] || complain "$(started .sliced_redone) calls were redone"
            ;;
    esac
    [ "$what" != silent ] || [ "$(started .sliced_meanwhile)" -gt 0 ] || complain "no call advanced while its rank made no call"
    want_no_helpers
    finish
}

nonblocking_by_helpers() {
    local what
    quiet "random nonblocking calls, carried by helpers" 4 COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 -- \
        "$programs/nonblocking" SEED 40
    want_started
    for what in allgather allgatherv allreduce reduce_scatter reduce_scatter_block bcast reduce gather scatter alltoall; do
        want_number "$what" .sliced -gt 0
        want_number "$what" .sliced_redone -eq 0
    done
    finish
    nonblocking 4 40 COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_PPG=2 COLLSHIM_TEST_SHM=copy COLLSHIM_MODE=verify
    started_by_helpers silent "a program makes no call between start and wait"
    started_by_helpers silent "a program makes no call between start and wait" COLLSHIM_TEST_SHM=copy
    started_by_helpers waits "a call advances while its rank is in another call that waits"
    started_by_helpers opposite "two communicators in opposite order"
    started_by_helpers threads "threads that wait for what others started"
    started_by_helpers freed "a communicator is freed while its calls are active"
    started_by_helpers finalize "requests are freed while active, and MPI_Finalize follows"
    started_by_helpers killed "a helper is killed: the ranks finish its calls"
    started_by_helpers wrong "a wrong call fails in the wait, and the next ones go on"
}

# from_fortran KIND REASON: nonblocking or persistent calls; the reason is why there may be no program
from_fortran() {
    local binding

    for binding in mpif_h mpi_f08; do
        if [ ! -x "$fortran/$1_$binding" ]; then
            skip "$1 calls from Fortran, $binding" "$2"
            continue
        fi
        right "$1 calls from Fortran, $binding" 3 -- "$fortran/$1_$binding"
        want_started
        finish
    done
}

# The preload with which other people's test suites are run (test/suites/started.c).
blocking_calls_started() {
    local form turn=$tmp/started-$library.so

    $compiler -std=gnu11 -O1 -DLARGE -I"$root" -shared -fPIC -o "$turn" "$root/test/suites/started.c" -ldl
    for form in nonblocking persistent; do
        right "blocking calls of a program, made $form ones behind its back" 3 LD_PRELOAD="$turn:$preload" STARTED=$form \
            -- "$programs/rooted" SEED 60
        want_every .rerouted_nonblocking gather gatherv scatter scatterv alltoall
        finish
    done
}

cases_nonblocking() {
    local rounds=150 large=$((1 - quick))

    [ "$quick" = 0 ] || rounds=40
    # Without a hook all calls are the library's own, and MPICH's ranks wait busily.
    progresses || rounds=15 large=0
    nonblocking 4 $rounds
    nonblocking 3 $rounds COLLSHIM_TEST_SHM=off 'COLLSHIM_TOPOLOGY=node:2 rank:2,1'
    [ "$large" = 0 ] || nonblocking 5 $rounds COLLSHIM_TEST_SHM=copy 'COLLSHIM_TOPOLOGY=node:2 rank:3,2 rail:2'
    [ "$quick" = 1 ] || nonblocking 2 $rounds COLLSHIM_CHUNK_BYTES=4096
    nonblocking 3 $rounds COLLSHIM_MODE=ab
    nonblocking 3 $rounds COLLSHIM_MODE=verify
    nonblocking 3 15 COLLSHIM_NONBLOCKING=0
    nonblocking_among
    nonblocking_progress waits "a call advances while its rank is in another call that waits"
    nonblocking_progress waits "a call advances while its rank is in another call that waits" COLLSHIM_TEST_SHM=off
    nonblocking_progress silent "a program makes no call between start and wait"
    nonblocking_progress opposite "two communicators in opposite order"
    nonblocking_progress many "2000 calls at once"
    nonblocking_progress late "a small blocking call prepares for nonblocking ones" COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=model
    nonblocking_progress cancel "MPI_Cancel of a collective is the library's error"
    nonblocking_progress threads "threads that wait for what others started"
    nonblocking_progress threads "threads that wait for what others started" COLLSHIM_TEST_SHM=off
    # Open MPI 4.1.4 fails in these by itself.
    if progresses; then
        started_on_devices nonblocking
        nonblocking_progress wrong "a wrong call fails in the wait, and the next ones go on"
        nonblocking_progress contradict "sizes that contradict each other fail in the wait, and the next calls go on"
        unsized
        forms_are_alike
        nonblocking_progress freed "a communicator is freed while its calls are active"
        nonblocking_progress finalize "requests are freed while active, and MPI_Finalize follows"
        nonblocking_by_helpers
        blocking_calls_started
    fi
    nonblocking_follows_the_guard
    from_fortran nonblocking "$lacks_fortran"
}
