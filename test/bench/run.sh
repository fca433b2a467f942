#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test/bench/run.sh [BUILD_DIR]: the bench verifies what it times and writes what others can read. Its
# figures are not judged.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

build=$(readlink -f "${1:-$root/build}")

bench() {
  local family=$1
  shift
  case $family in
    openmpi) "$private_shm" timeout 300 mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 3 \
      -x LD_PRELOAD="$build/libcollshim.so" -x COLLSHIM_MIN_BYTES=0 -x COLLSHIM_TOPOLOGY='node:3' \
      "$build/collshim-bench-openmpi" --repetitions 2 --native default "$@" ;;
    mpich) LD_PRELOAD=$build/libcollshim.so:$build/test/yield.so COLLSHIM_MIN_BYTES=0 COLLSHIM_TOPOLOGY='node:3' \
      "$private_shm" timeout 300 mpiexec.mpich -n 3 "$build/collshim-bench-mpich" --repetitions 2 --native default "$@" ;;
  esac
}
fails() { ! "$@"; }
refuses() { # with 2, in one line
  local status=0
  "$@" >"$tmp/refused" 2>&1 || status=$?
  cat "$tmp/refused"
  [ "$status" -eq 2 ] && [ "$(wc -l <"$tmp/refused")" -eq 1 ]
}
refuses_name() { # with the right names
  local said
  ! said=$("$@" 2>&1) && grep -q -- '--alone bogus: allgather has here: auto ' <<<"$said"
}
keys='has("collective") and has("algorithm") and has("ranks") and has("nodes") and has("bytes_per_rank")
  and has("native_us") and has("collshim_us") and has("ratio") and has("bound_us")
  and has("bound_fraction") and .verified == true and .collshim_us > 0'
settled='has("bound_us") and .native_default_us > 0 and .settled_us > 0 and .verified == true
  and (.behind - .settled_us / .native_default_us + 1 | fabs) < 1e-3 and (.settling_cost | type) == "number"'

for family in openmpi mpich; do
  if [ ! -x "$build/collshim-bench-$family" ]; then
    skip "$family" "not built"
    continue
  fi
  check "$family: both collectives, odd sizes, verified" \
    bench "$family" --collective all --bytes 1,1001,64K --json "$tmp/$family.jsonl"
  check "$family: every line has the keys and is verified" jq -es "length > 0 and all(.[]; $keys)" "$tmp/$family.jsonl"
  check "$family: a settled size says how far it is behind and what settling cost" \
    bench "$family" --collective gather --bytes 64K --settle 40 --json "$tmp/$family.settled"
  check "$family: every such line has the keys and is verified" \
    jq -es "length == 1 and all(.[]; $settled)" "$tmp/$family.settled"
  check "$family: collshim alone" bench "$family" --bytes 1K --alone collshim --json "$tmp/$family.one"
  check "$family: the library alone" bench "$family" --bytes 1K --alone auto --json "$tmp/$family.auto"
  check "$family: nothing else was timed" jq -es '.[0].native_us == null and .[0].native_each_us == {} and
    .[0].collshim_us > 0 and .[1].collshim_us == null and (.[1].native_each_us | keys) == ["auto"] and
    .[1].native_each_us.auto > 0' "$tmp/$family.one" "$tmp/$family.auto"
  check "$family: an algorithm that there is not" refuses_name bench "$family" --bytes 1K --alone bogus
  check "$family: a spoilt byte is found" fails bench "$family" --bytes 1001 --corrupt
  printf '0 5 0\n1 0 2\n0 0 0\n' >"$tmp/demand" # 8 in all: 300 bytes per rank are 900, 562 of them from 0 to 1
  check "$family: an exchange as a file says" \
    bench "$family" --collective alltoallv --demand "$tmp/demand" --bytes 300 --json "$tmp/$family.v.jsonl"
  check "$family: it is of that size" jq -e '.verified == true and .total_bytes >= 899 and .total_bytes <= 901' "$tmp/$family.v.jsonl"
  echo 0 5 >"$tmp/demand"
  check "$family: a file for another number of ranks is refused" \
    fails bench "$family" --collective alltoallv --demand "$tmp/demand" --bytes 300
  check "$family: a wrong option is refused" fails bench "$family" --bites 3
  check "$family: settling alone" bench "$family" --collective allreduce --bytes 1K --settle 40 --alone collshim --json "$tmp/$family.own"
  check "$family: the library's choice settles alone" \
    bench "$family" --collective allreduce --bytes 1K --settle 40 --alone auto --json "$tmp/$family.lone"
  check "$family: each has its first calls and its last" jq -es 'map(.contender) == ["collshim", "auto"] and
    all(.[]; .calls == 40 and .first_us > 0 and .early_us > 0 and .settled_us > 0 and .verified)' "$tmp/$family.own" "$tmp/$family.lone"
done
for bad in '--table own --form x' '--table own --sizes 3x' '--alone 3' '--grid --alone 0' '--trained 3'; do
  # shellcheck disable=SC2086 # words
  check "bench/run $bad is refused" refuses "$root/bench/run" $bad
