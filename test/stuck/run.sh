#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/stuck/run.sh [BUILD_DIR]: jobs that hang, and what `collshim stuck` says of them; a few trials of
# test/stuck/trials.
set -euo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
build=$(realpath "${1:-build}")
collshim=$build/collshim
cd "$tmp"

libraries=()
for family in openmpi mpich; do
    if [[ -x $build/$family/test/mpi/hang ]] && type "mpirun.$family" >/dev/null 2>&1; then
        libraries+=("$family")
    fi
done
[[ ! -x $build/test/nccl_hang ]] || libraries+=(nccl)

says() { # STATUS TEXT COMMAND...
    local status=0
    "${@:3}" >said 2>&1 || status=$?
    if [[ $status != "$1" ]] || ! grep -qF -- "$2" said; then
        cat said
        return 1
    fi
}
check "it explains itself" says 0 "How to read it" "$collshim" stuck --help
check "a time that is none is refused" says 2 "is not 0.1 to" "$collshim" stuck --within soon
check "one job at a time" says 2 "one job or process" "$collshim" stuck 1 2
check "--from needs files" says 2 "--from needs files" "$collshim" stuck --from
check "--by needs a plain name" says 2 "--by needs a JOB" "$collshim" stuck 'a;b' --by true
check "a launcher that starts nothing" says 1 "no node answered" "$collshim" stuck 4711 --by false
check "a job that is not there" says 1 "no job or process no-such" "$collshim" stuck no-such
check "a file that is not there" says 1 "no-file: No such file" "$collshim" stuck --from no-file
printf 'no json\n{"host": 1}\n{"host":"a","job":"1","communicators":[{}]}\n' >odd
check "a file of something else" says 1 "no line of" "$collshim" stuck --from odd

if [[ ${#libraries[@]} == 0 ]]; then
    skip "jobs that hang" "built without MPI and NCCL"
else
    with=$(IFS=, && echo "${libraries[*]}")
    trials() { "$private_shm" "$root/test/stuck/trials" --verbose --with "$with" --most 6 "$@" "$build"; }
    check "hangs of ranks are named" trials --trials 6 --seed 1
    check "slow jobs are not" trials --trials 0 --slow 20000
fi
conclude
