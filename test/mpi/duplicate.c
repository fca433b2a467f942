/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * duplicate [SEED]: communicators whose first collectives are called while MPI_Comm_idup is under
 * way. First on another communicator, whose ranks do not all take part in the duplication yet: one
 * of them begins it when it is told to, behind those collectives. Then on the communicator that is
 * being duplicated, where ranks come at different times.
 */
#include <unistd.h>

#include "test/mpi/harness.h"

enum { N = 4096, MOST = 8, TIMES = 20 };

static void gather(MPI_Comm comm, const char *what)
{
    static int mine[N], all[MOST * N];
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < N; i++)
        mine[i] = rank * N + i;
    memset(all, 0xff, sizeof all);
    MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, comm);
    for (int i = 0; i < size * N; i++)
        if (all[i] != i) {
            fail("%s: element %d is %d", what, i, all[i]);
            return;
        }
}

static void beside_another(void)
{
    MPI_Comm pair, copy;
    MPI_Request request;
    int last = world_size - 1, go = 0;

    MPI_Comm_split(MPI_COMM_WORLD, world_rank == last, 0, &pair);
    if (world_rank == last)
        MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    for (int i = 0; i < 3; i++)
        gather(pair, "beside the duplication of another");
    if (!world_rank)
        MPI_Send(&go, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    gather(copy, "the copy");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&pair);
}

static void beside_its_own(void)
{
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm, copy;
        MPI_Request request;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (world_rank == i % world_size)
            usleep(2000);
        MPI_Comm_idup(comm, &copy, &request);
        if (world_rank == (i + 1) % world_size)
            usleep(2000);
        for (int call = 0; call < 2; call++)
            gather(comm, "beside its own duplication");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        gather(copy, "its copy");
        MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    int code;

    MPI_Init(&argc, &argv);
    test_began("duplicate", argc, argv);
    beside_another();
    beside_its_own();
    code = test_ended();
    MPI_Finalize();
    return code;
}
