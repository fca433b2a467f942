# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Reductions and Bcast: random calls that check themselves, and rerouted ones are counted exactly.

reduction_collectives=(allreduce reduce reduce_scatter reduce_scatter_block scan exscan bcast)

# reductions N CALLS HOW [NAME=VALUE...]: a whole test
reductions() {
    local n=$1 calls=$2 how=$3
    shift 3
    begin "$calls random reductions and broadcasts on $n ranks, $how${*:+, $*}"
    launch "$n" "$@" -- "$programs/reductions" "$seed" "$calls" "$how"
    want_random_calls "${reduction_collectives[@]}"
    finish
}

# How to call the program where the library serves its calls. MPICH 5.0.2's own sums change bits from call to call.
native_how() {
    if [ "$family" = abi ]; then echo measured; else echo alike; fi
}

# Without a reroute the program must say the same: else it, or the library, is what is wrong.
reductions_natively() {
    quiet "$2 random reductions and broadcasts on $1 ranks, the library's own" "$1" COLLSHIM_MODE=off -- \
        "$programs/reductions" SEED "$2" "$(native_how)"
    finish
}

# want_sum FIELD: more than 0, over all collectives; few random calls may not make a trial
want_sum() {
    [ "$(jq "[.collectives[] | $1 // 0] | add > 0" "$tmp/report.json" 2>&1)" = true ] ||
        complain "report: the sum of all $1 is 0"
}

# All settings as they are by default, but for the size: the guard tries both ways, call by call.
reductions_measured() {
    quiet "$2 random reductions and broadcasts on $1 ranks, under the guard" "$1" COLLSHIM_MIN_BYTES=1 \
        COLLSHIM_TOPOLOGY="$3" -- "$programs/reductions" SEED "$2" measured
    if [ "$(report allreduce .algorithm)" != native ]; then
        want_sum .rerouted
        want_sum '.native["the library\u0027s turn in a trial of the guard"]'
    fi
    finish

    quiet "$2 random reductions and broadcasts on $1 ranks, COLLSHIM_CHOOSE=model: bits do not change" "$1" \
        COLLSHIM_MIN_BYTES=1 COLLSHIM_CHOOSE=model COLLSHIM_TOPOLOGY="$3" -- "$programs/reductions" SEED "$2" alike
    finish
}

fortran_types() {
    if [ ! -x "$fortran/reduce_types" ]; then
        skip "Fortran's types" "$lacks_fortran"
        return
    fi
    quiet "Allreduce of Fortran's types, by name and by size" 3 COLLSHIM_TOPOLOGY='node:2 rank:2,1' -- \
        "$fortran/reduce_types"
    want_number allreduce .rerouted -eq "$(expected allreduce)"
    finish
}

# types [NAME=VALUE...]: each with each operation
every_type() {
    local collective
    quiet "every type with every operation${*:+, $*}" 3 COLLSHIM_TOPOLOGY='node:2 rank:2,1' "$@" -- "$programs/types"
    for collective in allreduce reduce_scatter_block scan exscan; do
        want_number $collective .rerouted -eq "$(expected $collective)"
        if [[ " $* " = *" COLLSHIM_MODE=verify "* ]]; then
            want_number $collective .verified_equal -eq "$(expected $collective)"
            want_number $collective .verified_different -eq 0
        fi
    done
    finish
}

want_uneven_native() {
    [[ $out != *'saturates in vectors alone'* ]] ||
        want_sum '.native["the library\u0027s results depend on where an element lies in the vector"]'
}

# A program sees one arithmetic in native and rerouted calls; some libraries serve sums of narrow integers
# alone.
one_arithmetic() {
    quiet "equal calls give equal results, under the guard" 2 COLLSHIM_MIN_BYTES=65536 -- "$programs/steady"
    want_sum .rerouted
    want_sum '.native["the library\u0027s turn in a trial of the guard"]'
    want_uneven_native
    finish

    quiet "equal calls give equal results, native and rerouted in turns" 2 COLLSHIM_MODE=ab COLLSHIM_MIN_BYTES=65536 -- \
        "$programs/steady" 0 6
    want_sum .rerouted
    want_sum '.native["the native turn of COLLSHIM_MODE=ab"]'
    want_uneven_native
    finish

    quiet "calls whose results depend on the arithmetic, COLLSHIM_MODE=verify" 2 COLLSHIM_MODE=verify \
        COLLSHIM_TOPOLOGY='node:2' -- "$programs/steady" 0 3
    want_sum .verified_equal
    want_number allreduce .verified_different -eq 0
    finish

    [ "$family" = openmpi ] || return 0
    begin "the last rank's library has no vectors"
    launch_apart 2 COLLSHIM_TOPOLOGY='node:2' -- OMPI_MCA_op=^avx COLLSHIM_TOPOLOGY='node:2' -- "$programs/steady" 0 3
    want_right
    want_lines
    want_sum .rerouted
    want_uneven_native
    finish
}

# Ranks, chunk and topology.
reductions_openmpi=('3 0' '5 100 place:0,1,0,2,1' '4 0 node:3 rank:2,1,1'
    '4 100 node:2 gpu:2 place:cyclic')
reductions_mpich=('3 100 node:2 rank:2,1')

# kept_memory_is ALGORITHM [NAME=VALUE...]: sets faults and resident
kept_memory_is() {
    launch 4 COLLSHIM_ALGORITHM=reduce="$1" COLLSHIM_TOPOLOGY='node:2 rank:2' "${@:2}" -- "$programs/kept" "$seed" 72
    want_right
    want_lines
    want_number reduce .rerouted -gt 0
    faults=unknown resident=unknown
    [[ ! $out =~ faults=([0-9]+)\ resident=([0-9]+) ]] || faults=${BASH_REMATCH[1]} resident=${BASH_REMATCH[2]}
}

# Without kept memory four such calls cost 37,000 page faults; libraries cost some 1,000 beside us. Where pages are huge
# there are few faults in any case, so memory tells whether it is kept: 36 MiB of three ranks.
kept_memory() {
    local algorithm kept faults resident
    for algorithm in lane compose; do
        begin "large calls that come again take no memory of the system, reduce=$algorithm"
        kept_memory_is "$algorithm"
        [ "$faults" -le 4000 ] 2>/dev/null || complain "$faults page faults, wanted at most 4000"
        kept=$resident
        kept_memory_is "$algorithm" COLLSHIM_KEPT_BYTES=0
        [ "$kept" -ge $((resident + 50)) ] 2>/dev/null ||
            complain "resident: $kept MiB, and $resident with COLLSHIM_KEPT_BYTES=0"
        finish
    done
}

cases_reductions() {
    local calls=300 row n chunk topology
    local -n rows=reductions_$kin

    [ "$family" = openmpi ] || calls=100
    [ "$quick" -eq 0 ] || calls=$((calls / 3))
    reductions_natively 4 $((calls / 2))
    reductions 4 $calls mixed COLLSHIM_TOPOLOGY='node:2 gpu:2' COLLSHIM_CHUNK_BYTES=100
    reductions 4 $calls "$(native_how)" COLLSHIM_TOPOLOGY='node:2 gpu:2' COLLSHIM_MODE=verify
    reductions_measured 4 $((calls + 150)) 'node:2 gpu:2'
    reductions 2 $((calls / 4)) threads
    fortran_types
    every_type
    every_type COLLSHIM_MODE=verify
    one_arithmetic
    kept_memory
    if [ "$quick" -eq 0 ]; then
        for row in "${rows[@]}"; do
            read -r n chunk topology <<<"$row"
            reductions "$n" $calls mixed COLLSHIM_TOPOLOGY="$topology" COLLSHIM_CHUNK_BYTES="$chunk"
        done
    fi
}
