#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The collshim command: what it prints, refuses and returns.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=${1:-build}
tool=$build/collshim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

# expect NAME STATUS PATTERN COMMAND...: status, and a pattern somewhere on stdout or stderr.
expect() {
  local name=$1 status=$2 pattern=$3 got
  shift 3
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  if [ "$got" -eq "$status" ] && grep -qE -- "$pattern" "$dir/out" "$dir/err"; then
    echo "ok - $name"
    passed=$((passed + 1))
  else
    echo "not ok - $name (status $got, expected $status; pattern '$pattern')"
    head -n 5 "$dir/out" "$dir/err"
    failed=$((failed + 1))
  fi
}

# The complaint on stderr is exactly one line, and stdout is empty.
refuses() {
  expect "$@"
  if [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ]; then
    passed=$((passed + 1))
  else
    echo "not ok - $1: one line on stderr and nothing on stdout"
    failed=$((failed + 1))
  fi
}

expect 'help' 0 'LD_PRELOAD' "$tool" --help
expect 'version' 0 '^collshim [0-9]' "$tool" --version
refuses 'no command' 2 'a command is missing' "$tool"
refuses 'a misspelt command names the nearest' 2 'nearest is plan' "$tool" pln
for command in info topo plan; do
  expect "$command --help" 0 'collshim '$command "$tool" $command --help
  refuses "$command: unknown option" 2 'no option --nonsense' "$tool" $command --nonsense
done

expect 'info lists a setting with its value' 0 'COLLSHIM_MIN_BYTES +64KiB +default' "$tool" info
expect 'info tells the environment apart' 0 'COLLSHIM_MIN_BYTES +1MiB +environment' env COLLSHIM_MIN_BYTES=1M "$tool" info
expect 'info lists the algorithm' 0 'allgather +parallel_rings' "$tool" info
expect 'info --markdown is a table' 0 '^\| *`?COLLSHIM_MODE' "$tool" info --markdown
"$tool" info --json >"$dir/info.json"
expect 'info --json parses' 0 'parallel_rings' jq . "$dir/info.json"

expect 'topo explains a text' 0 '16 ranks' "$tool" topo 'node:4 socket:2 gpu:2 rail:4'
refuses 'topo refuses zero nodes' 1 'node' "$tool" topo 'node:0'
refuses 'topo refuses an unknown word' 1 'node' "$tool" topo 'nodes:4'
expect 'topo --output writes what topo reads' 0 '' "$tool" topo 'node:3 rank:4,3,4 rail:4' --output "$dir/topo"
expect 'topo reads a file' 0 '11 ranks' "$tool" topo "$dir/topo"

expect 'plan reaches the bound' 0 '1.000 of the bound' "$tool" plan allgather
expect 'plan --check' 0 '^checked' "$tool" plan allgather --check
expect 'plan --check of uneven counts on uneven nodes' 0 '^checked' "$tool" plan allgatherv \
  --topology 'node:3 rank:4,3,4 rail:4' --counts 1M,0,64K --chunk 10000 --check
expect 'plan --json parses' 0 '16777216' bash -c "'$tool' plan allgather --json | jq .total_bytes"
expect 'plan --rank lists operations' 0 'RECV' "$tool" plan allgather --rank 3
expect 'plan --dot is a graph' 0 '^digraph rank2' "$tool" plan allgather --dot --rank 2
expect 'plan --goal has all ranks' 0 '^rank 15 ' "$tool" plan allgather --goal
expect 'plan says what stays native' 0 'unless forced' "$tool" plan allgather --topology 'node:1 gpu:4'
refuses 'plan: no such collective' 2 "no collective 'gatherall'" "$tool" plan gatherall
refuses 'plan: no such algorithm' 2 "no algorithm 'bruck'" "$tool" plan allgather --algorithm bruck
refuses 'plan: a bad size' 2 "is no size" "$tool" plan allgather --bytes lots
refuses 'plan: too many counts' 2 'more sizes' "$tool" plan allgatherv --topology 'node:2' --counts 1,2,3
refuses 'plan: no such rank' 2 'is no rank' "$tool" plan allgather --rank 16
refuses 'plan: an impossible topology' 1 '' "$tool" plan allgather --topology 'node:-1'
refuses 'plan: a full disk is noticed' 1 '' bash -c "exec '$tool' plan allgather --goal >/dev/full"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
