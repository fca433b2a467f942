/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that a program tries in turn, and their names without MPI_. */
#ifndef COLLSHIM_TEST_MPI_COLLECTIVES_H
#define COLLSHIM_TEST_MPI_COLLECTIVES_H

#include "test/mpi/harness.h"

enum collective {
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    COLLECTIVES
};

static UNUSED const char *const collective_names[COLLECTIVES] = {
    "Allgather", "Allgatherv", "Allreduce", "Reduce",    "Reduce_scatter", "Reduce_scatter_block",
    "Scan",      "Exscan",     "Bcast",     "Gather",    "Gatherv",        "Scatter",
    "Scatterv",  "Alltoall",   "Alltoallv", "Alltoallw",
};

#endif
