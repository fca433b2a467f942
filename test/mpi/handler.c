/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's call fails for an argument of its own, and its error handler calls a collective in
 * which the others are, too: handler [SEED]
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
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    test_began("handler", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    last = world_rank == world_size - 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Type_vector(2, 2, 3, MPI_INT, &type);
    if (!last) /* who did not commit it cannot use it */
        MPI_Type_commit(&type);
    gather(0);
    MPI_Bcast(words, 1, type, 0, comm);
    if (!last)
        gather(1000);
    if (handled != last)
        fail("the error handler ran %d times", handled);
    gather(2000);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
