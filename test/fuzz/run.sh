#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/fuzz/run.sh [BUILD_DIR]: every target of targets.def on the inputs that are kept in corpus/.
# test/fuzz/run.sh --seconds N [--only TARGET,...] [--keep] [BUILD_DIR]: new inputs by clang's libFuzzer, under the
# sanitizers for addresses and undefined behaviour, N seconds a target. The output ends with a table. An input that
# fails is left in BUILD_DIR/fuzz/findings. With --keep the corpus becomes the fewest, smallest inputs that reach what
# these and the old ones have reached.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
cd "$(dirname "$0")/../.." || exit 1
seconds=0 only='' keep=0 build=build corpus=test/fuzz/corpus
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2-} && shift ;;
    --only) only=${2-} && shift ;;
    --keep) keep=1 ;;
    *) build=$1 ;;
  esac
  shift
done
case $seconds in '' | *[!0-9]*) echo "fuzz: --seconds $seconds: a whole number is missing" >&2; exit 2 ;; esac
[ "$seconds" -gt 0 ] || exec "$build/test/fuzz" $corpus
command -v clang >/dev/null || skip_all 'clang is not installed (scripts/setup lint)'

dir=$build/fuzz findings=$build/fuzz/findings
mkdir -p "$findings"
echo '# building with clang' >&2
nice make -s -j"$(nproc)" B="$dir" CC="${FUZZ_CC:-clang}" CXX=clang++ CFLAGS='-O1 -g' NVCC= \
  SANITIZE=fuzzer-no-link,address,undefined "$dir/test/fuzz" >"$dir/build.log" 2>&1 || { grep error: "$dir/build.log"; exit 1; }
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# fuzz TARGET OPTION...: the target's own name stands in a variable, as options are libFuzzer's
fuzz() { FUZZ_TARGET=$1 nice "$dir/test/fuzz" -timeout=25 -rss_limit_mb=4096 "${@:2}"; }
# The last number behind these words of a log.
number() { grep -oE "$2:? +[0-9]+" "$1" | tail -n 1 | grep -oE '[0-9]+$' || echo 0; }

table=
mapfile -t targets < <(sed -nE 's/^TARGET\(([a-z]+),.*/\1/p' test/fuzz/targets.def)
for target in "${targets[@]}"; do
  [ -z "$only" ] || [[ ",$only," == *",$target,"* ]] || continue
  echo "# $target: $seconds s" >&2
  log=$dir/$target.log status=0
  mkdir -p "$tmp/$target" "$tmp/$target.least" "$corpus/$target"
  fuzz "$target" -max_total_time="$seconds" -max_len=4096 -use_value_profile=1 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "$tmp/$target" "$corpus/$target" >"$log" 2>&1 || status=$?
  [ $status -eq 0 ] || grep -E -m 3 'ERROR|does not hold|runtime error|Test unit written' "$log"
  if [ $keep -eq 1 ] && [ $status -eq 0 ] && fuzz "$target" -merge=1 -max_len=1024 "$tmp/$target.least" "$corpus/$target" "$tmp/$target" >>"$log" 2>&1 &&
    [ -n "$(ls "$tmp/$target.least")" ]; then
    rm -f "${corpus:?}/$target"/*
    cp "$tmp/$target.least"/* "$corpus/$target"
  fi
  ok "$target: no finding in $seconds s" $status
  table+=$(printf '%-12s %12d %8d %8d %9d' "$target" "$(number "$log" stat::number_of_executed_units)" \
    "$(number "$log" cov)" "$(find "$corpus/$target" -type f | wc -l)" $((status != 0)))$'\n'
done
printf '%-12s %12s %8s %8s %9s\n%s' TARGET RUNS EDGES KEPT FINDINGS "$table"
conclude
