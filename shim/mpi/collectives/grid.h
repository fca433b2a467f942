/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour collectives of equal blocks on a Cartesian communicator: every rank knows what all
 * ranks send each other, without a message. A rank's neighbours receive what it sends, and it
 * receives what they send. So from each rank to the next, the two sizes of a block change places.
 * A grid is connected, so this tells the sizes of all.
 *
 * Local. Any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_GRID_H
#define COLLSHIM_SHIM_MPI_GRID_H

#include <mpi.h>
#include <stdint.h>

enum { GRID_DIMENSIONS = 32 }; /* at most */

/*
 * Fill in matrix, [n * n]: row s is what rank s sends to each. No rank of the grid is a neighbour
 * twice. sends, receives: bytes of this rank's blocks. Returns 0, or -1: no grid has such blocks,
 * or it has more dimensions.
 */
int grid_demand(MPI_Comm comm, int n, uint64_t sends, uint64_t receives, uint64_t *matrix);

#endif
