# shellcheck shell=bash disable=SC2154 # the variables of run.sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of the library, and its absence of effect on a process without MPI.

# table_names PREFIX: the names of symbols.def, sorted
table_names() {
    printf '#define SYMBOL(name, n) %s##name\n#include "shim/preload/symbols.def"\n' "$1" |
        gcc -E -P -I"$root" -x c - | tr -s ' ' '\n' | grep . | sort
}

expect "NEEDs libc only" "libc.so.6" \
    "$(readelf -dW "$shim" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"

# The functions of NCCL that are replaced, sorted, and dlsym, by which programs look for them.
nccl_names() {
    printf '#define NCCL_WRAP(need, name, parameters, arguments) nccl##name\n#include "transports/net/nccl_calls.def"\n' |
        gcc -E -P -I"$root" -x c - | tr -s ' ' '\n' | grep .
}

expect "exports the tables' names, dlsym, PMIx_Put and nothing else" \
    "$({ table_names MPI_; table_names PMPI_; nccl_names; printf '%s\n' dlsym PMIx_Put; } | sort)" \
    "$(nm -D --defined-only "$shim" | awk '{print $3}' | sort)"

# The compiler's own start file has one entry; a constructor of ours would be a second.
entries=$(readelf -dW "$shim" | awk '/\(INIT_ARRAYSZ\)/ {print $3 / 8}')
if [ "${entries:-0}" -le 1 ] && ! readelf -dW "$shim" | grep -q PREINIT; then
    pass "has no constructor"
else
    fail "has no constructor" "init_array has ${entries:-0} entries"
fi

# A program's plugins may need all static thread-local memory that the C library keeps for libraries opened late.
expect "no backend takes static thread-local memory" "" \
    "$(for f in "$build"/libcollshim-*.so; do readelf -dW "$f" | sed -n "s,.*STATIC_TLS.*,${f##*/},p"; done)"

if [ "$(uname -m)" = x86_64 ]; then
    # After binding a call costs one indirect jump, with any number of arguments.
    expect "each stub is a single jump through its slot" \
        "$({ table_names MPI_; table_names PMPI_; } | sort | sed 's/.*/& jmp slot_&/')" \
        "$(objdump -d --no-show-raw-insn "$shim" | awk '
            /^[0-9a-f]+ <P?MPI_.*>:$/ { stub = $2; gsub(/[<>:]/, "", stub); code = ""; next }
            /^$/ { if (stub) print stub code; stub = ""; next }
            stub && $2 != "nop" && !/nopw|nopl|xchg +%ax,%ax|endbr64/ {
                target = $NF; gsub(/[<>]/, "", target); code = code " " $2 " " target }
            END { if (stub) print stub code }' | sort)"
else
    skip "each stub is a single jump through its slot" "disassembly is read on x86_64 only"
fi

cat >"$tmp/hello.c" <<'C'
#include <stdio.h>
int main(void)
{
    return puts("hello") < 0;
}
C
gcc -static -o "$tmp/static" "$tmp/hello.c"

# inert NAME COMMAND...: the same output, errors and code without the library and with it
inert() {
    local name=$1 bare
    shift
    if ! command -v "$1" >/dev/null; then
        skip "inert in $name" "$1 is not installed"
        return
    fi
    capture "$@"
    bare="$rc|$out|$err"
    capture env LD_PRELOAD="$shim" "$@"
    expect "inert in $name" "$bare" "$rc|$out|$err"
    capture env LD_PRELOAD="$shim" LD_BIND_NOW=1 "$@"
    expect "inert in $name, LD_BIND_NOW=1" "$bare" "$rc|$out|$err"
}

inert ls /bin/ls -la "$root/shim"
# shellcheck disable=SC2016 # the inner bash expands it
inert bash bash -c 'echo "$((6 * 7))"; (exit 3); ls -d / | cat; exit 5'
inert python3 /usr/bin/python3 -c 'import ctypes, json, subprocess, threading
t = threading.Thread(target=print, args=("in a thread",)); t.start(); t.join()
print(json.dumps([1, 2]), ctypes.CDLL(None).abs(-3), subprocess.run(["true"]).returncode)'
inert git git hash-object "$root/shim/preload/symbols.def"
inert perl perl -e 'use POSIX; print floor(2.5), "\n"; print STDERR "err\n"; exit 4'
inert "a static program" "$tmp/static"
inert "Open MPI's mpirun" mpirun.openmpi --oversubscribe -n 2 /bin/echo hello
# Hydra dies of SIGPIPE where a program ends while its proxies still start: 2 % of launches of echo on busy cores.
inert "MPICH's mpiexec" mpiexec.mpich -n 2 /bin/sh -c 'sleep .2; echo hello'
