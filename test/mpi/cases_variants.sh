# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The library's own algorithms (planners/variants.def): each that this library has, named by
# COLLSHIM_ALGORITHM, serves all calls that could be rerouted, and rightly. It is the named algorithm, since
# sums have the bits that the library's own flag gives.

declare -A variant_table=([openmpi]=OPENMPI [mpich]=MPICH)

# each_variant COLLECTIVE-PATTERN: lines "collective name" of the table for this library
each_variant() {
    sed -nE "s/^VARIANT\(${variant_table[$kin]}, ([A-Z_]+), \"([a-z_-]+)\".*/\1 \2/p" "$root/planners/variants.def" |
        tr '[:upper:]' '[:lower:]' | grep -E "^($1) "
}

# variants_right N PROGRAM HOW CALLS COLLECTIVE=NAME...: a job in which each of the collectives has that algorithm
variants_right() {
    local n=$1 program=$2 how=$3 calls=$4 pair chosen there=()
    shift 4
    begin "by the library's own, $calls random calls on $n ranks: $*"
    chosen=${*/=/=native:}
    launch "$n" COLLSHIM_ALGORITHM="${chosen// /,}" -- "$programs/$program" "$seed" "$calls" "$how"
    if grep -q "cannot be told to use" <<<"$err"; then
        for pair in "$@"; do
            if grep -qF "${pair/=/=native:}: this library cannot be told to use" <<<"$err"; then
                skip "$name: $pair" "this version does not have it"
            else
                there+=("$pair")
            fi
        done
        [ ${#there[@]} -eq 0 ] || [ ${#there[@]} -eq $# ] || variants_right "$n" "$program" "$how" "$calls" "${there[@]}"
        [ ${#there[@]} -lt $# ] || complain "a line says that an algorithm is not there, and not which"
        [ ${#there[@]} -lt $# ] || finish
        return
    fi
    want_right
    want_lines
    for pair in "$@"; do
        want_number "${pair%=*}" ".algorithms[\"native:${pair#*=}\"]" -eq "$(report "${pair%=*}" .rerouted)"
        [ "$(expected "${pair%=*}")" = 0 ] || want_number "${pair%=*}" .rerouted -gt 0
    done
    finish
}

# variants_of PROGRAM HOW COLLECTIVE...: all algorithms of these collectives, of each one in a job; on 4 and 5
# ranks in turn, with another seed the other way round.
variants_of() {
    local program=$1 how=$2 collective at=0 n=$((4 + first_seed % 2)) pairs names
    shift 2
    while :; do
        pairs=()
        for collective in "$@"; do
            mapfile -t names < <(each_variant "$collective" | cut -d ' ' -f 2)
            [ "$at" -ge "${#names[@]}" ] || pairs+=("$collective=${names[at]}")
        done
        [ ${#pairs[@]} -gt 0 ] || return 0
        variants_right "$n" "$program" "$how" 80 "${pairs[@]}"
        n=$((9 - n)) at=$((at + 1))
    done
}

# native_bits RANKS NAME NUMBER: sets `bits`, as the library's own flag gives them, without collshim
native_bits() {
    local flag=()
    run=("$programs/variants" 7)
    new_command
    case $kin in
        openmpi) flag=(--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm "$3") ;;
        mpich) # and the device must not pass by it
            flag=(-genv MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM "$2" -genv MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE 0
                ${yielding[$kin]:+-genv LD_PRELOAD "${yielding[$kin]}"}) ;;
    esac
    command+=("${flag[@]}" -n "$1" "${run[@]}")
    capture
    bits=$(grep -o 'bits [0-9a-f]*' <<<"$out" || true)
}

variant_bits() {
    local n=$1 pair bits seen=
    shift
    for pair in "$@"; do
        begin "Allreduce by native:${pair%=*} has the bits of the library's own flag"
        settings=("${pair%=*}")
        native_bits "$n" "${pair%=*}" "${pair#*=}"
        [ -n "$bits" ] || complain "the library's own run printed no bits"
        launch "$n" COLLSHIM_ALGORITHM="allreduce=native:${pair%=*}" -- "$programs/variants" 7
        want_right
        want_lines
        want_number allreduce .rerouted -eq $((24 * n))
        grep -qF "$bits" <<<"$out" || complain "wanted $bits"
        [[ $seen != *"$bits"* ]] || complain "another algorithm gives the same bits: this says nothing"
        seen+=" $bits"
        finish
    done
}

# left_alone NAME CALLS REASON LINE... -- HOW [NAME=VALUE...]: all Allreduces run natively
left_alone() {
    local why=$3 lines=() what=$1 wanted=$2 how
    shift 3
    while [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    how=$2
    begin "$what"
    launch 4 COLLSHIM_ALGORITHM="allreduce=native:recursive_doubling" "${@:3}" -- "$programs/variants" 7 "$how"
    if [ "$rc" -eq 77 ]; then
        skip "$name" "${out#variants: }"
        return
    fi
    want_right
    want_lines "${lines[@]}"
    want_number allreduce .rerouted -eq 0
    want_number allreduce ".native[\"$why\"]" -eq $((wanted * 4))
    finish
}

# Below COLLSHIM_MIN_BYTES: 200 calls of a communicator are the library's; then the guard tries its algorithms.
small_calls() {
    begin "small calls: the guard tries the library's own algorithms, after 2000"
    launch 4 COLLSHIM_MIN_BYTES=65536 -- "$programs/variants" 7 small
    want_right
    want_lines
    want_number allreduce '.native["smaller than COLLSHIM_MIN_BYTES"]' -eq $((4 * 2006))
    want_number allreduce '.native["the library\u0027s turn in a trial of the guard"]' -gt 0
    want_number allreduce '.algorithms | with_entries(select(.key | startswith("native:"))) | add' -gt 0
    want_number allreduce '.algorithms | with_entries(select(.key | startswith("native:") | not)) | add' -eq 0
    finish

    # Three are tried at first, so more are out of the reserve. MPICH has no more.
    if [[ $kin == openmpi ]]; then
        begin "small calls: in a long job further algorithms come, one at a time"
        launch 4 COLLSHIM_MIN_BYTES=65536 -- "$programs/variants" 7 long
        want_right
        want_lines
        want_number allreduce '.algorithms | keys | map(select(startswith("native:"))) | length' -gt 3
        finish
    fi

    begin "small calls: none is looked at with COLLSHIM_CHOOSE=model"
    launch 4 COLLSHIM_MIN_BYTES=65536 COLLSHIM_CHOOSE=model -- "$programs/variants" 7 small
    want_right
    want_lines
    want_number allreduce '.native["smaller than COLLSHIM_MIN_BYTES"]' -eq $((4 * 2106))
    want_number allreduce .rerouted -eq 0
    finish
}

# Calls like earlier ones go the same way, also where some ranks have types that must be asked about.
calls_again() {
    local collective
    begin "small calls: again and again, a few kinds of calls in random order"
    launch 4 COLLSHIM_MIN_BYTES=65536 -- "$programs/again" "$seed"
    want_right
    want_lines
    for collective in allreduce alltoall gather; do
        [ "$(expected "$collective")" -eq 0 ] ||
            want_number "$collective" '.rerouted + ([.native[]] | add)' -eq $((4 * $(expected "$collective")))
    done
    want_number allreduce '.native["the guard measured that the library is at least as fast"] + .rerouted' -gt 0
    finish
}

# The guard looks at the same calls on all ranks, though some ranks ask at each call and others at few.
counts_passed() {
    begin "small calls: those that pass unasked count, with a report and without"
    for where in "$tmp/report.json" ""; do
        launch 4 COLLSHIM_MIN_BYTES=65536 COLLSHIM_REPORT="$where" -- "$programs/again" "$seed" 0
        want_right
    done
    finish
}

cases_variants() {
    local cannot="the library cannot be told to use that algorithm here"
    local line="COLLSHIM_ALGORITHM: allreduce=native:recursive_doubling: this library cannot be told to use that here; it can use: *"
    local sums=mixed
    [[ $family != abi ]] || sums=$(native_how)
    variants_of differential mixed allgather allgatherv
    variants_of reductions "$sums" allreduce reduce reduce_scatter reduce_scatter_block bcast scan exscan
    variants_of rooted mixed gather scatter alltoall
    variants_of again mixed alltoall
    variants_of exchange mixed alltoallv alltoallw gatherv scatterv
    case $kin in
        openmpi) variant_bits 4 basic_linear=1 recursive_doubling=3 ring=4 ;;
        mpich) variant_bits 5 recursive_doubling=0 smp=0 ;;
    esac
    small_calls
    calls_again
    counts_passed
    left_alone "no variants under MPI_THREAD_MULTIPLE" 24 "$cannot" "$line" -- multiple
    begin "a variant that does not exist"
    launch 4 COLLSHIM_ALGORITHM=allreduce=native:rings -- "$programs/variants" 7
    want_right
    want_lines "COLLSHIM_ALGORITHM: allreduce=native:rings: this library cannot be told to use that here; it can use: *recursive_doubling* (allreduce runs natively)"
    want_number allreduce .rerouted -eq 0
    finish
    case $kin in
        openmpi)
            left_alone "a variable that the site has set" 24 "$cannot" "$line" -- - OMPI_MCA_coll_tuned_use_dynamic_rules=1 \
                OMPI_MCA_coll_tuned_allreduce_algorithm=4
            left_alone "no variants while a communicator is being made" 24 "$cannot" -- idup
            ;;
        mpich)
            left_alone "a variable that the site has set" 24 "$cannot" "$line" -- - MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=smp
            ;;
    esac
}
