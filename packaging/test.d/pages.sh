# shellcheck shell=bash disable=SC2154,SC2016,SC2013 # variables of packaging/test; commands of another shell
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by packaging/test: a manual page for each command, with what its --help says.

man=$tree/share/man
shown() { groff -man -Tascii -P-c -P-b -P-u -ww -rLL=200n "$1" 2>&1; }
has_help() { # PAGE COMMAND...: each option that --help explains is on the page
    local option
    "${@:2}" --help >"$tmp/help" || return 1
    shown "$man/$1" >"$tmp/page"
    ! grep -i 'warning:' "$tmp/page" || return 1
    for option in $(grep -oE -- '--[a-z][a-z-]+' "$tmp/help" | sort -u); do
        grep -qF -- "$option" "$tmp/page" || { echo "$option is missing"; return 1; }
    done
}
if command -v groff >/dev/null; then
    for subcommand in $subcommands; do
        check "pages: collshim-$subcommand(1)" has_help "man1/collshim-$subcommand.1" "$build/collshim" "$subcommand"
    done
    for program in "$tree"/bin/collshim-[bt]*; do
        check "pages: ${program##*/}(1)" has_help "man1/${program##*/}.1" "$program"
    done
    check "pages: collshim(1) names a subcommand's page" says "collshim-report" shown "$man/man1/collshim.1"
    for setting in COLLSHIM_MIN_BYTES "LD_PRELOAD=" "/etc/collshim/off"; do
        check "pages: collshim(7) has $setting" says "$setting" shown "$man/man7/collshim.7"
    done
else
    skip "pages" "groff is not installed"
fi
names_no_program() { # a page for each program in bin/
    local program
    for program in "$tree"/bin/*; do
        [ -s "$man/man1/${program##*/}.1" ] || { echo "${program##*/} has no page"; return 1; }
    done
}
check "pages: one for each program" names_no_program
# one for each word of `collshim --help` that is no program of its own; no other, and none is empty
subcommand_pages() {
    local page name
    for page in "$man"/man1/*.1; do
        name=$(basename "$page" .1)
        [ "$(wc -w <"$page")" -gt 40 ] || echo "$name is empty"
        [ -e "$tree/bin/$name" ] && [ "$name" != collshim-exec ] || echo "${name#collshim-}"
    done >"$tmp/pages"
    diff <(sort "$tmp/pages") <(sort <<<"$subcommands")
}
check "pages: those of the subcommands are the ones that collshim --help names" subcommand_pages
# A command without help has no page, and the build fails.
says_nothing() {
    printf '#!/bin/sh\n[ "$1" = --version ] && echo "collshim 1"\n[ $# -gt 1 ] || echo "  info     show"\nexit 0\n' >"$tmp/mute"
    chmod +x "$tmp/mute"
    ! "$root/scripts/manpage" "$tmp/mute" collshim-info.1 2>"$tmp/why" >/dev/null && grep -F "explains nothing" "$tmp/why"
}
check "pages: a command that explains nothing has none" says_nothing
check "pages: no folder of this machine" lacks "$man" "$completion"
