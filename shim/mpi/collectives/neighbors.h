/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This rank's neighbours, in the order of its blocks. The communicator's topology (Cartesian, graph
 * or distributed graph) tells them. They are kept on an attribute of the communicator, and freed
 * with it. Local: no function here sends a message.
 *
 * Thread rule: as for the collective itself, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_NEIGHBORS_H
#define COLLSHIM_SHIM_MPI_NEIGHBORS_H

#include <mpi.h>

#include "shim/mpi/api/vectors.h"

/* The neighbours to which this rank sends, or from which it receives. */
struct neighbors_side {
    int n;
    int *rank;         /* [n] owned; MPI_PROC_NULL: no rank, beyond the edge of a grid */
    MPI_Count *counts; /* [n] owned: room for a call's equal blocks, */
    MPI_Aint *displs;  /* [n] owned: and for where they lie */
};

struct neighbors {
    struct neighbors_side to, from;
    int is_grid; /* Cartesian: `twice` is the same on all ranks */
    int twice; /* some rank is there twice on a side, so libraries differ on which block is whose */
    int unknown; /* memory was short on this rank: nothing of the above holds */
};

/* At MPI_Init, before MPI_Finalize. Returns an MPI code. */
int neighbors_open(void);
void neighbors_close(void);

/* How many blocks a rank sends and receives on the communicator; 0 without a topology. Before
   neighbors_open, too. */
void neighbors_degrees(MPI_Comm comm, int *to, int *from);

/* Those of the communicator, owned by it; NULL, on all ranks alike: it has no topology. */
struct neighbors *neighbors_of(MPI_Comm comm);

#endif
