# shellcheck shell=bash disable=SC2154,SC2016 # variables of test/cli/run.sh, which sources this; the inner shell's
# SPDX-License-Identifier: BSD-3-Clause
#
# `collshim exec`: what the command it runs gets, and how it ends.

ours=${collshim%/*}/libcollshim.so
shown='echo "preload=$LD_PRELOAD"'
exec_() { "$collshim" exec "$@"; }

# gets TEXT COMMAND...: TEXT is all that it prints
gets() {
    local got
    if ! got=$("${@:2}" 2>&1) || [[ $got != "$1" ]]; then
        echo "$got"
        return 1
    fi
}

check "collshim exec: the preload" gets "preload=$ours" exec_ -- sh -c "$shown"
check "collshim exec: without --, options of the command are its own" gets "preload=$ours" exec_ sh -c "$shown"
check "collshim exec: other preloads stay" gets "preload=$ours:libdl.so.2" \
    env LD_PRELOAD=libdl.so.2 "$collshim" exec -- sh -c "$shown"
check "collshim exec: twice is once" gets "preload=$ours" exec_ -- "$collshim" exec -- sh -c "$shown"
check "collshim exec: another version's makes room" gets "preload=libdl.so.2:$ours" \
    exec_ LD_PRELOAD=libdl.so.2:/none/libcollshim.so -- sh -c "$shown"
check "collshim exec: settings" gets "ab 2M 1" \
    exec_ --mode ab --min-bytes=2M A=1 -- sh -c 'echo $COLLSHIM_MODE $COLLSHIM_MIN_BYTES $A'
check "collshim exec: the command's exit status" run 7 "$collshim" exec -- sh -c 'exit 7'
check "collshim exec: the command sees its own arguments" gets "<-x> <--> <a b>" \
    exec_ -- sh -c 'echo "<$1> <$2> <$3>"' sh -x -- 'a b'
if echo 'int main(void) { return 7; }' | cc -fsanitize=address -x c -o sanitized - 2>/dev/null && run 7 env ASAN_OPTIONS=detect_leaks=0 ./sanitized; then
    check "collshim exec: a program with the runtime of -fsanitize=address" \
        run 7 env ASAN_OPTIONS=detect_leaks=0 "$collshim" exec -- ./sanitized
else
    skip "collshim exec: a program with the runtime of -fsanitize=address" "this compiler has none"
fi
expect 127 "none/app: No such file" "$collshim" exec -- none/app
: >plain
expect 126 "Permission denied" "$collshim" exec -- ./plain
expect 2 "a command is missing" "$collshim" exec --mode ab
expect 2 "no option --mod, the nearest is --mode" "$collshim" exec --mod=ab -- true
expect 2 "expected on, off, ab or verify" "$collshim" exec --mode fast -- true
expect 2 "the nearest is COLLSHIM_MODE" "$collshim" exec COLLSHIM_MOD=ab -- true
expect 2 "--mode needs a value" "$collshim" exec --mode
expect 2 "--library: none.so: No such file" "$collshim" exec --library none.so -- true
expect 2 "the command goes behind --" "$collshim" exec -n 4
expect 0 "mpirun -np 16 collshim exec -- ./app" "$collshim" exec --help

# An installation that is mounted elsewhere, as in a container, and one that lacks the preload.
mkdir -p "elsewhere/bin" "elsewhere/lib" "bare/bin" "a blank/lib" "a blank/bin"
cp "$ours" elsewhere/lib
cp "$ours" "a blank/lib"
for at in elsewhere bare "a blank"; do cp "$collshim-exec" "$at/bin"; done
check "collshim-exec needs libc alone" gets "" \
    bash -c "readelf -d '$collshim-exec' | grep NEEDED | grep -vE 'libc\.so|ld-linux' || true"
check "the preload is found beside the command" gets "preload=$PWD/elsewhere/lib/libcollshim.so" \
    elsewhere/bin/collshim-exec sh -c "$shown"
check "through a link too" gets "preload=$PWD/elsewhere/lib/libcollshim.so" \
    bash -c 'ln -s elsewhere now; now/bin/collshim-exec sh -c "$1"' bash "$shown"
without="the command runs natively)
preload="
check "without the preload the command runs, and a line says why" \
    bash -c '[[ $(bare/bin/collshim-exec sh -c "$1" 2>&1) == *"libcollshim.so is neither "*"$2" ]]' bash "$shown" "$without"
check "a blank in the path likewise" \
    bash -c '[[ $("a blank/bin/collshim-exec" sh -c "$1" 2>&1) == *"libcollshim.so has a blank"*"$2" ]]' bash "$shown" "$without"
check "of the ranks, rank 0 says it" gets "preload=" env PMI_RANK=1 bare/bin/collshim-exec sh -c "$shown"
