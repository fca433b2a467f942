# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives on device memory, on the simulated driver: rerouted or not, rank by rank in whatever
# memory, on late streams, and with each call of the driver failing on one rank.

# on_devices N CALLS GPUSIM [NAME=VALUE...]: what of a test comes before its wishes
on_devices() {
    local n=$1 calls=$2 machine=$3
    shift 3
    seed=$((seed + 1))
    begin "$calls collectives on device memory, $n ranks, $machine${*:+, $*}"
    launch "$n" "LD_LIBRARY_PATH=$build/gpusim" "GPUSIM=$machine" "$@" -- \
        "$programs/device" "$seed" "$calls"
    want_right
    want_lines
}

# of_all FIELD: the sum over collectives and ranks
of_all() {
    jq "[.collectives[].$1 // 0] | add // 0" "$tmp/report.json" 2>/dev/null || echo 0
}

# All that can be rerouted is, on host memory too, so more than every call once.
devices_rerouted() {
    on_devices "$@"
    [ "$(of_all rerouted)" -gt $(($1 * $2)) ] || complain "$(of_all rerouted) rerouted calls on $1 ranks, wanted more than $(($1 * $2))"
    finish
}

# ordering_is_lost WHAT: the simulation forgets to order something; results have to show it.
ordering_is_lost() {
    local late wrong=0 way=(on off) # through windows, and by the host
    begin "without $1, results are wrong"
    for late in 1 2 3 4 5 6 7 8; do
        launch 2 "LD_LIBRARY_PATH=$build/gpusim" "GPUSIM=devices=2 seed=$late drop=$1" COLLSHIM_CHUNK_BYTES=4096 \
            "COLLSHIM_SHM=${way[late % 2]}" -- \
            "$programs/device" 77 20
        [[ "$out" != *': WRONG on '* && $rc -lt 128 ]] || { wrong=1 && break; }
    done
    [ $wrong -eq 1 ] || complain "nothing was wrong, with 8 seeds"
    finish
}

# device_fails CALL:N [error]: on the last rank. Right or an error, and never a hang; with `error`,
# there is one. With how=lose the device is lost at that call.
device_fails() {
    local with=("LD_LIBRARY_PATH=$build/gpusim") fixed=27 how=${how:-fail}
    seed=$((seed + 1))
    [ "${2:-}" = error ] || fixed=$seed
    begin "collectives on device memory, and cu${1%:*} ${how}s on a rank the ${1#*:}. time"
    launch_apart 3 "${with[@]}" GPUSIM='devices=2 seed=3' -- "${with[@]}" GPUSIM="devices=2 $how=$1" -- \
        "$programs/device" "$fixed" 20 fails
    want_right
    [ "${2:-}" != error ] || [[ "$out" =~ errors\ returned:\ [1-9] ]] || complain "no rank says that it failed"
    finish
}

cases_device() {
    local late calls=40 seeds=8
    if [ ! -r "$build/gpusim/libcuda.so.1" ]; then
        skip "collectives on device memory" "built without the CUDA headers"
        return
    fi
    [ "$quick" -eq 0 ] || { calls=25; seeds=2; }
    for ((late = 1; late <= seeds; late++)); do
        devices_rerouted $((late % 2 * 2 + 2)) "$calls" "devices=2 seed=$late" \
            "COLLSHIM_TOPOLOGY=node:2 rank:$((late % 2 + 1))" "COLLSHIM_CHUNK_BYTES=$((4096 << late % 3))"
    done
    devices_rerouted 3 $calls devices=1 COLLSHIM_CHUNK_BYTES=4096
    devices_rerouted 3 $calls 'devices=3 nopeer=0-1' COLLSHIM_SHM=off
    on_devices 3 $calls 'devices=2 seed=9' COLLSHIM_MODE=verify
    [ "$(of_all verified_different)" -eq 0 ] || complain "some results differ"
    [ "$(of_all verified_equal)" -gt $calls ] || complain "few calls were compared"
    finish
    on_devices 3 $calls 'devices=2 seed=5' COLLSHIM_MIN_BYTES=1GiB
    want_number allreduce .rerouted -eq 0
    finish
    local call
    for call in StreamWaitEvent:1/1 EventQuery:1/1 EventRecord:1/1 StreamSynchronize:1/1; do
        ordering_is_lost "$call"
    done
    for call in MemcpyAsync:15 LaunchKernel:2 EventQuery:7 EventRecord:12; do
        device_fails "$call" error
    done
    for call in StreamCreateWithPriority:2 EventCreate:3 EventRecord:1 StreamWaitEvent:2 MemcpyAsync:1 \
        MemHostAlloc:3 MemAlloc:2 ModuleLoadData:1 ModuleGetFunction:5 CtxPushCurrent:3 \
        StreamSynchronize:4 PointerGetAttributes:6 \
        DevicePrimaryCtxRetain:3 IpcGetMemHandle:1 IpcOpenMemHandle:1; do
        device_fails "$call"
    done
    for call in MemcpyAsync:15 LaunchKernel:2 EventQuery:7 StreamWaitEvent:9; do
        how=lose device_fails "$call" error
    done
    for call in PointerGetAttributes:6 MemHostAlloc:4 IpcOpenMemHandle:1; do
        how=lose device_fails "$call"
    done
}
