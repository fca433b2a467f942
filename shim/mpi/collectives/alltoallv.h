/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exchange of unequal messages: what Alltoallv, Alltoallw and the neighbour collectives have in
 * common. The ranks agree on the matrix of sizes first (alltoallv_matrix.h).
 */
#ifndef COLLSHIM_SHIM_MPI_ALLTOALLV_H
#define COLLSHIM_SHIM_MPI_ALLTOALLV_H

#include <mpi.h>
#include <stdint.h>

#include "shim/mpi/api/vectors.h"
#include "shim/mpi/choose/reroute.h"

/* The blocks that a rank sends, or those that it receives. */
struct alltoallv_side {
    const void *buffer;
    struct counts counts;
    struct displs displs;
    MPI_Datatype type;         /* of all blocks; with `types`: MPI_DATATYPE_NULL, and */
    const MPI_Datatype *types; /* one for each; its displacements are bytes */
    const int *peer;           /* [n] a block's rank, each at most once; MPI_PROC_NULL: no rank's;
                                  NULL: block i is rank i's */
    int n;                     /* blocks, where peers are given; else as many as ranks */

    struct vectors blocks;    /* counts and displs, as a call reads them that has started */
    struct layout layout;     /* of all blocks: of bytes where types differ */
    int mixed;                /* they do */
    int odd;                  /* and are not all packed: each block has its own layout, */
    const struct layout *own; /* [blocks] here, in a call that outlives its start; else NULL */
    const uint64_t *at; /* [size + 1] where ranks' blocks start, packed, and the last one ends */
    char *start;        /* of the first block, if they lie one behind the other; else NULL */
};

struct alltoallv_arguments {
    enum plan_collective collective;
    struct alltoallv_side send, receive;
    MPI_Comm comm;
    struct call_form form;
    int size;
    int by_type; /* Alltoallw */

    /* Neighbour collectives set these; else 0. */
    int (*buffers)(const struct mpi_call *call, struct library_buffer *list);
    const void *arguments; /* of form.native */
    int grid;              /* blocks are equal, on a grid: all ranks know the sizes (grid.h) */
    int single;            /* all ranks know that none is a neighbour twice */
    enum reason cannot;    /* why this rank alone knows that the call is native; or REASON_NONE */

    uint64_t *sends, *receives; /* as struct alltoallv_matrix', of a call that outlives its start */
};

/* Blocks of a side, of a call among so many ranks. */
static inline int blocks_of(const struct alltoallv_side *s, int size)
{
    return s->peer ? s->n : size;
}

/* The rank that the block belongs to, or MPI_PROC_NULL. */
static inline int peer_of(const struct alltoallv_side *s, int i)
{
    return s->peer ? s->peer[i] : i;
}

/* Elements of a block; MPI_PROC_NULL's has none. */
static inline MPI_Count count_of(const struct alltoallv_side *s, int i)
{
    return peer_of(s, i) == MPI_PROC_NULL ? 0 : counts_at(s->counts, i);
}

/*
 * Take over what a call goes by that outlives its start: neighbours, counts and displacements,
 * and layouts of blocks that differ, with types of its own. And give it room for its sizes, in
 * *own. Returns 1; or 0, and all is as before: out of memory. mpi_call_drop frees it.
 */
struct alltoallv_matrix;
int alltoallv_keep(struct alltoallv_arguments *a, struct mpi_call *call,
                   struct alltoallv_matrix *own);

/* Find the sides whose blocks have layouts of their own. */
void alltoallv_join(struct alltoallv_arguments *a);

/* Sizes and layout of both sides. REASON_NONE, or why this rank cannot serve the call. */
enum reason alltoallv_describe(struct alltoallv_arguments *a, const struct alltoallv_matrix *rows);

/* The buffers of a call that was described. rows: its sizes, which become offsets. */
void alltoallv_fill(struct alltoallv_arguments *a, struct mpi_call *call,
                    const struct alltoallv_matrix *rows);

/* A nonblocking call, whose ranks tell each other their rows in its turn. REASON_NONE, and *rc of
   it; or why it runs natively, on all ranks alike. */
enum reason alltoallv_start(struct alltoallv_arguments *a, struct mpi_call *call, int *rc);

/* A call. Returns what MPI returns. */
int alltoallv_run(struct alltoallv_arguments *a);

#endif
