#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/gpu/run.sh BUILD_DIR: the GPU contract on the simulated driver, on several machines of it, and what
# happens without one. On a real device: make test-gpu.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
build=$(cd "${1:?usage: test/gpu/run.sh BUILD_DIR}" && pwd)
contract=$build/test/gpu_contract
sim=$build/gpusim

[ -x "$contract" ] || skip_all "built without the CUDA headers"

# The program's own claims count, and what it prints but the driver's expected complaints is kept.
simulated() { # DESCRIPTION GPUSIM ARGUMENTS...
  local name=$1 machine=$2 out status=0
  shift 2
  out=$(LD_LIBRARY_PATH=$sim GPUSIM=$machine timeout 600 "$contract" "$@" 2>&1) || status=$?
  printf '# %s: %s\n' "$name" "$machine"
  grep -v '^gpusim: ' <<<"$out"
  add_claims "$name" "$status" "$out"
}

prints() { # DESCRIPTION STATUS PATTERN COMMAND...
  local name=$1 want=$2 pattern=$3 out status=0
  shift 3
  out=$("$@" 2>&1) || status=$?
  [ "$status" -eq "$want" ] && grep -q -- "$pattern" <<<"$out"
  ok "$name (status $status)" $?
}

simulated 'every kernel' 'devices=2'
for seed in 1 2 3 4 5 6 7 8; do
  simulated 'late streams' "devices=3 seed=$seed" --without-kernels
done
for seed in 1 2 3 4 5 6 7 8; do
  simulated 'collectives on late streams' "devices=2 seed=$seed" --collectives
done
simulated 'one device' 'devices=1' --without-kernels
simulated 'devices without peer access' 'devices=2 nopeer=0-1' --without-kernels
# Both paths of the collaborative Allreduce at several divisions; results alone are judged.
for ranks in 2 3 8; do
  LD_LIBRARY_PATH=$sim GPUSIM="devices=$ranks seed=$ranks" timeout 600 \
    "$build/test/bench_collaborative" --ranks "$ranks" --check 4 4000 999996 3M >/dev/null
  ok "collaborative Allreduce of $ranks GPUs, any division" $?
done
with() { LD_LIBRARY_PATH=$sim GPUSIM=$1 "${@:2}"; }
# Orders that the simulation leaves out, each seen by the claim that is about it.
lost() { # GPUSIM'S-DROP CLAIM
  prints "without $1" 1 "not ok $2" with "devices=1 drop=$1" "$contract" --without-kernels
}
lost StreamWaitEvent:1/3 'a copy to the host comes after the default stream'
lost StreamWaitEvent:2/3 'a copy from the host comes after the default stream'
lost StreamWaitEvent:3/3 'a copy on the device comes after the default stream'
lost EventRecord:1/1 'a copy to the host comes after the default stream'
lost EventQuery:1/1 'a copy to the host comes after the default stream'
lost StreamSynchronize:1/1 "after the default stream's work, and the pieces alone"
prints 'no device is a skip' 77 'skip: no device' with devices=0 "$contract"
prints 'info lists the devices' 0 'device 1: simulated device, sm_90' with devices=2 "$build/collshim" info
prints 'info without a device' 0 'CUDA_ERROR_NO_DEVICE' with devices=0 "$build/collshim" info
prints 'info with a driver that fails' 0 'CUDA_ERROR_OPERATING_SYSTEM' \
  with 'devices=1 fail=DeviceGetCount:1' "$build/collshim" info
prints 'a machine that cannot be is refused' 1 'cannot use' with devices=99 "$contract"
# The tests of a machine with a GPU, on the simulated one: the script works, and says that it is simulated.
if [ -e "$build/libcollshim-nccl.so" ]; then
  "$root/test/gpu/device.sh" --simulated --results "$tmp/results" "$build" contract times channels queue >"$tmp/said" 2>&1
  ok 'what is run on a GPU, simulated' $?
  for what in 'contract.the contract with the driver.[1-9][0-9]* passed, 0 failed' 'times.a group of bytes: 256.[1-9][0-9.]*.us' \
    'channels.2 channels, inside a host, bytes: [0-9]*.[34][0-9.]*.GB/s' 'queue.calls rerouted with one queue .*.0'; do
    grep -qE "^$what" "$tmp/results"
    ok "what is run on a GPU, simulated: $what" $?
  done
  grep -q '^# Simulated' "$tmp/said" && grep -q '^| queue | one queue, the library |' "$tmp/said"
  ok 'what is run on a GPU, simulated: it says so, and prints a table' $?
  "$root/test/gpu/device.sh" --simulated --minutes 3 --results "$tmp/results" "$build" cluster >/dev/null
  check 'what is run on a GPU: no step begins that has no time left' grep -q $'cluster\tnot begun' "$tmp/results"
  "$root/test/gpu/device.sh" "$build" nothing >/dev/null 2>&1
  check 'what is run on a GPU: an unknown step' test $? -eq 2
fi
if [ ! -e /dev/nvidiactl ]; then
  prints 'no driver is a skip' 77 'skip: no libcuda.so.1' "$contract"
  prints 'info without a driver' 0 'driver: no libcuda.so.1' "$build/collshim" info
fi
conclude
