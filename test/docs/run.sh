#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/docs/run.sh [--long] [BUILD_DIR]
#
# README.md and docs/ are true: parts made from the code are up to date, links lead somewhere, commands are
# understood, README.md and sentences are short, and every setting has a purpose. The web pages are whole
# (with pandoc). The five tasks of docs/tasks.md do what they say, in a copy of the tree.
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
export PYTHONPATH=$root/scripts/prose.d PYTHONDONTWRITEBYTECODE=1

check "what follows from the code is as scripts/docs makes it" scripts/docs --check "$build"
check "links and paths lead somewhere" python3 $here/links.py "$root"
check "commands are understood" python3 $here/commands.py "$root" "$build"

# at_most LIMIT NUMBER
at_most() { [[ $2 -le $1 ]] || { echo "$2, at most $1" && return 1; }; }
check "README.md has at most 150 lines" at_most 150 "$(wc -l <README.md)"
check "README.md has at most 1,200 words" at_most 1200 "$(wc -w <README.md)"
mapfile -t manual < <(find README.md docs -name '*.md' | sort)
check "no sentence has over 40 words, and 20 on average" scripts/prose --lengths "${manual[@]}"

mapfile -t every < <(find . -path ./build -prune -o -name '*.md' -printf '%P\n' | sort)
check "each claim of speed has its label and command" python3 $here/labels.py "${every[@]}"
# A claim without them is found.
unlabelled() {
    printf '%s\n' 'An Allreduce takes 5 ms.' >"$tmp/claim.md"
    ! python3 $here/labels.py "$tmp/claim.md" >/dev/null || return 1
    # shellcheck disable=SC2016
    printf '%s\n' 'An Allreduce takes 5 ms (emulated, `bench/run`).' >"$tmp/claim.md"
    python3 $here/labels.py "$tmp/claim.md"
}
check "a claim of speed without label and command is found" unlabelled

purposes() {
    "$build/collshim" info --json | jq -r '.settings[].variable' | while read -r name; do
        sed -n '/^## Settings by purpose/,/^## Modes/p' docs/using.md | grep -q "^| .*\`$name\`" || echo "$name has no purpose"
    done >"$tmp/purposes"
    cat "$tmp/purposes"
    [[ ! -s $tmp/purposes ]]
}
short_readme() { at_most 120 "$(wc -l <"$1")" && scripts/prose --lengths "$1"; }
short_readmes() {
    local one status=0
    while read -r one; do
        short_readme "$one" || { echo "$one is too long" && status=1; }
    done < <(find . -path ./build -prune -o -name README.md -printf '%P\n' | grep /)
    return $status
}
check "a folder's README has at most 120 lines, no sentence over 40 words" short_readmes
# wording NAME TEXT EXPECTED: scripts/prose finds EXPECTED in a file of that name, or with '' nothing; else sets `status`.
wording() {
    local found
    printf '%b\n' "$2" >"$tmp/prose.$1"
    found=$(scripts/prose "$tmp/prose.$1")
    [[ -z $3 && -z $found ]] && return
    [[ -n $3 && $found == *"$3"* ]] || { echo "$1: expected '$3' in: $found"; status=1; }
}
wordings() {
    local long status=0
    long=$(printf 'word %.0s' {1..40})
    wording c '/* Who comes first waits for the others. */' '"Who"'
    wording h '/* what comes first */' '"what"'
    wording c 'say("nobody knows why the file\\n" "is missing");' '"nobody"'
    wording c '/* The rank waits for the the file. */' '"the": Double word.'
    wording h "/*\n * $long\n * ends.\n */" 'a sentence of 41 words'
    wording sh "# ${long% } ends." 'a sentence of 41 words'
    wording sh "cat <<'TXT'\nIt looks in vain for a file.\nTXT" '"in vain"'
    wording py '"""Whatever comes is read."""' '"Whatever"'
    wording md "${long% word *}. ${long:0:150}." 'words on average'
    wording md '| a | It is of no use whatever. |' '"whatever"'
    wording c '/* The first rank waits. What does it wait for? */\nsay("the file is missing in %s", x);' ''
    wording c '/* A file may grow, so one can wait. */' 'one can"'
    wording c '/* A slow rank may wait, but a fast one may not. */' ''
    wording c "say(\"Examples:\\n  collshim $long\\n\");" ''
    # shellcheck disable=SC2016
    wording md 'The first rank waits. `whoever` is a word.\n\n    Who is code.' ''
    return $status
}
if type diction >/dev/null 2>&1; then
    check "scripts/prose finds faults of wording" wordings
