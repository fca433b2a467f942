#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/preload/run.sh [BUILD_DIR]: libcollshim.so by itself.
#
# The real backends are not used: a test backend that counts and forwards lies beside a copy of
# the library, so that a failure here is the preload's own.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"

here=$root/test/preload
build=${1:-$root/build}

if [ ! -r "$build/libcollshim.so" ]; then
    echo "test/preload: $build/libcollshim.so is missing: run make first, or name the build" \
        "directory" >&2
    exit 1
fi
build=$(cd "$build" && pwd)
shim=$build/libcollshim.so

unset LD_BIND_NOW
warnings=(-std=gnu11 -O1 -g -Wall -Wextra -Wshadow)

# expect NAME WANTED GOT: equal texts
expect() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "wanted: $2"$'\n'"got:    $3"
    fi
}

# expect_match NAME PATTERN GOT: GOT, a single line, matches the shell pattern
expect_match() {
    # shellcheck disable=SC2053 # a pattern is meant
    if [[ $3 == $2 && $3 != *$'\n'* ]]; then
        pass "$1"
    else
        fail "$1" "wanted: $2"$'\n'"got:    $3"
    fi
}

# capture COMMAND...: sets out (stdout), err (stderr) and rc; never fails
capture() {
    rc=0
    out=$("$private_shm" timeout 180 "$@" 2>"$tmp/stderr" </dev/null) || rc=$?
    err=$(<"$tmp/stderr")
}

# lines PREFIX: the lines of the last command's stderr that begin with PREFIX
lines() {
    grep "^$1" <<<"$err" || true
}

# A copy of the library with the test backend beside it, of every family.
with=$tmp/with
alone=$tmp/alone
mkdir -p "$with" "$alone"
cp "$shim" "$with"
cp "$shim" "$alone"
for family in openmpi mpich abi; do
    gcc "${warnings[@]}" -shared -fPIC -I"$root" -o "$with/libcollshim-$family.so" \
        "$here/test_backend.c"
done

# shellcheck source=test/preload/cases_inert.sh
. "$here/cases_inert.sh"
# shellcheck source=test/preload/cases_fake.sh
. "$here/cases_fake.sh"
# shellcheck source=test/preload/cases_nccl.sh
. "$here/cases_nccl.sh"
# shellcheck source=test/preload/cases_mpi.sh
. "$here/cases_mpi.sh"

conclude
