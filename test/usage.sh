# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by a suite as it begins: --help prints the comment that the suite begins with, and an option
# that is not in it is refused.
suite_usage() {
    local text
    text=$(sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" | sed '1{/^$/d}')
    case ${1:-} in
        -h | --help) echo "$text" && exit 0 ;;
        -*)
            grep -qw -e "$1" <<<"$text" && return
            echo "${0##*/}: no option $1; --help says what there is" >&2
            exit 2
            ;;
    esac
}
suite_usage "$@"
