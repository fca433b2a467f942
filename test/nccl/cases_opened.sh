# shellcheck shell=bash disable=SC2154,SC2034 # variables shared with run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A program that opens NCCL itself: caught, and nothing else about it changes. Then the time that calls cost the host.

answers() { # DESCRIPTION FOLDERS PROGRAM...: the same with the preload as without; FOLDERS: of libraries
  local name=$1 folders=$2
  shift 2
  rm -f "$tmp/report.nccl"
  LD_LIBRARY_PATH=$folders GPUSIM=devices=2 timeout 180 "$@" >"$tmp/bare" 2>&1
  LD_LIBRARY_PATH=$folders GPUSIM=devices=2 COLLSHIM_REPORT=$tmp/report LD_PRELOAD=$shim timeout 180 "$@" >"$tmp/with" 2>&1
  grep -q '^init: [01]$' "$tmp/bare" && diff <(grep -v '^from' "$tmp/bare") <(grep -v '^from' "$tmp/with")
  ok "$name: the same answers" $?
}
opened() { # DESCRIPTION OWNER FOLDERS PROGRAM LIBRARY...: OWNER: whose function the program gets
  answers "$1" "${@:3}"
  check "$1: caught" test "$(grep -c "AllReduce $2, GetVersion lib.*nccl" "$tmp/with")" -eq "$(grep -c '^from.*AllReduce' "$tmp/bare")"
  check "$1: the unique id says where the board is" grep -q '^from id: a board' "$tmp/with"
}
counted() { # DESCRIPTION CALLS
  check "$1: counted" test "$(jq '.nccl.collectives[0].calls' "$tmp/report.nccl")" -eq "$2"
}
backend=libcollshim-nccl.so
opened 'dlopen and dlsym' $backend "$build/gpusim" "$build/test/nccl_caught" "$build/ncclsim/libnccl.so.2"
counted 'dlopen and dlsym' 1
opened 'linked' libcollshim.so "$build/ncclsim:$build/gpusim" "$build/test/nccl_linked"
counted 'linked' 1
cp "$build/ncclsim/libnccl.so.2" "$tmp/libother_nccl.so"
opened 'two copies of NCCL' $backend "$build/gpusim" "$build/test/nccl_caught" "$build/ncclsim/libnccl.so.2" "$tmp/libother_nccl.so"
# Not to be caught; a user who wants the report gets a line.
answers 'linked statically' "$build/gpusim" "$build/test/nccl_static"
grep -q '^call: 0' "$tmp/with" && grep -q '0 calls seen' <("$build/collshim" report "$tmp/report" 2>&1)
ok 'linked statically: 0 calls seen' $?
if real=$(scripts/nccl-library 2>/dev/null); then
  # no simulated driver: the real library would misread it
  opened "the real NCCL ($real)" $backend "$tmp" "$build/test/nccl_caught" "$real"
  opened "the real NCCL ($real), linked" libcollshim.so "$(dirname "$real")" "$build/test/nccl_linked"
  grep -qx "version $(($(grep -ao 'NCCL version [0-9.]*' "$real" | head -n 1 | sed -E 's/.* ([0-9]+)\.([0-9]+)\.([0-9]+).*/\1*10000+\2*100+\3/')))" "$tmp/with"
  ok "the real NCCL ($real): its own version" $?
  # Each process makes the id for itself then: it must stay as the library makes it.
  NCCL_COMM_ID=127.0.0.1:40404 answers 'an address by NCCL_COMM_ID' "$tmp" "$build/test/nccl_caught" "$real"
  check 'an address by NCCL_COMM_ID: the unique id is left alone' grep -q '^from id: none' "$tmp/with"
else
  skip 'the real NCCL' 'no libnccl.so.2 on this machine'
fi

# The cost of a call that is passed on, some 20 ns. A claim only that nothing waits there: benches measure.
if [ -x "$build/collshim-overhead-nccl" ]; then
  while read -r added call; do
    awk -v ns="$added" 'BEGIN { exit !(ns <= 1000) }'
    ok "a passed on $call costs $added ns more" $?
  done < <(LD_LIBRARY_PATH=$build/nullnccl LD_PRELOAD=$shim "$build/collshim-overhead-nccl" | jq -r '"\(.added_ns) \(.call)"')
fi

# The cost of a rerouted call for the host, NCCL and the driver doing nothing; no claim but that it is
# rerouted.
if [ -x "$build/collshim-enqueue-nccl" ]; then
  for name in lane parallel_rings; do
    LD_LIBRARY_PATH=$build/nullnccl NULL_NCCL_BOARD=1 COLLSHIM_TOPOLOGY='node:2 gpu:4 rail:4@25GB/s link_nvlink:300GB/s' \
      COLLSHIM_ALGORITHM=allreduce=$name LD_PRELOAD=$shim timeout 180 "$build/collshim-enqueue-nccl" >"$tmp/enqueue"
    echo "# $name: $(cat "$tmp/enqueue")"
    check "$name: enqueued" jq -e '.groups > 0 and .messages > .groups and .kernels > 0' "$tmp/enqueue"
  done
fi
