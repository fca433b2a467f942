#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bare.sh RANK[,RANK...] PROGRAM [ARGUMENT...]: starts PROGRAM, on these ranks without collshim in
# LD_PRELOAD. Other libraries there stay.
set -euo pipefail

rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:?bare.sh: not started by an MPI launcher}}}
if [[ ,$1, == *,$rank,* ]]; then
    kept=
    IFS=: read -ra libraries <<<"${LD_PRELOAD-}"
    for library in "${libraries[@]}"; do
        [[ $library == */libcollshim.so ]] || kept+=${kept:+:}$library
    done
    LD_PRELOAD=$kept
    export LD_PRELOAD
fi
shift
exec "$@"
