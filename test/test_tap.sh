#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/test_tap.sh: what every other suite relies on: a claim that fails fails its suite, and nothing is
# left behind, however a suite or a job ends.
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

# suite STATUS LAST-LINE TEXT: a suite of this text ends so, and its folder is gone. $tmp/out has its output.
suite() {
    local status=0
    printf '%s\n' "set -euo pipefail" ". '$root/test/tap.sh'" "echo \$tmp >'$tmp/folder'" "$3" >"$tmp/suite"
    bash "$tmp/suite" >"$tmp/out" 2>&1 || status=$?
    cat "$tmp/out"
    [ "$status" -eq "$1" ] && [ "$(tail -n 1 "$tmp/out")" = "$2" ] && [ ! -e "$(<"$tmp/folder")" ]
}

check "claims that hold" suite 0 '3 passed, 0 failed' 'pass a; ok b 0; check c true; conclude'
check "a claim that fails fails the suite" suite 1 '1 passed, 1 failed' 'check a bash -c "echo why; exit 3"; pass b; conclude'
check "its output is the reason" grep -qx '# why' "$tmp/out"
check "a status that is not 0 fails it" suite 1 '0 passed, 1 failed' 'ok a 2; conclude'
check "a skip does not count as passed" suite 0 '0 passed, 0 failed, 1 skipped' 'claim_prefix="m: "; skip a "no b"; conclude'
check "it says why" grep -qx 'ok 1 - m: a # SKIP no b' "$tmp/out"
check "a program's own claims count" suite 1 '5 passed, 2 failed' 'pass a; add_claims p 1 "4 passed, 2 failed"; conclude'
check "a program that dies fails it" suite 1 '4 passed, 1 failed' 'add_claims p 139 "4 passed, 0 failed"; conclude'
check "nothing to try: status 77" suite 77 'skip: no GPU' 'skip_all "no GPU"'
check "a suite that dies has no last line" suite 1 'ok 1 - a' 'pass a; false; conclude'
check "a suite that is killed: what is due at exit, the last first" \
    suite 143 first 'at_exit echo first; at_exit echo "then  this"; kill $$; sleep 9'
check "words stay whole" grep -qx 'then  this' "$tmp/out"
# killed COMMAND: a suite that runs it is killed; it ends at once, and so does what it runs
killed() {
    local pid status=0 tries
    printf '%s\n' ". '$root/test/tap.sh'" "echo \$tmp >'$tmp/folder'" "$1" >"$tmp/suite"
    rm -f "$tmp/folder" "$tmp/job"
    bash "$tmp/suite" >"$tmp/out" 2>&1 &
    pid=$!
    for ((tries = 0; tries < 300; tries++)); do
        [ ! -s "$tmp/job" ] || break
        sleep 0.1
    done
    kill -TERM "$pid"
    wait "$pid" 2>/dev/null || status=$?
    cat "$tmp/out"
    [ "$status" -eq 143 ] && [ -s "$tmp/job" ] && [ ! -e "$(<"$tmp/folder")" ] && ! kill -0 "$(<"$tmp/job")" 2>/dev/null
}
job="timeout 99 sh -c 'echo \$\$ >$tmp/job; exec sleep 99'"
check "a suite that is killed ends its job, which it reads" killed "out=\$(\"\$private_shm\" $job)"
check "and one that it waits for" killed "check a \"\$private_shm\" $job"
# shellcheck disable=SC2016 # the suite's
COLLSHIM_MODE=off check "the caller's settings are gone" suite 0 'ok 1 - []' 'pass "[${!COLLSHIM_@}]"'

# shellcheck disable=SC2016 # the inner shells'
if unshare --mount true 2>/dev/null; then
    check "what is mounted in the folder is unmounted" suite 0 'ok 1 - a' 'mkdir $tmp/m; mount -t tmpfs x $tmp/m; pass a'
    check "a job that is killed had shared memory" bash -c \
        '"$0" bash -c "echo >/dev/shm/collshim-$1 && kill -KILL \$\$"; [ $? -eq 137 ]' "$private_shm" $$
    check "it is gone" test ! -e "/dev/shm/collshim-$$"
    # With an empty /tmp, which may hide the tree: hence the relative path.
    unit_killed() {
        unshare --mount bash -c 'cd "$0" && mount -t tmpfs x /tmp || exit 1
            setsid ./unit >/dev/null 2>&1 &
            for ((i = 0; i < 300; i++)); do ls /tmp/collshim-unit-* 2>/dev/null && break; sleep 0.1; done
            [ "$i" -lt 300 ] && kill -TERM $! || exit 1
            wait $!
            [ $? -eq 143 ] && [ -z "$(ls /tmp)" ]' "$root/build"
    }
    if [ -x "$root/build/unit" ]; then
        check "unit tests that are killed leave no folder" unit_killed
    else
        skip "unit tests that are killed leave no folder" "build/unit is missing"
    fi
else
    skip "mounts and shared memory" "no mount name space of its own"
fi
conclude
