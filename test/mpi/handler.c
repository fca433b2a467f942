/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's call fails while it is carried out, since more is sent than it has room for, and its
 * error handler calls a collective in which the other rank is, too: handler [SEED], on two ranks
 */
#include "test/mpi/harness.h"

enum { MOST = 64 };

static int handled;

static void gather(int number)
{
    int mine = number + world_rank, all[MOST];

    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size; i++)
        if (all[i] != number + i)
            fail("gather %d: element %d is %d", number, i, all[i]);
    if (world_size > 1)
        expected_allgather++;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
    gather(1000);
}

int main(int argc, char **argv)
{
    int last, words[8] = {0};
    MPI_Comm comm;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    test_began("handler", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    last = world_rank == world_size - 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    gather(0);
    MPI_Bcast(words, last ? 4 : 6, MPI_INT, 0, comm);
    if (!last)
        gather(1000);
    if (handled != last)
        fail("the error handler ran %d times", handled);
    gather(2000);
    MPI_Comm_free(&comm);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