done
never() { # JOB [OPTION...]: a job on this machine, with results in $tmp/never
  "$root/bench/never/run" --place one --seconds 1 --out "$tmp/never" --job "$@"
}
finds() { # TEXT COMMAND...: it fails with 1, and says so
  local status=0
  "${@:2}" >"$tmp/found" 2>&1 || status=$?
  cat "$tmp/found"
  [ "$status" -eq 1 ] && grep -q "$1" "$tmp/found"
}
if [ ! -x "$build/collshim-never-openmpi" ] || [ "$build" != "$root/build" ]; then
  skip 'never: jobs with the preload and without' 'not built in build/'
else
  never 0 >"$tmp/check" 2>&1 || true # whether it is slower is not judged
  check 'never: a job has four runs or more with the same results' jq -es 'length == 1 and (.[0] | .failed == "" and .same and
    .job == 0 and .calls == 1 and (.none_us | length) >= 2 and (.preload_us | length) == (.none_us | length) and .ratio > 0)' \
    "$tmp/never/jobs.jsonl"
  check 'never: a job that the preload delays is slower' finds '^SLOWER: job 0,' never 0 --delay 100000
  check 'never: a wrong byte is found' finds '^WRONG: job 3,' never 3 --corrupt
  for bad in '--place two' '--jobs 0' '--mpi none' '--preload /nowhere'; do
    # shellcheck disable=SC2086 # words
    check "never: $bad is refused" refuses "$root/bench/never/run" $bad
  done
fi
check 'planning: every algorithm, small and large machine' \
  bash -c "'$build/test/bench_plan' 5 | jq -es 'length > 1 and all(.[]; .median_us > 0)'"
# Applications with tiny inputs, on two ranks.
apps() { "$root/bench/apps/run" --quick --json "$tmp/apps.jsonl" --preload "$build/libcollshim.so" "$@"; }
spoilt() { # a preload that changes a result is found
  "mpicc.$1" -shared -fPIC -o "$tmp/spoil.so" -x c - <<'C' || return 1
#include <mpi.h>
int MPI_Reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    int rank, rc = PMPI_Reduce(from, to, n, type, op, root, comm);

    PMPI_Comm_rank(comm, &rank);
    if (rank == root)
        ++*(char *)to;
    return rc;
}
C
  ! apps --mpi "$1" --only moe-0.9 --preload "$tmp/spoil.so" 2>"$tmp/said" && grep -q 'another result' "$tmp/said"
}
for family in openmpi mpich; do
  if [ ! -e "$build/libcollshim-$family.so" ]; then
    skip "apps, $family" "not built"
    continue
  fi
  check "apps, $family: experts, and the FFT where FFTW is" apps --mpi $family --only moe-0.9,fft-64
  check "apps, $family: a preload that changes a result is found" spoilt $family
done
check 'apps: every figure has its keys' jq -es 'length > 0 and all(.[]; .native > 0 and .preload > 0 and .ratio > 0 and
  .calls > 0 and .rerouted >= 0 and .same_results and .emulated == false and .ranks == 2)' "$tmp/apps.jsonl"
for bad in '--only none' '--place here' '--repeats 0' '--mpi intel'; do
  # shellcheck disable=SC2086 # words
  check "apps: $bad is refused" refuses "$root/bench/apps/run" $bad
done
if [ "$EUID" -ne 0 ] || [ ! -e "$build/libcollshim-openmpi.so" ]; then
  skip 'rails that differ and change' 'needs root and Open MPI'
else
  check 'rails that differ and change: the table and the job run' "$root/bench/rails/run" --quick --name "r$$" --out "$tmp/rails"
  check 'rails: the table has its keys, is verified and emulated' jq -es 'length == 1 and all(.[]; .verified and .emulated and
    .collshim_ms > 0 and .native_ms > 0 and .bound_ms > 0 and .bound_fraction > 0 and .ratio > 0 and .slow == "1.1.25")' \
    "$tmp/rails/results.jsonl"
  # shellcheck disable=SC2016 # awk's
  check 'rails: the job has all calls, a higher bound while the rail is slow, and right results' \
    awk '{ n += 1; wrong += $5 != 1; bound[$1 >= 4 && $1 < 8] = $4 } END { exit !(n == 12 && !wrong && bound[1] > 1.3 * bound[0]) }' \
    "$tmp/rails/fall.dat"
  check 'rails: collshim sees its own calls alone, 12 and one before them' \
    jq -e '.collectives[] | select(.collective == "allgather") | .calls == 4 * 13' "$tmp/rails/report.json"
  check 'rails: its cluster is gone' fails grep -q "fabric-r$$-" <(ip netns list)
  check 'rails: a trial' "$root/bench/rails/run" --quick --trials 1 --name "r$$" --out "$tmp/rails"
  # shellcheck disable=SC2016 # awk's
  check 'rails: a trial has its row, and calls with right results while the rail is slow and behind that' \
    awk 'FNR == NR { if (FNR == 2) { rows = NF == 7; down = $3 }; next }
         $1 != "pause" { n += 1; wrong += $4 != 1 }
         END { exit !(rows && down >= 20 && down < 50 && n == down + 85 && !wrong) }' \
    "$tmp/rails/trials.txt" "$tmp/rails/trial-1.lines"
  for bad in '--mpi none' '--collectives all' '--sizes 1x' '--scenes none' '--calls 0' '--frames 3' '--trials 0' \
    '--seed x' '--trials 2 --fall stall'; do
    # shellcheck disable=SC2086 # words
    check "rails: $bad is refused" refuses "$root/bench/rails/run" $bad
  done
fi
conclude
