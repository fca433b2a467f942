#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/docs/run.sh [--long] [BUILD_DIR]
#
# README.md and docs/ say what is so: parts made from the code are up to date, links lead somewhere, commands
# are understood, README.md and sentences are short, every setting has a purpose, the web pages are whole (with
# pandoc), and the five tasks of docs/tasks.md do what they say, in a copy of the tree.
#
#   --long   also runs the unit tests over the algorithm that the fourth task adds
set -u
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
long=0
[[ ${1:-} != --long ]] || { long=1 && shift; }
build=$(realpath "${1:-$root/build}")
cd "$root" || exit 1
here=test/docs

check "what follows from the code is as scripts/docs makes it" scripts/docs --check "$build"
check "links and paths lead somewhere" python3 $here/links.py "$root"
check "commands are understood" python3 $here/commands.py "$root" "$build"

# at_most LIMIT NUMBER
at_most() { [[ $2 -le $1 ]] || { echo "$2, at most $1" && return 1; }; }
check "README.md has at most 150 lines" at_most 150 "$(wc -l <README.md)"
check "README.md has at most 1,200 words" at_most 1200 "$(wc -w <README.md)"
mapfile -t manual < <(find README.md docs -name '*.md' | sort)
check "no sentence has over 40 words, and 20 on average" python3 $here/prose.py --most 40 --mean 20 "${manual[@]}"

purposes() {
    "$build/collshim" info --json | jq -r '.settings[].variable' | while read -r name; do
        sed -n '/^## Settings by purpose/,/^## Modes/p' docs/using.md | grep -q "^| .*\`$name\`" || echo "$name has no purpose"
    done >"$tmp/purposes"
    cat "$tmp/purposes"
    [[ ! -s $tmp/purposes ]]
}
short_readme() { at_most 120 "$(wc -l <"$1")" && python3 $here/prose.py --most 40 "$1"; }
short_readmes() {
    local one status=0
    while read -r one; do
        short_readme "$one" || { echo "$one is too long" && status=1; }
    done < <(find . -path ./build -prune -o -name README.md -printf '%P\n' | grep /)
    return $status
}
check "a folder's README has at most 120 lines, no sentence over 40 words" short_readmes
check "each table of figures has its command" bench/figures --list
check "docs/using.md names each setting's purpose" purposes

topology() {
    local word text status=0
    while read -r word; do
        grep -q "^|.*\`$word:" docs/files.md || { echo "no row for the word $word:" && status=1; }
    done < <(sed -nE 's/^    \{"(\w+)", read_.*/\1/p' config/topo_parse.c)
    while read -r text; do
        "$build/collshim" topo "$text" >/dev/null || { echo "not understood: $text" && status=1; }
    done < <(sed -nE 's/^    (node:.*[^ ])   +.*/\1/p; s/^    (node:[^ ]+( [a-z_]+:[^ ]+)*)$/\1/p' docs/files.md)
    return $status
}
check "docs/files.md has each word of a topology, and its examples are understood" topology

if type pandoc >/dev/null 2>&1; then
    site() { scripts/site "$tmp/site" && python3 $here/site.py "$tmp/site"; }
    check "web pages: links, tables, pictures" site
else
    skip "web pages: links, tables, pictures" "pandoc is missing (scripts/setup docs)"
fi

# A copy, with the build, so that only what a task changes is compiled.
copy=$tmp/tree
mkdir "$copy"
tar -c --exclude=./.git --exclude=./build . | tar -x -C "$copy"
mkdir "$copy/build"
tar -c -C "$build" --exclude=./wheels --exclude=./lmod --exclude=./site --exclude=./bench --exclude=./test/logs . | tar -x -C "$copy/build"
export HOME=$tmp/home OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
tasks() {
    out=$("$private_shm" python3 $here/tasks.py docs/tasks.md "$copy" "$@")
    status=$?
    grep -v ' passed, ' <<<"$out" | sed "s/^\(ok\|not ok\) [0-9]* - /\1 - /"
    add_claims tasks $status "$out"
}
if type mpirun mpif90 >/dev/null 2>&1 && mpirun --version 2>/dev/null | grep -q 'Open MPI' && [[ -x $build/collshim-bench-openmpi ]]; then
    tasks 1 2 3
else
    skip "tasks 1 to 3" "they need Open MPI as mpirun and mpif90"
fi
tasks 4 5
[[ $long == 0 ]] || check "the added algorithm in the unit tests" make -s -C "$copy" unit
conclude
