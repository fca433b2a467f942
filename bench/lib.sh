# shellcheck shell=bash disable=SC2034,SC2154 # variables shared with the scripts that source it
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the bench scripts: options, what they need, pictures, and a cluster that goes when they end
# (scripts/lib.sh). They set `self`, their name in messages, and define `help`.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
build=$root/build
shim=$build/libcollshim.so
failed=no # yes: a run failed, or data were wrong

die() {
    printf '%s: %s\n' "$self" "$*" >&2
    exit 1
}

usage_error() {
    printf '%s: %s; see --help\n' "$self" "$*" >&2
    exit 2
}

# take_options 'WORD...' ARGUMENT...: WORD is `name` for --name VALUE, which sets the variable `name`; `name!`
# for --name, which sets it to yes; `...` if other arguments are allowed: they go into `words`.
take_options() {
    local known=" $1 " option
    shift
    words=()
    while (($#)); do
        option=${1#--}
        case $1 in
        -h | --help) help && exit 0 ;;
        --*[!a-z]*) usage_error "$1: no such option" ;;
        --*)
            if [[ $known == *" $option! "* ]]; then
                printf -v "$option" yes
            elif [[ $known == *" $option "* ]]; then
                (($# > 1)) || usage_error "$1 needs a value"
                printf -v "$option" %s "$2"
                shift
            else
                usage_error "$1: no such option"
            fi
            ;;
        *)
            [[ $1 != -* && $known == *" ... "* ]] || usage_error "$1: no such option"
            words+=("$1")
            ;;
        esac
        shift
    done
}

take_count() { # take_count OPTION VALUE
    [[ $2 =~ ^[1-9][0-9]*$ ]] || usage_error "$1 $2: expected a number from 1 up"
}

need() { # need FILE...: the build has made them
    local file
    for file; do [[ -e $file ]] || die "$file is missing; run make all test-programs first"; done
}

need_cluster() {
    [[ $EUID -eq 0 ]] || die "the emulated cluster needs root; run $self as root"
    command -v jq >/dev/null || die "jq is missing; run scripts/setup, or apt-get install jq"
}

# picture FILE [WIDTH,HEIGHT]: what gnuplot draws by the commands on stdin; without it a line says so.
picture() {
    if ! command -v gnuplot >/dev/null; then
        echo "$self: no picture: gnuplot is not installed (apt-get install gnuplot-nox)" >&2
        return
    fi
    gnuplot <(printf "set terminal pngcairo size %s noenhanced\nset output '%s'\n" "${2:-960,640}" "$1") -
    echo "picture: $1"
}
