/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A legal program in which a rank that waits inside a collective must keep the library's other
 * traffic moving: rank 0 has a large send under way when it enters; rank 1 receives that first.
 */
#include "test/mpi/harness.h"

enum { LARGE = 8 << 20, CALLS = 4, N = 5, MOST = 64 };

static void gather(void)
{
    int mine[N], all[MOST * N];

    for (int i = 0; i < N; i++)
        mine[i] = world_rank * N + i;
    MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size * N; i++)
        if (all[i] != i)
            fail("allgather: element %d is %d", i, all[i]);
    expected_allgather++;
}

int main(int argc, char **argv)
{
    char *large = malloc(LARGE);
    int code;

    MPI_Init(&argc, &argv);
    test_began("pending", argc, argv);
    gather();
    for (int i = 0; i < CALLS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;

        memset(large, world_rank ? 0 : 7, LARGE);
        if (world_rank == 0)
            MPI_Isend(large, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        if (world_rank == 1)
            MPI_Recv(large, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gather();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int at = 0; at < LARGE; at++)
            if (large[at] != (world_rank < 2 ? 7 : 0)) {
                fail("byte %d of the message is %d", at, large[at]);
                break;
            }
    }
    free(large);
    code = test_ended();
    MPI_Finalize();
    return code;
}
