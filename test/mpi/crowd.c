/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More communicators in use at once than a library could have twice (MPICH has a stock of 2,048),
 * freed in another order than they were made: crowd [SEED]
 */
#include "test/mpi/harness.h"

enum { AT_ONCE = 1200, MOST = 64 };

static void gather(MPI_Comm comm, int number)
{
    int size, mine = number + world_rank, all[MOST];

    MPI_Comm_size(comm, &size);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        if (all[i] != number + i)
            fail("communicator %d: element %d is %d", number, i, all[i] - number);
    expected_allgather++;
}

int main(int argc, char **argv)
{
    static MPI_Comm comm[AT_ONCE];

    MPI_Init(&argc, &argv);
    test_began("crowd", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < AT_ONCE; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        gather(comm[i], i);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        gather(comm[i], i);
        if (i % 2 == 0)
            MPI_Comm_free(&comm[i]);
    }
    /* There is room again. */
    for (int i = 0; i < AT_ONCE; i += 2) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        gather(comm[i], i);
    }
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Comm_free(&comm[i]);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
