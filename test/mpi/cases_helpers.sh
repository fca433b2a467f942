# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several processes per rank (COLLSHIM_PPG): slices that helpers carry, and failures of helpers and of their
# owners.

sliced_collectives=(allgather allreduce reduce_scatter_block bcast)

# helpers_with HOW [NAME=VALUE...]: starts the job; 4 ranks on 4 nodes
helpers_with() {
    launch 4 COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 "${@:2}" -- "$programs/helpers" "$seed" "$1"
}

want_sliced() {
    local collective
    for collective in "${sliced_collectives[@]}"; do
        want_number "$collective" .sliced -gt 0
        want_number "$collective" .sliced_redone -eq 0
    done
}

# sum_of FIELD: over the collectives
sum_of() {
    jq "[.collectives[] | $1 // 0] | add" "$tmp/report.json" 2>/dev/null || echo 0
}

# No helper of these ranks lives on; they get 5 seconds.
want_no_helpers() {
    local tries pid state left
    for ((tries = 0; tries < 50; tries++)); do
        left=
        for pid in $(pgrep -x collshim-helper || true); do
            read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" || continue
            [ "$state" = Z ] || grep -qzF "UCX_COLLSHIM_RUN=$tmp" "/proc/$pid/environ" 2>/dev/null ||
                continue
            [ "$state" = Z ] || left+=" $pid"
        done
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    complain "helpers are left: $left"
}

helpers_carry() {
    local how
    for how in plain children traced stopped idle; do
        begin "helpers carry slices, $how"
        helpers_with $how
        want_right
        want_lines
        want_sliced
        want_no_helpers
        finish
    done

    begin "helpers whose owner copies for them"
    helpers_with plain COLLSHIM_TEST_SHM=copy
    want_right
    want_lines
    want_sliced
    finish

    if [ "$family" = openmpi ]; then # MPICH 4.0.2 itself may hang in MPI_Finalize then
        begin "helpers that may not read their owner's memory"
        helpers_with denied OMPI_MCA_btl_vader_single_copy_mechanism=none
        want_right
        want_lines
        want_sliced
        finish
    fi

    quiet "random reductions in slices" 5 COLLSHIM_TOPOLOGY=node:5 COLLSHIM_PPG=2 -- "$programs/reductions" SEED 60 mixed
    want_number allreduce .sliced -gt 0
    finish

    quiet "random allgathers in slices, lanes of two ranks" 4 COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_PPG=3 -- \
        "$programs/differential" SEED 60
    want_number allgather .sliced -gt 0
    finish

    # The paper's two forms: each slice's allreduce over all ranks (standard), or over the lanes of
    # a node (multi-lane).
    local form
    for form in 'compose(hierarchy=4,ring=4)' lane 'lane(inter=ring)' parallel_rings; do
        quiet "helpers carry slices, each by $form" 4 COLLSHIM_TOPOLOGY='node:2 rank:2' COLLSHIM_PPG=3 \
            "COLLSHIM_ALGORITHM=allreduce=$form" -- "$programs/helpers" SEED
        want_sliced
        finish
    done

    right "what wants host memory beside is not sliced" 4 COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 \
        'COLLSHIM_ALGORITHM=allreduce=collaborative(split=50)' -- "$programs/helpers" SEED
    want_number allreduce '.sliced // 0' -eq 0
    want_number allreduce '.native["nothing to gain on this topology"]' -gt 0
    finish

    helpers_on_devices

    quiet "a program that spawns processes, with helpers" 2 COLLSHIM_TOPOLOGY=node:2 COLLSHIM_PPG=2 \
        COLLSHIM_REPORT="$tmp/report.%p.json" -- "$programs/spawn"
    local file files
    mapfile -t files < <(compgen -G "$tmp/report.*.json")
    [ "${#files[@]}" -eq 2 ] || complain "${#files[@]} reports, wanted one of the parents, one of the children"
    for file in "${files[@]}"; do
        mv "$file" "$tmp/report.json"
        want_number allgather .sliced -gt 0
    done
    want_no_helpers
    finish

    right "threads in collectives at once, on the same helpers" 3 COLLSHIM_TOPOLOGY=node:3 COLLSHIM_PPG=2 -- \
        "$programs/threads" SEED 5 steady
    want_number allgather .sliced -gt 0
    finish
}

