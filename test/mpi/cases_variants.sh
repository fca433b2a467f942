# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The library's own algorithms (planners/choose/variants.def): each that this library has, named by
# COLLSHIM_ALGORITHM, serves all calls that could be rerouted, and rightly. It is the named algorithm, since
# sums have the bits that the library's own flag gives.

declare -A variant_table=([openmpi]=OPENMPI [mpich]=MPICH)

# each_variant COLLECTIVE-PATTERN: lines "collective name" of the table for this library
each_variant() {
    sed -nE "s/^VARIANT\(${variant_table[$kin]}, ([A-Z_]+), \"([a-z_-]+)\".*/\1 \2/p" "$root/planners/choose/variants.def" |
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
    right "$what" 4 COLLSHIM_ALGORITHM="allreduce=native:recursive_doubling" "${@:3}" -- "$programs/variants" 7 "$how"
    want_lines "${lines[@]}"
    want_number allreduce .rerouted -eq 0
    want_number allreduce ".native[\"$why\"]" -eq $((wanted * 4))
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
    variants_of exchange mixed alltoallv alltoallw gatherv scatterv
    case $kin in
        openmpi) variant_bits 4 basic_linear=1 recursive_doubling=3 ring=4 ;;
        mpich) variant_bits 5 recursive_doubling=0 smp=0 ;;
    esac
    left_alone "no variants under MPI_THREAD_MULTIPLE" 24 "$cannot" "$line" -- multiple
    right "a variant that does not exist" 4 COLLSHIM_ALGORITHM=allreduce=native:rings -- "$programs/variants" 7
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
