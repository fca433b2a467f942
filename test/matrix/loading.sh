#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/matrix/loading.sh [--libraries LIST] [--limit SECONDS] [BUILD_DIR]
#
# How a site's users load an installed collshim, under each MPI library, on two emulated hosts. They use the
# module, `collshim exec`, or `srun --collshim=on` of a real Slurm. Each is tried alone, and with a variable
# of the user's own (mpirun -x, mpiexec -genv, srun --export).
#
#   --libraries LIST  of openmpi,mpich,openmpi5,mpich5,intel,mpich5-abi,intel-abi (all but two: scripts/setup wheels)
#   --limit SECONDS   for one job (default: 60)
#
# A cell is right if the results are right, ranks have the user's variable, and the report counts every
# large call as rerouted. Prints a table, and why cells failed or were skipped. Needs root.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

self=test/matrix/loading
# shellcheck source=test/matrix/launch.sh
. "$root/test/matrix/launch.sh"

build=$root/build
limit=60
while [[ $# -gt 0 ]]; do
    case $1 in
    --libraries | --limit)
        [[ $# -gt 1 ]] || die "$1: a value is missing"
        case $1 in
        --libraries) take_list "$1" "$2" "${libraries[@]}" && libraries=("${list[@]}") ;;
        --limit)
            [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || die "$1 $2: expected seconds"
            limit=$2
            ;;
        esac
        shift
        ;;
    *) build=$1 ;;
    esac
    shift
done
[[ $EUID -eq 0 ]] || skip_all "emulated hosts need root"
command -v jq >/dev/null || die "jq is missing: scripts/setup test"
prepare "$build"
slurm=$root/scripts/slurm
logs=$(readlink -f "$build")/test/logs/loading
rm -rf "$logs"
mkdir -p "$logs"
raise_fabric "$fabric_name" --nodes 2 --rails 2 --rate 1gbit || die "the fabric does not start"

# A row per library: the interface by which Slurm starts it. (Intel MPI is told where Slurm's library is.)
declare -A pmi=([openmpi]=pmix [openmpi5]=pmix [mpich]=pmi2 [mpich5]=pmi2 [intel]=pmi2)
declare -A lacks_cures=([openmpi]=1 [openmpi5]=1 [intel]=1)

start_slurm() {
    no_slurm=
    if [[ ! -e $prefix/lib/collshim-spank.so ]]; then
        no_slurm="slurm/spank.h was missing when collshim was built (package libslurm-dev)"
    elif ! command -v slurmctld slurmd munged >/dev/null; then
        no_slurm="no Slurm: packages slurm-wlm and munge"
    else
        cc -O2 -shared -fPIC -o "$tmp/cures.so" "$root/scripts/fabric.d/ucx-cures.c" -ldl || die "ucx-cures.c does not compile"
        at_exit "$slurm" down --name "$fabric_name"
        "$slurm" up --name "$fabric_name" --plugin "optional $prefix/lib/collshim-spank.so" || die "Slurm does not start"
    fi
}

# srun_job LIBRARY FORM PROGRAM...: becomes it
srun_job() {
    local library=$1 starter=${started_as[$1]} options=() rank=(--preload "$build/test/yield.so")
    [[ $2 == plain ]] || options=("--export=ALL,LOADING=1")
    [[ -n ${lacks_cures[$starter]-} ]] || rank+=(--preload "$tmp/cures.so")
    [[ -z ${libmpi[$library]-} ]] || rank+=(--env "LD_LIBRARY_PATH=${libmpi[$library]%/*}")
    [[ $starter != intel ]] || rank+=(--env "I_MPI_PMI_LIBRARY=$(ldconfig -p | awk '/libpmi2.so/ { print $NF; exit }')")
    export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
    exec "$slurm" run --name "$fabric_name" -- timeout -k 2 "$limit" srun "--mpi=${pmi[$starter]}" -N 2 --ntasks-per-node=2 --collshim=on \
        "${options[@]}" "$root/scripts/fabric.d/rank" "${rank[@]}" affine 2 "${@:3}"
}

# launcher_job LIBRARY FORM COMMAND...: becomes it
launcher_job() {
    local library=$1 starter=${started_as[$1]} typed=
    [[ $2 == plain ]] || case ${sets[$starter]} in
    -x) typed="-x LOADING=1" ;;
    -genv) typed="-genv LOADING 1" ;;
    esac
    exec "$fabric" run --name "$fabric_name" --mpi "$starter" --ppn 2 --timeout "$limit" --mpi-args "$typed" -- "${@:3}"
}

# job LIBRARY WAY FORM PROGRAM...
job() {
    case $2 in
    module) load_module && launcher_job "$1" "$3" "${@:4}" ;;
    exec) launcher_job "$1" "$3" "$prefix/bin/collshim" exec --log warn -- "${@:4}" ;;
    srun) srun_job "$1" "$3" "${@:4}" ;;
    esac
}

# fill LIBRARY WAY FORM: runs a cell and adds it to row
fill() {
    local log=$logs/$1-$2-$3.log rc=0 why='' large='' program=("${programs[0]}")
    # shellcheck disable=SC2016 # the rank's shell
    [[ $3 == plain ]] || program=(sh -c '[ "$LOADING" = 1 ] && exec "$0"' "${programs[0]}")
    rm -f "$tmp/report.json"
    if why=$(absent_way "$1" "$2") || { why=$no_slurm && [[ $2 == srun && -n $why ]]; }; then
        skip "${title[$1]}, $2, $3" "$why"
        row+="|skip"
        return
    fi
    why=
    (job "$1" "$2" "$3" "${program[@]}") >"$tmp/out" 2>"$tmp/err" </dev/null || rc=$?
    end_strays
    cat "$tmp/out" "$tmp/err" "$tmp/report.json" 2>/dev/null >"$log" || true
    large=$(large_calls)
    if [[ $rc -ne 0 ]]; then
        why="exit status $rc"
    elif ! grep -q '^collectives: right on 4 ' "$tmp/out"; then
        why="no right results on 4 ranks"
    elif [[ -z $large || $large != "$(rerouted_calls)" ]]; then
        why="$(count "$(rerouted_calls)") of $(count "$large") large calls are rerouted"
    fi
    if [[ -z $why ]]; then
        pass "${title[$1]}, $2, $3"
        row+="|ok $(count "$large")"
    else
        fail "${title[$1]}, $2, $3" "$why; ${log#"$PWD/"}"$'\n'"$(tail -n 5 "$log")"
        row+="|FAILED"
    fi
}

start_slurm
export COLLSHIM_REPORT=$tmp/report.json COLLSHIM_CHOOSE=always COLLSHIM_ALGORITHM=alltoallv=nimble,scan=prefix_chain,exscan=prefix_chain
echo 'LIBRARY|MODULE|MODULE, -x|EXEC|EXEC, -x|SRUN|SRUN, -x' >"$tmp/table"
for library in "${libraries[@]}"; do
    row=${title[$library]}
    if why=$(absent "$library" 2); then
        skip "${title[$library]}" "$why"
        row+='|skip|skip|skip|skip|skip|skip'
    else
        find_programs "$library"
        for way in module exec srun; do
            for form in plain -x; do fill "$library" "$way" "$form"; done
        done
    fi
    echo "$row" >>"$tmp/table"
done
column -t -s '|' "$tmp/table"
conclude
