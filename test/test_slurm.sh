#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_slurm.sh [BUILD_DIR]: jobs that a real Slurm starts, on hosts of the emulated cluster.
#
# Prints a line per claim and, last, "N passed, N failed"; exits 1 if a claim failed. Needs root.
set -uo pipefail
# shellcheck source=test/usage.sh
. "$(dirname "$0")/usage.sh"

cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
build=$(readlink -f "${1:-build}")
fabric=$PWD/scripts/fabric
slurm=$PWD/scripts/slurm
name=s$$
passed=0
failed=0

check() { # check CLAIM COMMAND...: the claim holds if COMMAND succeeds
    if "${@:2}"; then
        passed=$((passed + 1))
        echo "ok $((passed + failed)) - $1"
    else
        failed=$((failed + 1))
        echo "not ok $((passed + failed)) - $1"
        sed 's/^/# /' "$dir/out"
    fi
}

if [[ $EUID -ne 0 ]] || ! command -v slurmctld slurmd munged >/dev/null; then
    echo "ok - jobs under Slurm # SKIP needs root, and the packages slurm-wlm and munge"
    exit 77
fi

dir=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
finish() {
    "$slurm" down --name "$name"
    "$fabric" down --name "$name"
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# job FAMILY PMI BARE PRELOAD...: 2 hosts, 2 ranks each, the ranks BARE without collshim; results are right
job() {
    local family=$1 pmi=$2 bare=$3 library preloads=()
    for library in "${@:4}"; do preloads+=(--preload "$library"); done
    rm -f "$dir/report.json"
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self OMPI_MCA_mpi_yield_when_idle=1 \
        COLLSHIM_MIN_BYTES=0 COLLSHIM_REPORT=$dir/report.json "$slurm" run --name "$name" -- \
        timeout 120 srun --mpi="$pmi" -N 2 -n 4 "$PWD/scripts/fabric.d/rank" "${preloads[@]}" affine 2 \
        "$PWD/test/mpi/tool/bare.sh" "$bare" "$build/$family/test/mpi/ordinary" >"$dir/out" 2>&1 &&
        grep -q ': right on ' "$dir/out"
}

rerouted() {
    job "$@" && [[ $(jq '[.collectives[].rerouted] | add' "$dir/report.json") -gt 0 ]]
}

native() {
    job "$@" && grep -q "collshim: rank $3 has not loaded collshim" "$dir/out"
}

"$fabric" up --name "$name" --nodes 2 --rails 2 || exit 1
"$slurm" up --name "$name" || exit 1
shim=$build/libcollshim.so
if [[ -x $build/openmpi/test/mpi/ordinary ]]; then
    check "srun --mpi=pmix, Open MPI: right and rerouted" rerouted openmpi pmix none "$shim"
    check "srun --mpi=pmix, Open MPI: rank 0 without the preload" native openmpi pmix 0 "$shim"
    check "srun --mpi=pmix, Open MPI: a rank of another host without it" native openmpi pmix 3 "$shim"
else
    echo "ok - srun --mpi=pmix # SKIP Open MPI's test programs are not built"
fi
if [[ -x $build/mpich/test/mpi/ordinary ]]; then
    cc -O2 -shared -fPIC -o "$dir/cures.so" scripts/fabric.d/ucx-cures.c -ldl || exit 1
    check "srun --mpi=pmi2, MPICH: right and rerouted" rerouted mpich pmi2 none "$shim" "$dir/cures.so" "$build/test/yield.so"
else
    echo "ok - srun --mpi=pmi2 # SKIP MPICH's test programs are not built"
fi
"$slurm" down --name "$name"
left() { ! pgrep -f "/run/collshim-slurm/$name" && [[ ! -e /run/collshim-slurm/$name ]]; }
check "scripts/slurm down leaves nothing" left
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
