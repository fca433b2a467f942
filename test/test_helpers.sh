#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_helpers.sh [BUILD_DIR]: several processes per rank on hosts of their own, with two rails and
# connections that are capped: results, and the rails in use. bench/ppg measures the speed; here it runs on
# few bytes. Needs root.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

build=$(readlink -f "${1:-$root/build}")
name=h$$

if [[ $EUID -ne 0 || ! -x $build/collshim-helper ]]; then
    skip_all "helpers on the emulated cluster need root, and UCX's headers when built"
fi

# sent DEVICE: bytes that host 0 has sent over it
sent() {
    "$fabric" exec --name "$name" 0 -- cat "/sys/class/net/$1/statistics/tx_bytes"
}

# works PPN OPTION...: so many ranks on each of two hosts, 3 processes each; sets rail[i] to what host 0 sent over it,
# and itself to what it sent to itself
works() {
    local i before=("$(sent rail0)" "$(sent rail1)" "$(sent lo)")
    "$fabric" run --name "$name" --mpi openmpi --ppn "$1" --timeout 120 --preload "$build/libcollshim.so" \
        --env COLLSHIM_PPG=3 --env COLLSHIM_MIN_BYTES=0 --env COLLSHIM_REPORT="$tmp/report.json" "${@:2}" \
        -- "$build/openmpi/test/mpi/helpers" 7 plain >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
    for i in 0 1; do rail[i]=$(($(sent rail$i) - before[i])); done
    itself=$(($(sent lo) - before[2]))
    cat "$tmp/out"
    echo "rails carried ${rail[*]}, lo $itself"
    grep -q ': right on ' "$tmp/out" &&
        jq -e 'any(.collectives[]; .sliced > 0) and all(.collectives[]; .sliced_redone == 0)' "$tmp/report.json"
}

raise_fabric "$name" --nodes 2 --rails 2 --rate 200mbit || exit 1
rail=(0 0) itself=0
idle=20000 # bytes that hosts say to each other whatever happens
check "on one rail: helpers stay on it" works 1 --env UCX_NET_DEVICES=rail0
check "the other rail is idle" test "${rail[1]}" -lt $idle
check "on two rails: each helper has one" works 1 --env UCX_NET_DEVICES=rail0,rail1
check "both rails carry data" test "${rail[0]}" -gt $((10 * idle)) -a "${rail[1]}" -gt $((10 * idle))
check "with capped connections" works 1 --flow-cap 50mbit
lanes=(--env "COLLSHIM_ALGORITHM=allreduce=lane,allgather=lane")
check "several ranks on a host" works 2 "${lanes[@]}"
check "their helpers meet in its memory" test "$itself" -lt $((5 * idle))
check "with a list of transports that has no shared memory" works 2 "${lanes[@]}" --env UCX_TLS=tcp
check "... their helpers meet in its memory" test "$itself" -lt $((5 * idle))
check "without shared memory for them" works 2 "${lanes[@]}" --env UCX_TLS=^sm
check "they meet on the network device" test "$itself" -gt $((10 * idle))
"$fabric" down --name "$name"

# the bench, in both forms
measures() {
    "$root/bench/ppg" --nodes 2 --ppn 2 --k 1,2 --sizes 8K,64K --algorithms 'standard lane' --native default --repetitions 1 \
        --name "$name" --out "$tmp" | tee "$tmp/out"
}
check "bench/ppg runs" measures
check "it has a line for each form, size and k" jq -es '([.[] | [.slices, .bytes_per_rank, .k]] | sort) ==
    ([["lane", "standard"], [8192, 65536], [1, 2]] | [combinations] | sort)' "$tmp/results.jsonl"
check "all of it was verified and rerouted" jq -es 'all(.[]; .verified and .collshim_us > 0)' "$tmp/results.jsonl"
check "it says what helpers cost" test "$(grep -Ec 'ready within|an idle one worked' "$tmp/out")" -eq 2
conclude
