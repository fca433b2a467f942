#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_slurm.sh [BUILD_DIR]: jobs that a real Slurm starts, on hosts of the emulated cluster.
# Needs root.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

build=$(readlink -f "${1:-$root/build}")
slurm=$root/scripts/slurm
name=s$$

if [[ $EUID -ne 0 ]] || ! command -v slurmctld slurmd munged >/dev/null; then
    skip_all "jobs under Slurm need root, and the packages slurm-wlm and munge"
fi

# job FAMILY PMI BARE PRELOAD...: 2 hosts, 2 ranks each, the ranks BARE without collshim; results are right
job() {
    local family=$1 pmi=$2 bare=$3 library preloads=()
    for library in "${@:4}"; do preloads+=(--preload "$library"); done
    rm -f "$tmp/report.json"
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self OMPI_MCA_mpi_yield_when_idle=1 \
        COLLSHIM_MIN_BYTES=0 COLLSHIM_REPORT=$tmp/report.json "$slurm" run --name "$name" -- \
        timeout 120 srun --mpi="$pmi" -N 2 -n 4 "$root/scripts/fabric.d/rank" "${preloads[@]}" affine 2 \
        "$root/test/mpi/tool/bare.sh" "$bare" "$build/$family/test/mpi/ordinary" 2>&1 | tee "$tmp/out" &&
        grep -q ': right on ' "$tmp/out"
}

rerouted() {
    job "$@" && [[ $(jq '[.collectives[].rerouted] | add' "$tmp/report.json") -gt 0 ]]
}

native() {
    job "$@" && grep -q "collshim: rank $3 has not loaded collshim" "$tmp/out"
}

# stuck: rank 3, on the other host, sleeps; the command finds it through srun, and the alarm of its own host says so.
stuck() {
    local id status=0 began=$SECONDS job
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self OMPI_MCA_mpi_yield_when_idle=1 COLLSHIM_STUCK=1s "$slurm" run --name "$name" -- \
        timeout 60 srun --mpi=pmix -N 2 -n 4 "$root/scripts/fabric.d/rank" --preload "$shim" affine 2 \
        "$build/openmpi/test/mpi/hang" sleep 3 1 >"$tmp/hang" 2>&1 &
    job=$!
    until grep -q '^hang: rank 3' "$tmp/hang" || ((SECONDS > began + 30)); do sleep 0.1; done
    id=$("$slurm" run --name "$name" -- squeue -h -o %i)
    until ((status == 3 || SECONDS > began + 40)); do # a busy machine is late
        sleep 1
        status=0
        "$slurm" run --name "$name" -- "$build/collshim" stuck "$id" --within 1 \
            --by "srun --jobid=$id --overlap -N 2 --ntasks-per-node=1" >"$tmp/said" 2>&1 || status=$?
    done
    "$slurm" run --name "$name" -- scancel "$id"
    wait "$job"
    cat "$tmp/hang" "$tmp/said"
    [[ $status == 3 ]] && grep -q "rank 3 ($name-h1)" "$tmp/said"
}

raise_fabric "$name" --nodes 2 --rails 2 || exit 1
at_exit "$slurm" down --name "$name"
# shellcheck disable=SC2016 # the prolog's shell
printf '#!/bin/sh\necho "print prolog"\necho "export PROLOG=${LD_PRELOAD:-none}"\n' >"$tmp/prolog"
chmod +x "$tmp/prolog"
plugin=
[[ ! -e $build/collshim-spank.so ]] || plugin="optional $build/collshim-spank.so"
"$slurm" up --name "$name" ${plugin:+--plugin "$plugin" --prolog "$tmp/prolog"} || exit 1
shim=$build/libcollshim.so
if [[ -x $build/openmpi/test/mpi/ordinary ]]; then
    check "srun --mpi=pmix, Open MPI: right and rerouted" rerouted openmpi pmix none "$shim"
    check "srun --mpi=pmix, Open MPI: rank 0 without the preload" native openmpi pmix 0 "$shim"
    check "srun --mpi=pmix, Open MPI: a rank of another host without it" native openmpi pmix 3 "$shim"
    check "collshim stuck JOB --by srun: the rank of another host" stuck
else
    skip "srun --mpi=pmix" "Open MPI's test programs are not built"
fi
if [[ -x $build/mpich/test/mpi/ordinary ]]; then
    cc -O2 -shared -fPIC -o "$tmp/cures.so" "$root"/scripts/fabric.d/ucx-cures.c -ldl || exit 1
    check "srun --mpi=pmi2, MPICH: right and rerouted" rerouted mpich pmi2 none "$shim" "$tmp/cures.so" "$build/test/yield.so"
else
    skip "srun --mpi=pmi2" "MPICH's test programs are not built"
fi
# shellcheck source=test/cases_spank.sh
. "$root/test/cases_spank.sh"
"$slurm" down --name "$name"
left() { ! pgrep -f "/run/collshim-slurm/$name" && [[ ! -e /run/collshim-slurm/$name ]]; }
check "scripts/slurm down leaves nothing" left
conclude
