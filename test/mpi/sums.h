/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of integers whose results are known, on communicators that live for a number of calls. */
#ifndef COLLSHIM_TEST_MPI_SUMS_H
#define COLLSHIM_TEST_MPI_SUMS_H

#include "test/mpi/harness.h"

enum { SUMS_MOST = 1 << 20 }; /* elements */

/* Each rank adds number + rank + i to element i. A wrong result is told, and the calls go on: other
   ranks make them. */
static void sums_call(MPI_Comm comm, int elements, int number)
{
    static int mine[SUMS_MOST], sum[SUMS_MOST];
    int size, rank;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < elements; i++)
        mine[i] = number + rank + i;
    MPI_Allreduce(mine, sum, elements, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < elements; i++)
        if (sum[i] != size * (number + i) + size * (size - 1) / 2) {
            fail("call %d of %d ranks: element %d is %d", number, size, i, sum[i]);
            return;
        }
}

/* So many of them, and the communicator's end. */
static UNUSED void sums_live(MPI_Comm comm, int elements, int calls)
{
    for (int k = 0; k < calls; k++)
        sums_call(comm, elements, k);
    MPI_Comm_free(&comm);
}

#endif
