/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of MPI_Gather(v) and MPI_Scatter(v). One side of the call holds all blocks and is
 * significant at the root only, the other holds a rank's own block. All ranks know the block size
 * of Gather and Scatter. They take it from the own side; the root, which may be in place, takes it
 * from the side of all. The sizes of the v forms are agreed on first (sizes.h).
 */
#ifndef COLLSHIM_SHIM_MPI_ROOTED_H
#define COLLSHIM_SHIM_MPI_ROOTED_H

#include <mpi.h>

#include "shim/mpi/api/vectors.h"
#include "shim/mpi/choose/reroute.h"

struct rooted {
    enum plan_collective collective;
    struct { /* read at the root only */
        char *buffer;
        MPI_Count count;      /* of each block */
        struct counts counts; /* the v forms: of each */
        struct displs displs;
        MPI_Datatype type;
    } all;
    struct {
        char *buffer; /* the root's may be MPI_IN_PLACE */
        MPI_Count count;
        MPI_Datatype type;
    } own;
    int root;
    MPI_Comm comm;
    struct call_form form;
    int (*fill)(struct mpi_comm *c, struct mpi_call *call); /* filled in, as rooted_run_v has it */
    struct vectors blocks; /* filled in: counts and displs, as a call reads them that has started */
    const uint64_t *offset; /* filled in: where each block starts, packed; NULL: all are equal */
};

/* Block i of all the blocks, in the application's memory. layout: of their type. */
struct call_block rooted_block(const struct mpi_call *call, const struct layout *layout, int i);

/* Do all the blocks lie as packed ones do? n: how many. */
int rooted_is_packed(const struct rooted *a, const struct layout *layout, int n);

/*
 * Run the call. fill: fills in the call's buffers; returns MPI_SUCCESS, or the error in this rank's
 * arguments. Returns the MPI function's result.
 */
typedef int (*rooted_fill)(struct mpi_comm *c, struct mpi_call *call);
int rooted_run(struct rooted *a, rooted_fill fill);
int rooted_run_v(struct rooted *a, rooted_fill fill);

#endif
