# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh and launch.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives on device memory, on the simulated driver: rerouted or not, each rank in any memory, on late
# streams, and with each call of the driver failing on one rank.

# on_devices N CALLS GPUSIM [NAME=VALUE...]: what of a test comes before its wishes
on_devices() {
    local n=$1 calls=$2 machine=$3
    shift 3
    quiet "$calls collectives on device memory, $n ranks, $machine${*:+, $*}" "$n" "LD_LIBRARY_PATH=$build/gpusim" \
        "GPUSIM=$machine" "$@" -- "$programs/device" SEED "$calls"
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

# devices_steady HOW [NAME=VALUE...]: host and device memory in turns; a device must combine as the host's calls do
devices_steady() {
    local how=$1
    shift
    quiet "equal calls give equal results on a device and on the host, $how" 2 "LD_LIBRARY_PATH=$build/gpusim" \
        GPUSIM=devices=2 "$@" -- "$programs/steady" 0 6 device
    [ "$(of_all rerouted)" -gt 0 ] || complain "nothing was rerouted"
    finish
}

# ordering_is_lost WHAT: the simulation forgets to order something; results have to show it.
ordering_is_lost() {
    local late wrong=0 way=(on off) # through windows, and by the host
    begin "without $1, results are wrong"
    for late in 1 2 3 4 5 6 7 8; do
        launch 2 "LD_LIBRARY_PATH=$build/gpusim" "GPUSIM=devices=2 seed=$late drop=$1" COLLSHIM_CHUNK_BYTES=4096 \
            "COLLSHIM_TEST_SHM=${way[late % 2]}" -- \
            "$programs/device" 77 20
        [[ "$out" != *': WRONG on '* && $rc -lt 128 ]] || { wrong=1 && break; }
    done
    [ $wrong -eq 1 ] || complain "nothing was wrong, with 8 seeds"
    finish
}

# device_fails CALL:N [error]: on the last rank. Right or an error, and never a hang; with `error`,
# there is one. With harm=lose the device is lost at that call.
device_fails() {
    local with=("LD_LIBRARY_PATH=$build/gpusim") harm=${harm:-fail}
    begin "collectives on device memory, and cu${1%:*} ${harm}s on a rank the ${1#*:}. time"
    [ "${2:-}" != error ] || seed=27 # among its calls are those that fail
    launch_apart 3 "${with[@]}" GPUSIM='devices=2 seed=3' -- "${with[@]}" GPUSIM="devices=2 $harm=$1" -- \
        "$programs/device" "$seed" 20 fails
    want_right
    [ "${2:-}" != error ] || [[ "$out" =~ errors\ returned:\ [1-9] ]] || complain "no rank says that it failed"
    finish
}

# paths N CALLS KIND GPUSIM [NAME=VALUE...]: large Allreduces of ranks with a GPU each, with no algorithm
# forced; each rank runs under the command `under`
under=()
paths() {
    local n=$1 calls=$2 kind=$3 machine=$4
    shift 4
    right "$calls large Allreduces of $n ranks, $kind memory, $machine${*:+, $*}" "$n" "LD_LIBRARY_PATH=$build/gpusim" \
        "GPUSIM=$machine" COLLSHIM_MIN_BYTES=64KiB COLLSHIM_LOG=info "$@" -- "${under[@]}" "$programs/paths" SEED "$calls" \
        "$kind"
}

# by_both OPERATOR N: so many calls, of all ranks together, took two paths
by_both() {
    want_number allreduce '[.sizes[].algorithms.collaborative // 0] | add' "$@"
}

# corrected yes|no: the division was settled by measurement
corrected() {
    local got=no
    [[ "$err" != *'profile: allreduce 1x'*' goes through the host'* ]] || got=yes
    [ $got = "$1" ] || complain "was the division corrected by measurement? $got, wanted $1"
}

# The choice if nothing is forced. The first call is always in host memory, before CUDA.
cases_paths() {
    local n=10
    [ "$quick" -eq 0 ] || n=6
    paths 2 $n device devices=2 COLLSHIM_CHOOSE=always
    by_both -eq $((2 * (n - 1)))
    finish
    paths 2 24 device 'devices=2 seed=4' COLLSHIM_CHOOSE=always
    corrected yes
    finish
    # The next job begins with the findings of one job, in memory of the same kind.
    sed -n 's/^collshim: profile: //p' <<<"$err" >"$tmp/profile"
    paths 2 $n device devices=2 COLLSHIM_CHOOSE=always "COLLSHIM_PROFILE=$tmp/profile"
    by_both -eq $((2 * (n - 1)))
    finish
    paths 2 $n host devices=2 COLLSHIM_CHOOSE=always "COLLSHIM_PROFILE=$tmp/profile"
    by_both -eq 0
    finish
    echo 'allreduce 1x2 1M-2M collaborative(split=0)' >"$tmp/profile"
    paths 2 24 device devices=2 COLLSHIM_CHOOSE=always "COLLSHIM_PROFILE=$tmp/profile"
    by_both -eq 46
    corrected no
    finish
    paths 2 24 device devices=2 COLLSHIM_CHOOSE=model
    by_both -eq 46
    corrected no
    finish
    paths 2 24 device devices=2 COLLSHIM_ALGORITHM='allreduce=collaborative(split=30)'
    by_both -eq 48
    corrected no
    finish
    paths 4 $n device 'devices=4 seed=2' COLLSHIM_CHOOSE=always
    by_both -eq $((4 * (n - 1)))
    finish
    paths 2 $n device 'devices=2 seed=6' COLLSHIM_CHOOSE=always COLLSHIM_TEST_HOST_THREADS=3
    by_both -eq $((2 * (n - 1)))
    [[ "$err" == *'two paths: '*' of 3 (COLLSHIM_TEST_HOST_THREADS) on '* ]] || complain "nobody says how many threads there are"
    finish
    under=(taskset --cpu-list "$(taskset --cpu-list --pid $$ | sed 's/.*[ ,-]//')")
    paths 2 $n device devices=2 COLLSHIM_CHOOSE=always COLLSHIM_TEST_HOST_THREADS=3 # not more than it has processors
    by_both -eq $((2 * (n - 1)))
    [[ "$err" == *'two paths: 1 thread of 3 (COLLSHIM_TEST_HOST_THREADS) on 1 processors'* ]] || complain "there is not one thread"
    finish
    under=()
    paths 2 $n device 'devices=2 seed=7' COLLSHIM_TEST_HOST_THREADS=2 COLLSHIM_ALGORITHM='allreduce=collaborative(split=60)'
    finish
    paths 2 $n device devices=2 COLLSHIM_CHOOSE=always COLLSHIM_TEST_HOST_THREADS=0 # a bad value harms nothing
    by_both -eq $((2 * (n - 1)))
    [[ "$err" == *COLLSHIM_TEST_HOST_THREADS*'1 to 64'* || "$err" == *COLLSHIM_TEST_HOST_THREADS*'from 1'* ]] || complain "nobody says what the value must be"
    finish
    paths 2 $n host devices=2 COLLSHIM_CHOOSE=always # the driver is there, the data is not
    by_both -eq 0
    finish
    paths 3 $n mixed 'devices=3 seed=3' COLLSHIM_CHOOSE=always
    finish
    paths 2 $n pools devices=2 COLLSHIM_CHOOSE=always # one device's memory, with a context of its own and without
    by_both -eq $((2 * (n - 1)))
    finish
    paths 2 $n device devices=1 COLLSHIM_CHOOSE=always # the ranks share a GPU
    by_both -eq 0
    finish
    paths 2 $n device devices=2 COLLSHIM_CHOOSE=always 'COLLSHIM_TOPOLOGY=node:2 rank:1'
    by_both -eq 0
    finish
    paths 2 60 device devices=2 # the guard tries it, and says which is faster
    by_both -ge 2
    [[ "$err" == *'guard: allreduce of '*' on 2 ranks: '* ]] || complain "the guard came to no verdict"
    finish
    paths 2 $n device devices=2 COLLSHIM_MODE=verify
    want_number allreduce .verified_different -eq 0
    want_number allreduce .verified_equal -gt 0
    finish
}

# A rank's GPU fails in the middle: an error or the right result, on all ranks, and no hang. With
# harm=lose the device is lost at that call.
paths_fail() {
    local with=("LD_LIBRARY_PATH=$build/gpusim" COLLSHIM_MIN_BYTES=64KiB COLLSHIM_CHOOSE=always) harm=${harm:-fail}
    begin "Allreduces on two paths, and cu${1%:*} ${harm}s on a rank the ${1#*:}. time"
    launch_apart 2 "${with[@]}" GPUSIM='devices=2 seed=3' -- "${with[@]}" "GPUSIM=devices=2 $harm=$1" -- \
        "$programs/paths" "$seed" 6 device fails
    want_right
    by_both -gt 0
    [ "${2:-}" != error ] || [[ "$out" =~ errors\ returned:\ [1-9] ]] || complain "no rank says that it failed"
    finish
}

# each_call_fails [lost]: every function of the driver, at its first call, its second ...
each_call_fails() {
    right "Allreduces on two paths, and each call of the driver fails in turn${1:+, the device $1}" 2 \
        "LD_LIBRARY_PATH=$build/gpusim" GPUSIM='devices=2 seed=3' COLLSHIM_CHUNK_BYTES=4096 \
        'COLLSHIM_ALGORITHM=allreduce=collaborative(split=30)' -- "$programs/sites" SEED "$@"
    [[ "$out" =~ faults:\ ([1-9][0-9][0-9]|[5-9][0-9]) ]] || complain "fewer than 50 calls failed"
    [[ "$out" =~ errors\ returned:\ [1-9][0-9] ]] || complain "hardly an error was returned"
    finish
}

no_device() {
    [ ! -r "$build/gpusim/libcuda.so.1" ] || return 1
    skip "collectives on device memory" "built without the CUDA headers"
}

smoke_device() {
    ! no_device || return 0
    devices_rerouted 4 25 'devices=2 seed=1' 'COLLSHIM_TOPOLOGY=node:2 rank:2' COLLSHIM_CHUNK_BYTES=4096
    devices_steady "native and rerouted in turns" COLLSHIM_MIN_BYTES=65536 COLLSHIM_MODE=ab
    paths 2 6 device devices=2 COLLSHIM_MODE=verify
    want_number allreduce .verified_different -eq 0
    want_number allreduce .verified_equal -gt 0
    finish
    device_fails MemcpyAsync:15 error
    harm=lose device_fails LaunchKernel:2 error
    paths_fail LaunchKernel:6 error
}

cases_device() {
    local late calls=40 seeds=8
    ! no_device || return 0
    [ "$quick" -eq 0 ] || { calls=25; seeds=2; }
    for ((late = 1; late <= seeds; late++)); do
        devices_rerouted $((late % 2 * 2 + 2)) "$calls" "devices=2 seed=$late" \
            "COLLSHIM_TOPOLOGY=node:2 rank:$((late % 2 + 1))" "COLLSHIM_CHUNK_BYTES=$((4096 << late % 3))"
    done
    devices_rerouted 3 $calls devices=1 COLLSHIM_CHUNK_BYTES=4096
    devices_rerouted 3 $calls 'devices=3 nopeer=0-1' COLLSHIM_TEST_SHM=off
    on_devices 3 $calls 'devices=2 seed=9' COLLSHIM_MODE=verify
    [ "$(of_all verified_different)" -eq 0 ] || complain "some results differ"
    [ "$(of_all verified_equal)" -gt $calls ] || complain "few calls were compared"
    finish
    devices_steady rerouted COLLSHIM_TOPOLOGY=node:2
    devices_steady "native and rerouted in turns" COLLSHIM_MIN_BYTES=65536 COLLSHIM_MODE=ab
    # Two paths in memory of any kind, from any address on, as far as all ranks' is on their devices.
    on_devices 2 $((2 * calls)) 'devices=2 seed=8' 'COLLSHIM_ALGORITHM=allreduce=collaborative(split=30)'
    want_number allreduce '[.sizes[].algorithms.collaborative // 0] | add' -gt 0
    finish
    on_devices 3 $calls 'devices=2 seed=5' COLLSHIM_MIN_BYTES=1GiB
    want_number allreduce .rerouted -eq 0
    finish
    cases_paths
    device_failures
}

device_failures() {
    local call
    for call in StreamWaitEvent:1/1 EventQuery:1/1 EventRecord:1/1 StreamSynchronize:1/1; do
        ordering_is_lost "$call"
    done
    for call in MemcpyAsync:15 LaunchKernel:2 EventQuery:7 EventRecord:13; do
        device_fails "$call" error
    done
    for call in StreamCreateWithPriority:2 EventCreate:3 EventRecord:1 StreamWaitEvent:2 MemcpyAsync:1 \
        MemHostAlloc:3 MemAlloc:2 ModuleLoadData:1 ModuleGetFunction:5 CtxPushCurrent:3 \
        StreamSynchronize:4 PointerGetAttributes:6 \
        DevicePrimaryCtxRetain:3 IpcGetMemHandle:1 IpcOpenMemHandle:1; do
        device_fails "$call"
    done
    for call in MemcpyAsync:15 LaunchKernel:2 EventQuery:7 StreamWaitEvent:9; do
        harm=lose device_fails "$call" error
    done
    for call in PointerGetAttributes:6 MemHostAlloc:4 IpcOpenMemHandle:1; do
        harm=lose device_fails "$call"
    done
    for call in MemcpyAsync:20 LaunchKernel:6 EventRecord:30; do
        paths_fail "$call" error
    done
    for call in MemHostAlloc:1 StreamWaitEvent:3 PointerGetAttributes:9 DeviceGetPCIBusId:1; do
        paths_fail "$call"
    done
    for call in MemcpyAsync:20 LaunchKernel:6 StreamWaitEvent:3; do
        harm=lose paths_fail "$call" error
    done
    [ "$quick" -eq 1 ] || { each_call_fails; each_call_fails lost; }
}
