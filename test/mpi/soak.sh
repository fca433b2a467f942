#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/mpi/soak.sh [--calls N] [--communicators N] [--ranks N] [--mpi NAME] [--seed N] [BUILD_DIR]: does a long job keep
# more and more? (make soak)
#
# A job makes N random collectives (default: 1000000), then as many communicators as said (100000) with a few calls each.
# It runs natively, and with every call forced onto our paths under the guard. Each prints what its ranks keep, at eight
# points of each part. From the second point to the last, with the preload, no descriptor and no thread may come, and of
# memory and mappings only a little more than natively.
#
# Takes some 20 minutes for each library. Exit status: 0 nothing grows, 1 something does, 2 wrong usage.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/mpi
build=$root/build
calls=1000000
communicators=100000
ranks=4
first_seed=1
libraries=(openmpi mpich)
number() { # number OPTION VALUE
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || { echo "test/mpi/soak: $1: expected a number from 1 on" >&2; exit 2; }
    echo "$2"
}
while [ $# -gt 0 ]; do
    case $1 in
        --calls) calls=$(number "$1" "${2-}") && shift ;;
        --communicators) communicators=$(number "$1" "${2-}") && shift ;;
        --ranks) ranks=$(number "$1" "${2-}") && shift ;;
        --seed) first_seed=$(number "$1" "${2-}") && shift ;;
        --mpi) libraries=("${2:?--mpi: a name is missing}") && shift ;;
        -*) echo "test/mpi/soak: no option $1; --help lists them" >&2; exit 2 ;;
        *) build=$(cd "$1" && pwd) ;;
    esac
    shift
done

# shellcheck source=test/mpi/launch.sh
. "$here/launch.sh"
limit=$((60 + calls / 200 + communicators / 20))

# grown COLUMN PART FILE: from the second point to the last
grown() {
    awk -v column="$1" -v part="$2" '$1 == part { n++; if (n == 2) first = $column; last = $column } END { print last - first }' "$3"
}

# want_constant FILE NATIVE: what may come between, besides what comes natively
want_constant() {
    local part column name most came natively
    for part in calls communicators; do
        while read -r column name most; do
            came=$(grown "$column" $part "$1") natively=$(grown "$column" $part "$2")
            [ "$natively" -gt 0 ] || natively=0
            [ "$came" -le $((natively + most)) ] ||
                complain "$part: $came $name came, $natively of them natively; $most more are allowed"
        done <<TXT
3 KiB-of-malloc 256
4 KiB-of-memory 4096
5 mappings 8
6 descriptors 0
7 threads 0
TXT
    done
}

for library in "${libraries[@]}"; do
    [ -n "${family_of[$library]-}" ] || { echo "test/mpi/soak: --mpi: no '$library'; one of ${!family_of[*]}" >&2; exit 2; }
    choose "$library"
    if ! command -v "$launcher" >/dev/null || [ ! -x "$programs/soak" ]; then
        skip soak "$launcher or $programs/soak is missing"
        continue
    fi
    printf '# %-8s %-14s %9s %10s %10s %9s %12s %8s\n' preload part made 'malloc KiB' 'memory KiB' mappings descriptors threads
    for how in none forced; do
        begin "$calls calls and $communicators communicators on $ranks ranks: $how"
        settings=('COLLSHIM_TOPOLOGY=node:2 rank:2')
        [ $how = forced ] || settings+=(LD_PRELOAD="${yielding[$kin]-}")
        run=("$programs/soak" "$seed" "$calls" "$communicators")
        settle "${settings[@]}"
        new_command
        add_ranks "$ranks" "${settled[@]}"
        "$private_shm" timeout -k 5 "$limit" "${command[@]}" 2>"$tmp/stderr" </dev/null |
            tee "$tmp/$library.$how" | sed -u "/^soak:/d; s/^/# $(printf '%-8s' $how) /" || rc=${PIPESTATUS[0]}
        out=$(grep '^soak:' "$tmp/$library.$how" || true) err=$(<"$tmp/stderr")
        want_right
        [ $how = none ] || want_constant "$tmp/$library.$how" "$tmp/$library.none"
        finish
    done
done
conclude
