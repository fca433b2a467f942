# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Events around the calls: modes, ways to start and to end, later processes, other tools.

modes() {
    local mode
    quiet "COLLSHIM_MODE=off: nothing is rerouted, no report, no line" 3 COLLSHIM_MODE=off -- "$programs/ordinary"
    want_no_report
    finish

    for mode in on verify; do
        quiet "MPI_Init_thread, COLLSHIM_MODE=$mode" 3 COLLSHIM_MODE=$mode -- "$programs/ordinary" 1 thread
        want_rerouted
        finish
    done

    begin "LD_PRELOAD in front of the launcher too"
    settle COLLSHIM_REPORT="$tmp/report.json"
    run=("$programs/ordinary")
    new_command
    add_ranks 2
    command=(env "${settled[@]}" "${command[@]}")
    capture
    want_right
    want_lines
    want_rerouted
    finish
}

# No hang, and no line of ours; what the launcher makes of such an end is its own affair.
ends() {
    begin "a program that never calls MPI_Finalize"
    launch 3 -- "$programs/ordinary" 1 no-finalize
    grep -q ': right on ' <<<"$out" || complain "the program does not say that its results are right"
    want_lines
    want_no_last_report
    finish

    begin "a program that calls MPI_Abort while others wait"
    launch 3 -- "$programs/ordinary" 1 abort
    [ "$rc" -ne 0 ] || complain "exit status 0"
    want_lines
    want_no_last_report
    finish
}

# Code of the program that runs while a communicator or the job ends.
endings() {
    local what least
    for what in freed last receive; do
        for least in 0 64KiB; do
            [ "$what,$least" != receive,64KiB ] || continue
            right "calls while something ends: $what, COLLSHIM_MIN_BYTES=$least" 3 COLLSHIM_MIN_BYTES=$least \
                COLLSHIM_TEST_COMPARE_SIZES=1 -- "$programs/endings" SEED "$what"
            [ "$least" != 0 ] || want_number allreduce .rerouted -gt 0
            [ "$what" != freed ] ||
                want_number allreduce '.native["in a delete callback of the communicator that is being freed"]' -gt 0
            finish
        done
    done
}

# The claims of docs/mpi.md about what a program may see.
visible() {
    right "communicators come and go: descriptors, threads, signals, open receives" 3 COLLSHIM_CHOOSE=always -- \
        "$programs/visible" SEED
    want_number allreduce .rerouted -gt 0
    want_number bcast .rerouted -gt 0
    finish
}

# Open MPI 4, for whose interface the programs are built, has no sessions, nor has shim/abi/mpi.h.
sessions() {
    [[ $library = mpich || $library = mpich5 ]] || return 0
    right "a session is opened before MPI_Init, to which one rank comes late" 3 -- "$programs/sessions" SEED
    finish
}

