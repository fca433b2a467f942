/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exchange of unequal messages: what Alltoallv, Alltoallw and the neighbour collectives have in
 * common. The ranks agree on the matrix of sizes first (rows.h).
 */
#ifndef COLLSHIM_SHIM_MPI_ALLTOALLV_H
#define COLLSHIM_SHIM_MPI_ALLTOALLV_H

#include <mpi.h>
#include <stdint.h>

#include "shim/mpi/reroute.h"
#include "shim/mpi/vectors.h"

/* The blocks that a rank sends, or those that it receives. */
struct side {
    const void *buffer;
    struct counts counts;
    struct displs displs;
    MPI_Datatype type;         /* of all blocks; with `types`: MPI_DATATYPE_NULL, and */
    const MPI_Datatype *types; /* one for each; its displacements are bytes */
    const int *peer;           /* [n] a block's rank, each at most once; MPI_PROC_NULL: no rank's;
                                  NULL: block i is rank i's */
    int n;                     /* blocks, where peers are given; else as many as ranks */

    struct layout layout; /* of all blocks: of bytes where types differ */
    int mixed;            /* they do */
    int odd;              /* and are not all packed: each block has its own layout */
    const uint64_t *at;   /* [size + 1] where ranks' blocks start, packed, and the last one ends */
    char *start;          /* of the first block, if they lie one behind the other; else NULL */
};

struct alltoallv_arguments {
    enum plan_collective collective;
    struct side send, receive;
    MPI_Comm comm;
    struct call_form form;
    int size;
    int by_type; /* Alltoallw */

    /* Neighbour collectives set these; else 0. */
    int (*buffers)(const struct mpi_call *call, struct library_buffer *list);
    const void *arguments; /* of form.native */
    enum reason cannot;    /* why this rank alone knows that the call is native; or REASON_NONE */
};

/* A call. Returns what MPI returns. */
int alltoallv_run(struct alltoallv_arguments *a);

#endif
