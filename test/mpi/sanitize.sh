#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/mpi/sanitize.sh [--kind address|thread] [--only LIST] [--mpi NAME] [--programs N] [BUILD_DIR]: the suite of this
# folder with backends and helpers under gcc's sanitizers: address,undefined, or thread. The libraries and the programs
# are as they are, and so is libcollshim.so: its dlsym runs before a sanitizer can start. The sanitizer's runtime is
# preloaded in front of it. Reports are kept in BUILD_DIR/sanitize/mpi-KIND/reports; one counts if a frame of a backend
# is in it. --programs N: random programs (test/fuzz/programs.sh) instead of the suite.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
cd "$root" || exit 1
kind=address build=build programs=0 options=() library=
while [ $# -gt 0 ]; do
    case $1 in
        --kind) kind=${2:?} && shift ;;
        --programs) programs=${2:?} && shift ;;
        --mpi) library=${2:?} options+=("$1" "$2") && shift ;;
        --only) options+=("$1" "${2:?}") && shift ;;
        *) build=$1 ;;
    esac
    shift
done
case $kind in
    address) sanitizers=address,undefined runtime=(libasan.so libubsan.so) ;;
    thread) sanitizers=thread runtime=(libtsan.so) ;;
    *) echo "sanitize: --kind $kind: address or thread" >&2; exit 2 ;;
esac
dir=$build/sanitize/mpi-$kind
families=(openmpi mpich)
[ -z "$library" ] || families=("$library")
targets=("${families[@]/#/$dir/libcollshim-}")
mkdir -p "$dir"
make -s -j"$(nproc)" B="$dir" CFLAGS='-O1 -g' NVCC= SANITIZE=$sanitizers "$dir/collshim-helper" \
    "${targets[@]/%/.so}" >"$dir/build.log" 2>&1 || { tail "$dir/build.log"; exit 1; }

# The programs that are not under sanitizers, beside it.
cp -u "$build/libcollshim.so" "$dir"
ln -sf "$PWD/$build/collshim" "$dir"
for family in openmpi mpich abi; do
    mkdir -p "$dir/$family"
    ln -sfn "$PWD/$build/$family/test" "$dir/$family/test"
done
mkdir -p "$dir/test" && ln -sf "$PWD/$build/test"/* "$dir/test"

reports=$PWD/$dir/reports
rm -rf "$reports" && mkdir -p "$reports"
SANITIZER_RUNTIME=
for name in "${runtime[@]}"; do SANITIZER_RUNTIME+=$(gcc -print-file-name="$name"):; done
export SANITIZER_RUNTIME
# The libraries leak by design and are no part of this: a leak is looked at if a backend asked for the memory.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=1:log_path=$reports/asan:allocator_may_return_null=1:handle_segv=0
# Texts that the table of call sites holds: it is mapped, where the leak sanitizer does not look.
echo leak:site_table_object >"$dir/leak.suppressions"
export LSAN_OPTIONS=exitcode=0:print_suppressions=0:suppressions=$PWD/$dir/leak.suppressions UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/ubsan
# The libraries synchronise by instructions that were not instrumented: what only they do is left out.
printf '%s\n' 'called_from_lib:libmpi.so' 'called_from_lib:libopen-pal.so' 'called_from_lib:libopen-rte.so' \
    'called_from_lib:libmpich.so' 'called_from_lib:libpmix.so' 'called_from_lib:libucs.so' >"$dir/thread.suppressions"
export TSAN_OPTIONS=log_path=$reports/tsan:suppressions=$PWD/$dir/thread.suppressions:ignore_noninstrumented_modules=1:exitcode=0

if [ "$programs" -gt 0 ]; then
    out=$(test/fuzz/programs.sh --programs "$programs" ${library:+--mpi "$library"} "$dir") || :
else
    out=$(test/mpi/run.sh "${options[@]}" "$dir") || :
fi
grep -A 12 '^not ok' <<<"$out"
tail -n 1 <<<"$out"
mapfile -t ours < <(grep -lE 'libcollshim-(openmpi|mpich)\.so|(shim|planners|transports|config)/[a-z/_]+\.c:' "$reports"/* 2>/dev/null)
for report in "${ours[@]:0:10}"; do head -n 30 "$report"; done
echo "# $(find "$reports" -type f | wc -l) processes have reports, ${#ours[@]} of them name a backend: $reports"
ok "$kind: no report about a backend" "${#ours[@]}"
conclude