# Slices on simulated devices; and where helpers get no memory there, or no kernels, on the host.
helpers_on_devices() {
    local late
    if [ ! -r "$build/gpusim/libcuda.so.1" ]; then
        skip "slices on devices" "built without the CUDA headers"
        return
    fi
    for late in 1 2; do
        on_devices $((late + 1)) 80 "devices=2 seed=$late" "CUDA_GPUSIM=devices=2 seed=$late" "COLLSHIM_TOPOLOGY=node:$((late + 1))" COLLSHIM_PPG=$((late + 1)) \
            "COLLSHIM_CHUNK_BYTES=$((2048 << late))"
        [ "$(sum_of .sliced_on_device)" -gt 0 ] || complain "no slice was on a device"
        [ "$(sum_of .sliced_redone)" -eq 0 ] || complain "$(sum_of .sliced_redone) calls were redone"
        want_no_helpers
        finish
    done
    on_devices 2 80 devices=1 COLLSHIM_TOPOLOGY=node:2 COLLSHIM_PPG=2 COLLSHIM_MODE=verify
    [ "$(of_all verified_different)" -eq 0 ] || complain "some results differ"
    [ "$(sum_of .sliced_on_device)" -gt 0 ] || complain "no slice was on a device"
    finish
    for late in IpcOpenMemHandle:1 ModuleLoadData:1 MemHostAlloc:1 EventRecord:40 MemcpyAsync:30; do
        [[ $whole -eq 0 && $late != ModuleLoadData:1 ]] || device_helpers_fail "$late"
    done
    for late in IpcGetMemHandle:1 MemAlloc:9; do # there is no room to lend; and then there is
        quiet "slices on devices, and cu${late%:*} fails in ranks the ${late#*:}. time" 2 "LD_LIBRARY_PATH=$build/gpusim" \
            "GPUSIM=devices=1 fail=$late" CUDA_GPUSIM=devices=1 COLLSHIM_TOPOLOGY=node:2 COLLSHIM_PPG=2 -- \
            "$programs/device" SEED 80
        [ "$(sum_of .sliced_on_device)" -gt 0 ] || complain "no slice was on a device"
        finish
    done
    helpers_are_near 2 '2-4 5-7'
    helpers_are_near 4 '0-7 0-7 0-7 0-7 0-7 0-7'
    right "a helper is killed while slices are on devices" 2 "LD_LIBRARY_PATH=$build/gpusim" "GPUSIM=devices=1 seed=4" \
        COLLSHIM_TOPOLOGY=node:2 COLLSHIM_PPG=3 -- "$programs/device" SEED 80 killed
    [ "$(sum_of .sliced_redone)" -eq 2 ] || complain "$(sum_of .sliced_redone) redone, wanted one call on 2 ranks"
    want_no_helpers
    finish
}

# Two ranks on a device each: their helpers are given the cores that are near it, of the eight that
# the ranks have; where those are fewer than the rank's processes, all of them.
helpers_are_near() { # PROCESSES PLACES
    local spare=$tmp/spare name="helpers of a rank of $1 processes run on cores $2" places
    begin "$name"
    rm -rf "$spare"
    mkdir "$spare"
    cp "$build/libcollshim.so" "$build/libcollshim-$family.so" "$spare"
    printf '#!/bin/sh\nLD_PRELOAD=%s CORES_LOG=%s exec %s\n' "$build/test/cores.so" "$spare/cores" \
        "$build/collshim-helper" >"$spare/collshim-helper"
    chmod +x "$spare/collshim-helper"
    preload=$spare/libcollshim.so:$build/test/cores.so
    settings=("LD_LIBRARY_PATH=$build/gpusim" GPUSIM=devices=2 CUDA_GPUSIM=devices=2 COLLSHIM_TOPOLOGY=node:2 "COLLSHIM_PPG=$1")
    run=("$programs/device" "$seed" 60)
    settle "${settings[@]}"
    new_command
    add_ranks 2 "${settled[@]}"
    command=("$here/tool/near.sh" "${command[@]}")
    capture
    if [ "$rc" -eq 77 ]; then
        skip "$name" "no mount name space of its own"
        return
    fi
    want_right
    places=$(awk '{ last[$1] = $2 } END { for (pid in last) print last[pid] }' "$spare/cores" | sort | xargs)
    [ "$places" = "$2" ] || complain "they run on $places"
    finish
}

