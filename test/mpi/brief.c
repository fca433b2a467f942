/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that live for a few calls, each behind the other: brief [SEED [COMMUNICATORS [CALLS
 * [BYTES]]]], 40 communicators of 5 calls of 200,000 bytes
 *
 * Rank 0 prints what a communicator took, all its calls and its making. Odd ranks have others
 * beside them, which live for long: so ranks remember different ones. At last comes one that lives
 * for long. The second half of the short-lived ones leaves no memory behind.
 */
#include <malloc.h>

#include "test/mpi/sums.h"

enum { LONG = 1000, EACH = 20000 /* bytes */ };

static int elements;

static double brief(int calls)
{
    double began = MPI_Wtime();
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int k = 0; k < calls; k++)
        sums_call(comm, elements, k);
    MPI_Comm_free(&comm);
    return MPI_Wtime() - began;
}

static size_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

int main(int argc, char **argv)
{
    double took = 0;
    size_t before = 0;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    test_began("brief", argc, argv);
    int communicators = argc > 2 ? atoi(argv[2]) : 40, calls = argc > 3 ? atoi(argv[3]) : 5;
    elements = (argc > 4 ? atoi(argv[4]) : 200000) / (int)sizeof(int);
    if (elements > SUMS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < communicators; i++) {
        if (i == communicators / 2)
            before = in_use();
        took += brief(calls);
    }
    if (communicators > 1 && in_use() > before + EACH * (size_t)communicators)
        fail("%zu bytes more in use after %d communicators", in_use() - before, communicators / 2);
    for (int i = 0; i < 4; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2 ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm != MPI_COMM_NULL)
            sums_live(comm, elements, LONG / 4);
        brief(calls);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    sums_live(comm, elements, LONG);
    if (world_rank == 0)
        printf("brief: %.2f ms per communicator of %d calls\n", 1e3 * took / communicators, calls);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
