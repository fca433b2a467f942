# shellcheck shell=bash disable=SC2154,SC2016 # variables of test_slurm.sh, which sources this; the tasks' shell
# SPDX-License-Identifier: BSD-3-Clause
#
# `srun --collshim=...`: tasks alone get it, of srun, sbatch, job arrays and heterogeneous jobs.

shows='echo "task preload=$LD_PRELOAD mode=$COLLSHIM_MODE"'

in_slurm() { "$slurm" run --name "$name" -- timeout 60 "$@"; }

# tasks N TEXT COMMAND...: N of the lines are TEXT
tasks() {
    in_slurm "${@:3}" >"$tmp/tasks" 2>&1
    [[ $(grep -cFx -- "$2" "$tmp/tasks") == "$1" ]] || { cat "$tmp/tasks"; return 1; }
}

# batch N TEXT OPTION... -- LINE...: a job's script of these lines; N lines of all its output are TEXT
batch() {
    local n=$1 text=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    printf '%s\n' '#!/bin/bash' 'echo "script preload=${LD_PRELOAD:-none} prolog=${PROLOG:-none}"' "$@" >"$tmp/job.sh"
    rm -f "$tmp"/job-*.out
    in_slurm sbatch --wait -o "$tmp/job-%A-%a.out" "${options[@]}" "$tmp/job.sh" >"$tmp/tasks" 2>&1
    cat "$tmp"/job-*.out >>"$tmp/tasks"
    [[ $(grep -cFx -- "$text" "$tmp/tasks") == "$n" ]] || { cat "$tmp/tasks"; return 1; }
}

refused() {
    ! in_slurm srun --collshim=fast true >"$tmp/tasks" 2>&1 && grep -F "collshim: --collshim=fast: expected on, off, ab or verify" "$tmp/tasks"
}

spank_cases() {
    local loaded="task preload=$shim mode=on" none="task preload= mode="
    check "srun: without the option tasks get nothing" tasks 4 "$none" srun -N 2 -n 4 sh -c "$shows"
    check "srun --collshim=on" tasks 4 "$loaded" srun -N 2 -n 4 --collshim=on sh -c "$shows"
    check "srun --collshim=ab" tasks 2 "task preload=$shim mode=ab" srun -N 2 --collshim=ab sh -c "$shows"
    check "srun --collshim=on, beside another preload" tasks 2 "task preload=$shim:libdl.so.2 mode=on" \
        env LD_PRELOAD=libdl.so.2 srun -N 2 --collshim=on sh -c "$shows"
    check "srun --collshim=on, with the module" tasks 2 "$loaded" \
        env LD_PRELOAD="$shim" srun -N 2 --collshim=on sh -c "$shows"
    check "srun --collshim=off, with the module of another version" tasks 2 "task preload=libdl.so.2 mode=off" \
        env LD_PRELOAD="/none/libcollshim.so:libdl.so.2" srun -N 2 --collshim=off sh -c "$shows"
    check "srun --collshim=on --export=ALL,A=1" tasks 2 "$loaded" srun -N 2 --collshim=on --export=ALL,A=1 sh -c "$shows"
    check "srun --collshim=fast is refused in a line" refused
    check "TaskProlog runs, with the preload" tasks 2 "prolog=$shim" srun -N 2 --collshim=on sh -c 'echo "prolog=$PROLOG"'
    check "srun collshim exec" tasks 2 "$loaded" srun -N 2 "$build/collshim" exec --mode on -- sh -c "$shows"
    check "sbatch --collshim=on: steps get it" batch 2 "$loaded" -N 2 --collshim=on -- "srun sh -c '$shows'"
    check "sbatch --collshim=on: the script does not" batch 1 "script preload=none prolog=none" -N 2 --collshim=on -- true
    check "sbatch --collshim=on, srun --collshim=verify" batch 2 "task preload=$shim mode=verify" -N 2 --collshim=on -- \
        "srun --collshim=verify sh -c '$shows'"
    check "a job array" batch 6 "$loaded" -N 2 --array=1-3 -- "srun --collshim=on sh -c '$shows'"
    check "a heterogeneous job" tasks 3 "$loaded" srun -N 1 -n 1 --collshim=on sh -c "$shows" : -N 1 -n 2 --collshim=on sh -c "$shows"
}

# As the module has it: daemons that srun starts, with what else is preloaded.
mpirun_in_a_job() {
    tasks 2 "task preload=$shim:libdl.so.2 mode=" env LD_PRELOAD="$shim:libdl.so.2" \
        OMPI_MCA_orte_launch_agent="$build/collshim-exec -- orted" OMPI_MCA_plm_slurm_args=--mpi=none \
        salloc -N 2 mpirun.openmpi -x A=1 --map-by node -n 2 sh -c "$shows"
}

if command -v mpirun.openmpi >/dev/null; then
    check "mpirun -x in a job, with the module and another preload" mpirun_in_a_job
fi
if [[ -n $plugin ]]; then
    spank_cases
else
    skip "srun --collshim" "slurm/spank.h was missing when collshim was built (libslurm-dev)"
fi