# device_helpers_fail CALL:N: in the helpers alone, which are given the variables of CUDA.
device_helpers_fail() {
    right "slices on devices, and cu${1%:*} fails in helpers the ${1#*:}. time" 2 "LD_LIBRARY_PATH=$build/gpusim" \
        "GPUSIM=devices=1 seed=5" "CUDA_GPUSIM=devices=1 fail=$1" COLLSHIM_TOPOLOGY=node:2 COLLSHIM_PPG=2 -- \
        "$programs/device" SEED 60 lost
    [ "$(sum_of .sliced)" -gt 0 ] || complain "nothing was sliced"
    want_no_helpers
    finish
}

helpers_die() {
    local how
    local during=(between during)
    [ "$family" != openmpi ] || during+=(frozen) # which takes some seconds
    for how in "${during[@]}"; do
        begin "a helper is lost, $how: the ranks finish its work, and run natively"
        helpers_with "$how"
        want_right
        [ "$(sum_of .sliced_redone)" -eq 4 ] ||
            complain "$(sum_of .sliced_redone) redone, wanted one call on 4 ranks"
        [ "$(sum_of '.native["a rank'"'"'s helper died"]')" -gt 0 ] || complain "no native call after it"
        if [ "$how" = frozen ]; then
            want_lines "helper * of this rank (process *) is stopped or hangs: it is ended" "* of * bytes: a rank's helper died; *"
        else
            want_lines "* of * bytes: a rank's helper died; *"
        fi
        want_no_helpers
        finish
    done

    if [ "$family" = openmpi ]; then
        begin "a helper is stopped behind the last call: the job ends"
        helpers_with frozen_late
        want_right
        want_lines "helper * of this rank (process *) is stopped or hangs: it is ended"
        want_sliced
        want_no_helpers
        finish
    fi

    for how in killed abort; do
        begin "a rank ends by $how: its helpers and the others' go too"
        helpers_with $how
        [ "$rc" -ne 0 ] || complain "exit status 0"
        [ "$rc" -ne 124 ] || complain "the job did not end"
        want_lines
        want_no_helpers
        finish
    done
}

# At once, while helpers start and in the middle of calls: every process but the helpers, or these too.
helpers_lose_the_job() {
    local how left name="a whole job is killed: nothing is left of its helpers"
    begin "$name"
    if ! job_possible; then
        skip "$name" "no user of its own"
        return
    fi
    job_make "$build/libcollshim.so" "$build/libcollshim-$family.so" "$build/collshim-helper" "$build/test/yield.so" "$programs/helpers"
    settings=(COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 COLLSHIM_REPORT= "LD_PRELOAD=$job/libcollshim.so:$job/yield.so")
    settle "${settings[@]}"
    run=("$job/helpers" "$seed" endless)
    new_command
    add_ranks 4 "${settled[@]}"
    for how in 'others 0' 'others 0.05' 'others 0.5' 'all 0' 'all 0.01' 'all 0.02' 'all 0.04' 'all 0.08' 'all 0.5'; do
        # shellcheck disable=SC2086 # two words
        job_killed $how OMPI_MCA_btl_vader_backing_directory="$job" "${command[@]}" || complain "$how: there was no helper: $(tail -n 2 "$tmp/said")"
        [ -z "$left" ] || complain "$how s after the start: $left is left"
    done
    finish
}

