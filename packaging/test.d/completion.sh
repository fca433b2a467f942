# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: what bash offers, from the installed file.

completion=$tree/share/bash-completion/completions
# shellcheck disable=SC1091
. "$completion/collshim"

# offers WORD...: for the words typed so far, of which the last is unfinished
offers() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _collshim
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
# offers_as WORDS WORD...
offers_as() {
    diff <(tr ' ' '\n' <<<"$1" | sort) <(offers "${@:2}")
}

subcommands=$("$build/collshim" --help | sed -nE 's/^  ([a-z]+) {2,}.*/\1/p' | grep -v '^collshim$')
check "completion: each subcommand" offers_as "$(tr '\n' ' ' <<<"$subcommands")--help --version" collshim ""
settings_offered() {
    local settings name
    settings=$("$build/collshim" info --man | sed -nE 's/^\\fBCOLLSHIM_([A-Z_]*).*/\1/p' | tr 'A-Z_' 'a-z-')
    [ "$(wc -l <<<"$settings")" -gt 10 ] || return 1
    for name in $settings; do
        if ! grep -qxF -- "--$name" <(offers collshim exec --) || ! grep -qxF -- "--$name" <(offers collshim-exec --); then
            echo "--$name is not offered"
            return 1
        fi
    done
}
check "completion: each setting, behind collshim exec and collshim-exec" settings_offered
# Nothing is offered that the command refuses.
options_known() {
    local subcommand option
    for subcommand in $subcommands; do
        for option in $(offers collshim "$subcommand" --); do
            case $(timeout 5 "$build/collshim" "$subcommand" "$option" 2>&1 </dev/null) in
                *"no option"*) echo "$subcommand $option"; return 1 ;;
            esac
        done
    done
}
check "completion: each option offered is one" options_known
values_known() {
    local value
    for value in $(offers collshim exec --mode ""); do
        COLLSHIM_MODE=$value "$build/collshim" info || return 1
    done >/dev/null
}
check "completion: values of a setting" offers_as "off on" collshim exec --mode o
check "completion: each value offered is one" values_known
check "completion: values behind =" offers_as "verify" collshim exec --mode = v
check "completion: a bool" offers_as "0 1" collshim-exec --exact ""
check "completion: a collective" offers_as "allgather allgatherv" collshim sim allg
check "completion: the command behind exec" grep -qx collshim-tune <(PATH=$tree/bin:$PATH; offers collshim exec --mode ab NAME = 1 -- collshim-tun)
check "completion: nothing of exec's behind its command" offers_as "" collshim exec true --mo
check "completion: collshim-exec has the file too" test "$completion/collshim-exec" -ef "$completion/collshim"
