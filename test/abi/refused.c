/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong calls, in a program that has an error handler of its own: buffers that coincide, and a type
 * that is not committed. Prints `refused: N handled` on rank 0, as without any preload. Such a
 * program lives on.
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 4096 };
static int x[N * 16], y[N * 16], handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Datatype strange;
    MPI_Comm comm;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Type_contiguous(2, MPI_INT, &strange);
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(x, y, N, MPI_INT, MPI_SUM, comm); /* in order */
        MPI_Allreduce(x, x, N, MPI_INT, MPI_SUM, comm);
        MPI_Allgather(x, N / 2, strange, y, N / 2, strange, comm);
    }
    if (!rank)
        printf("refused: %d handled\n", handled);
    MPI_Type_free(&strange);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