else
    skip "scripts/prose finds faults of wording" "diction is missing (scripts/setup lint)"
fi

check "each table of figures has its command" bench/figures --list
in_results() {
    local figure what number _ status=0
    while IFS=$'\t' read -r figure what number _; do
        grep -qF "| $figure | $what | $number |" docs/papers/results.md ||
            { echo "docs/papers/results.md lacks: $figure, $what"; status=1; }
    done < <(grep -hv '^#' bench/papers/{rings,lanes,nimble,collaborative,hiccl}.tsv)
    return $status
}
check "each number of the papers is in docs/papers/results.md" in_results
made_again() {
    bench/figures --only 'a part through the host' &&
        [ "$(grep -cE '^(date |machine |100%|.*"seconds": 0\.01)' build/bench/figures/nccl-a-part-through-the-host.txt)" -eq 4 ]
}
if [[ $build == "$root/build" ]]; then
    check "a table of figures is made again by its command" made_again
fi
check "docs/using.md names each setting's purpose" purposes

topology() {
    local word text status=0
    while read -r word; do
        grep -q "^|.*\`$word:" docs/files.md || { echo "no row for the word $word:" && status=1; }
    done < <(sed -nE 's/^    \{"(\w+)", read_.*/\1/p' config/topo/topo_parse.c)
    while read -r text; do
        "$build/collshim" topo "$text" >/dev/null || { echo "not understood: $text" && status=1; }
    done < <(sed -nE 's/^    (node:.*[^ ])   +.*/\1/p; s/^    (node:[^ ]+( [a-z_]+:[^ ]+)*)$/\1/p' docs/files.md)
    return $status
}
check "docs/files.md has each word of a topology, and its examples are understood" topology

if type pandoc >/dev/null 2>&1; then
    site() { scripts/site "$tmp/site" && python3 $here/site.py "$tmp/site"; }
    check "web pages: links, tables, pictures" site
    valid() { find "$tmp/site" -name '*.html' -exec tidy -q -e {} + 2>&1 | tee "$tmp/tidy" && [[ ! -s $tmp/tidy ]]; }
    if type tidy >/dev/null 2>&1; then
        check "web pages: valid HTML" valid
    else
        skip "web pages: valid HTML" "tidy is missing (scripts/setup docs)"
    fi
    if type chromium >/dev/null 2>&1; then
        check "web pages fit a screen of 360 pixels, in a browser" python3 $here/narrow.py "$tmp/site"
    else
        skip "web pages fit a screen of 360 pixels, in a browser" "chromium is missing (scripts/setup docs)"
    fi
else
    skip "web pages: links, tables, pictures" "pandoc is missing (scripts/setup docs)"
fi

# page OUTPUT LINES: a task of a page holds if its command prints OUTPUT, in ten lines at most.
page() {
    # shellcheck disable=SC2016
    printf '# A page\n\n## 1. A task\n\n```console\n$ echo so; echo on\n%s\n```\n' "$1" >"$tmp/page.md"
    for ((i = 0; i < $2; i++)); do echo "line $i"; done >>"$tmp/page.md"
    python3 $here/tasks.py "$tmp/page.md" "$tmp" >"$tmp/page.out"
}
literal() {
    page $'so\non' 0 && page 'so...' 7 && ! page 'so' 0 && ! page $'so\noff' 0 && ! page 'so...' 9
}
check "a task is carried out as its text says, and fails if the text is wrong or too long" literal

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
