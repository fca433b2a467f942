/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that a test may not expect to be rerouted. */
#ifndef COLLSHIM_TEST_MPI_UNEVEN_H
#define COLLSHIM_TEST_MPI_UNEVEN_H

#include "test/mpi/harness.h"

/*
 * Does the library combine equal elements of one vector unequally, as some do that saturate sums in
 * their vectors and nowhere else? It alone can serve those.
 */
static int uneven(MPI_Datatype type, MPI_Op op, int size)
{
    enum { N = 77 };
    unsigned char in[N * 2], inout[N * 2];

    if (op != MPI_SUM || size > 2)
        return 0;
    for (int i = 0; i < N * size; i++)
        in[i] = inout[i] = i % size == size - 1 ? 0x7f : 0xff; /* the highest, if signed */
    MPI_Reduce_local(in, inout, N, type, op);
    if (memcmp(inout, inout + size, (size_t)((N - 1) * size)) != 0)
        return 1;
    memset(in, 0xff, sizeof in);
    memset(inout, 0xff, sizeof inout);
    MPI_Reduce_local(in, inout, N, type, op);
    return memcmp(inout, inout + size, (size_t)((N - 1) * size)) != 0;
}

#endif
