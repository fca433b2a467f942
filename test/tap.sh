# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by every suite as it begins: --help and unknown options (usage.sh), a temporary folder `tmp`
# (scripts/lib.sh), no settings of the caller's, and what the suite prints:
#
#     ok N - CLAIM
#     not ok N - CLAIM             and the reason, in lines that begin with #
#     ok N - CLAIM # SKIP REASON
#     N passed, N failed[, N skipped]
#
# scripts/test reads the last line. A suite that does not end with `conclude` has failed.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=test/usage.sh
. "$root/test/usage.sh"

clear_environment
passed=0 failed=0 skipped=0
claim_prefix= # what claims begin with, such as 'mpich: '

pass() { # pass CLAIM
    passed=$((passed + 1))
    echo "ok $((passed + failed + skipped)) - $claim_prefix$1"
}

fail() { # fail CLAIM [REASON]
    failed=$((failed + 1))
    echo "not ok $((passed + failed + skipped)) - $claim_prefix$1"
    [ -z "${2:-}" ] || echo "# ${2//$'\n'/$'\n'# }"
}

skip() { # skip CLAIM REASON
    skipped=$((skipped + 1))
    echo "ok $((passed + failed + skipped)) - $claim_prefix$1 # SKIP $2"
}

# ok CLAIM STATUS: the claim holds if the status is 0
ok() {
    if [ "$2" -eq 0 ]; then pass "$1"; else fail "$1"; fi
}

# check CLAIM COMMAND...: the claim holds if the command succeeds; otherwise its output is the reason
check() {
    if "${@:2}" >"$tmp/check" 2>&1; then pass "$1"; else fail "$1" "$(tail -n 20 "$tmp/check")"; fi
}

# add_claims NAME STATUS OUTPUT: those of a program that counts its own and ends like a suite
add_claims() {
    local p f
    read -r p f _ <<<"$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' <<<"$3") 0 0"
    passed=$((passed + p)) failed=$((failed + f))
    [ "$2" -eq 0 ] || [ "$f" -gt 0 ] || fail "$1: exit status $2, $p claims"
}

# skip_all REASON: ends a suite of which nothing can run here
skip_all() {
    echo "skip: $1"
    exit 77
}

# conclude: a suite's last command; fails if a claim has failed
conclude() {
    local line="$passed passed, $failed failed"
    [ "$skipped" -eq 0 ] || line+=", $skipped skipped"
    echo "$line"
    [ "$failed" -eq 0 ]
}
