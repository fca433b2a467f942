#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test/ways/run.sh [--write] [BUILD]: the ways of an MPI_Allgather and of an ncclAllReduce are as docs/how.md lists them,
# function by function. A tracer (trace.c) sees what rank 0 enters.
#
#   --write   writes the lists; each new function needs its sentence
set -uo pipefail
# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
action=compare
[ "${1:-}" = --write ] && { action='write' && shift; }
build=$(cd "${1:-$root/build}" && pwd)
here=$root/test/ways
document=$root/docs/how.md

[ "$(uname -m)" = x86_64 ] || skip_all "the tracer sets breakpoints of x86-64"

# traced CALL LIBRARY COMMAND... -- PROGRAM...: the trace of the call is $tmp/CALL
traced() {
    local call=$1 library=$2 command=()
    shift 2
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    python3 "$here/ways.py" functions "$build/$library" >"$tmp/functions" &&
        "$private_shm" timeout 60 "${command[@]}" env LD_PRELOAD="$build/test/trace.so:$build/libcollshim.so" \
            TRACE_LIBRARY="$library" TRACE_FUNCTIONS="$tmp/functions" TRACE_OUTPUT="$tmp/$call" "${@:2}"
}

# listed CALL LIBRARY [DOCUMENT]
listed() { python3 "$here/ways.py" "$action" "$1" "$build/$2" "$tmp/$1" "${3:-$document}"; }

# A step that has another name, is gone or is new is seen. It is the third last row of the call's table.
changed() { # CALL LIBRARY
    local last change
    last=$(awk -v mark="<!-- ways: $1 -->" '$0 == mark { on = 1 } on && /^<!-- end/ { print NR - 3; exit }' "$document")
    for change in "${last}s/\`: \`/&former_/" "${last}d" "${last}{p;s/\`: \`/&former_/}"; do
        sed "$change" "$document" >"$tmp/changed.md"
        ! listed "$1" "$2" "$tmp/changed.md" || { echo "not seen: $change" && return 1; }
    done
}

claims() { # CALL LIBRARY COMMAND...
    check "$1: the program is traced" traced "$@"
    check "$1: docs/how.md lists its ways" listed "$1" "$2"
    [ "$action" = write ] || check "$1: a step that is renamed, gone or new is seen" changed "$1" "$2"
}

if [ -x "$build/openmpi/test/mpi/ways" ]; then
    claims MPI_Allgather libcollshim-openmpi.so \
        mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 --mca pml ob1 -n 2 -- \
        COLLSHIM_TEST_SHARE=0 "$build/openmpi/test/mpi/ways"
else
    skip "MPI_Allgather" "no programs for Open MPI"
fi
if [ -x "$build/test/nccl_ranks" ]; then
    claims ncclAllReduce libcollshim-nccl.so -- LD_LIBRARY_PATH="$build/ncclsim:$build/gpusim" NCCLSIM='near=200 far=0.5 rings=1' GPUSIM=devices=8 \
        "$build/test/nccl_ranks" --ranks 4 --hosts 2 --count 200003 ways
else
    skip "ncclAllReduce" "built without the headers of CUDA or NCCL"
fi
conclude