later_processes() {
    if [[ $launcher = */mpich5/* ]]; then
        skip "spawned processes, merged" "MPICH 5 hands the variables of -env to the first ranks alone"
        return
    fi
    quiet "spawned processes, merged" 2 COLLSHIM_REPORT="$tmp/report.%p.json" -- "$programs/spawn"
    local file files
    mapfile -t files < <(compgen -G "$tmp/report.*.json")
    [ "${#files[@]}" -eq 2 ] || complain "${#files[@]} reports, wanted one of the parents, one of the children"
    for file in "${files[@]}"; do
        mv "$file" "$tmp/report.json"
        want_number allgather .rerouted -eq 4
        want_number allgather '.native["ranks from another MPI_COMM_WORLD"]' -eq 8
        want_number allgather .native.intercommunicator -eq 2
    done
    finish
}

# Children without the preload, or with other settings: in default settings too, where ranks ask each other
# before they meet. One of them in which every call would be rerouted.
other_children() {
    local how
    local -A children=([bare]="-u LD_PRELOAD" [other]="LD_PRELOAD=$build/libcollshim.so COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=measure")
    for how in bare other; do
        begin "spawned, connected and joined: $how children"
        limit=60 # read by launch
        if [ $how = bare ]; then settings=(COLLSHIM_MIN_BYTES=64KiB); else settings=(COLLSHIM_CHOOSE=always); fi
        # shellcheck disable=SC2086 # words
        launch 2 COLLSHIM_REPORT= -- "$programs/spawn" "$seed" ${children[$how]}
        limit=240
        want_right
        [ "$(grep -c ': right on ' <<<"$out")" -eq 2 ] || complain "not both, parents and children, are right"
        finish
    done
}

# Settings with which each call would be rerouted at once.
duplications() {
    local what reason='first seen while the program may have been making a communicator'
    limit=60 # read by launch
    for what in '' threads; do
        # shellcheck disable=SC2086 # a word or none
        quiet "first calls while a communicator is being duplicated${what:+, by another of the $what}" 3 \
            COLLSHIM_CHOOSE=always -- "$programs/duplicate" SEED $what
        if [ "$kin" = openmpi ]; then # MPICH makes several at a time
            want_number allreduce ".native[\"$reason\"]" -gt 0
        else
            want_number allreduce ".native[\"$reason\"] // 0" -eq 0
        fi
        [ "$kin,$what" = openmpi, ] || want_number allreduce .rerouted -gt 0
        finish
    done
    limit=240
}

# A profiling tool sees the application's calls as it does without us, in either order, and we see
# them too; it sees none of ours.
tools() {
    local alone order
    begin "a profiling tool can be built"
    $compiler -O1 -shared -fPIC -o "$tmp/tool.so" "$here/tool/tool.c" 2>"$tmp/stderr" ||
        complain "$(<"$tmp/stderr")"
    finish

    begin "a profiling tool by itself"
    preload=$tmp/tool.so
    launch 2 -- "$programs/ordinary" 1
    want_right
    alone=$(grep '^tool:' <<<"$err" | sort)
    [ "$(grep -c . <<<"$alone")" -eq 2 ] || complain "it did not report on both ranks"
    finish

    for order in before after; do
        begin "a profiling tool preloaded $order collshim counts the same"
        preload=$build/libcollshim.so:$tmp/tool.so
        [ $order = after ] || preload=$tmp/tool.so:$build/libcollshim.so
        launch 2 COLLSHIM_TOPOLOGY=node:2 -- "$programs/ordinary" 1
        want_right
        want_lines
        want_rerouted
        [ "$(grep '^tool:' <<<"$err" | sort)" = "$alone" ] || complain "by itself it counts: $alone"
        finish
    done
}

# Ranks of a node: by reading each other's memory, by copying, and not sharing any.
shared_memory() {
    local how linear=linear collective
    for collective in allgather allgatherv allreduce reduce reduce_scatter reduce_scatter_block bcast; do
        linear+=,$collective=linear
    done
    linear=${linear#*,}
    for how in on copy off; do
        quiet "a large send under way while a rank waits in a collective, COLLSHIM_TEST_SHM=$how" 3 COLLSHIM_TEST_SHM=$how \
            OMPI_MCA_btl_vader_single_copy_mechanism=none -- "$programs/pending"
        want_number allgather .rerouted -eq "$(expected allgather)"
        finish
    done
    for how in on copy; do
        rerouted 3 60 COLLSHIM_ALGORITHM="$linear" COLLSHIM_TEST_SHM=$how
        rerouted 4 60 COLLSHIM_TOPOLOGY='node:2 gpu:2' COLLSHIM_TEST_SHM=$how COLLSHIM_CHUNK_BYTES=1000
        reductions 3 100 mixed COLLSHIM_ALGORITHM="$linear" COLLSHIM_TEST_SHM=$how
    done
    right "COLLSHIM_LOG=info says how the ranks of a node reach each other" 3 COLLSHIM_LOG=info COLLSHIM_TEST_SHM=copy -- \
        "$programs/ordinary"
    grep -q '^collshim: 3 ranks of a node share memory, two copies: .*(COLLSHIM_TEST_SHM)' <<<"$err" ||
        complain "it does not say so"
    finish
}

# Ranks hear each other on the stack or, if they are many, in memory (shim/mpi/comm/comm_setup.c). Once is enough.
many() {
    [ "$family" = openmpi ] || return 0
    quiet "more ranks than are heard on the stack" 33 -- "$programs/ordinary"
    want_rerouted
    finish
}

cases_process() {
    shared_memory
    many
    modes
    ends
    endings
    visible
    sessions
    later_processes
    other_children
    duplications
    tools
}