helpers_refused() {
    local spare=$tmp/spare
    begin "no helper program beside the backend: one line"
    rm -rf "$spare"
    mkdir "$spare"
    cp "$build/libcollshim.so" "$build/libcollshim-$family.so" "$spare"
    preload=$spare/libcollshim.so
    helpers_with plain
    want_right
    want_lines "COLLSHIM_PPG=3: 1 on all ranks, as rank 0 has no more: there is no collshim-helper *"
    [ "$(sum_of .sliced)" -eq 0 ] || complain "slices without helpers"
    finish

    begin "a helper program that dies as it starts: one line"
    printf '#!/bin/sh\nexit 1\n' >"$spare/collshim-helper"
    chmod +x "$spare/collshim-helper"
    preload=$spare/libcollshim.so
    helpers_with plain
    want_right
    want_lines "COLLSHIM_PPG=3: 1 on all ranks, as rank 0 has no more: a helper died as it started"
    finish

    if [ "$family" = openmpi ]; then # MPICH does not run without it
        begin "no UCX on the machine: one line"
        mkdir "$spare/none"
        : >"$spare/none/libucp.so.0"
        helpers_with plain LD_LIBRARY_PATH="$spare/none"
        want_right
        want_lines "COLLSHIM_PPG=3: 1 on all ranks, as rank 0 has no more: no libucp.so.0 on this machine"
        [ "$(sum_of .sliced)" -eq 0 ] || complain "slices without helpers"
        finish
    fi

    begin "while helpers start, calls run natively"
    printf '#!/bin/sh\n/bin/sleep 1\nexec %s/collshim-helper\n' "$build" >"$spare/collshim-helper"
    preload=$spare/libcollshim.so
    helpers_with stopped COLLSHIM_MIN_BYTES=1 COLLSHIM_LOG=info
    want_right
    grep -q "3 processes per rank on 4 ranks, ready within" <<<"$err" || complain "no line says that helpers are ready"
    [ "$(sum_of '.native["helpers are starting"]')" -gt 0 ] || complain "no call ran natively meanwhile"
    want_no_helpers
    finish

    begin "one rank without helpers: none on any"
    launch_apart 4 COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 UCX_TLS=tcp,self -- \
        COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3 UCX_TLS=^sm,tcp,self -- "$programs/helpers" "$seed"
    if [ "$kin" = mpich ]; then
        skip "one rank without helpers: none on any" "MPICH uses UCX itself"
    else
        want_right
        want_lines "COLLSHIM_PPG=3: 1 on all ranks, as rank 3 has no more: UCX: *"
        [ "$(sum_of .sliced)" -eq 0 ] || complain "slices without helpers"
        finish
    fi

    begin "COLLSHIM_PPG differs between ranks: all run natively"
    launch_apart 3 COLLSHIM_TOPOLOGY=node:3 COLLSHIM_PPG=3 -- \
        COLLSHIM_TOPOLOGY=node:3 COLLSHIM_PPG=2 -- "$programs/helpers" "$seed"
    want_right
    want_lines "settings differ between ranks: 'ppg 2' on rank 2, 'ppg 3' on rank 0; *"
    finish

    begin "a rank confined to one core"
    run_confined
    want_right
    want_lines
    want_sliced
    finish
}

# As helpers_with plain, each rank on CPU 0 alone.
run_confined() {
    settings=("taskset -c 0")
    run=(taskset -c 0 "$programs/helpers" "$seed" plain)
    settle COLLSHIM_TOPOLOGY=node:4 COLLSHIM_PPG=3
    new_command
    add_ranks 4 "${settled[@]}"
    capture
}

cases_helpers() {
    if [ ! -x "$build/collshim-helper" ]; then
        skip "several processes per rank" "built without UCX's headers"
        return
    fi
    export UCX_COLLSHIM_RUN=$tmp UCX_WARN_UNUSED_ENV_VARS=n
    helpers_carry
    helpers_die
    helpers_lose_the_job
    helpers_refused
    unset UCX_COLLSHIM_RUN UCX_WARN_UNUSED_ENV_VARS
}
