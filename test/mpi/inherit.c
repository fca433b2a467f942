/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one communicator found, the next begins with: inherit [SEED [CALLS [BYTES]]], 100 calls of
 * 100,000 bytes on each communicator; an even number of ranks
 *
 * Of all ranks two communicators in turn, of which the second may begin with what the first has
 * found. Then ranks 0 and 2, 4 and 6 and so on have a communicator of two, whose findings ranks 1,
 * 3, ... do not know. So communicators of ranks 0 and 1, 2 and 3, ..., of the same shape, must not
 * go by them; nor those of ranks 0 and 2, ... behind, whose ranks know different numbers.
 */
#include "test/mpi/harness.h"

enum { MOST_ELEMENTS = 1 << 20 };

static int elements, calls, mine[MOST_ELEMENTS], sum[MOST_ELEMENTS];

static void live(MPI_Comm comm, const char *which)
{
    int size, rank;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int k = 0; k < calls; k++) {
        for (int i = 0; i < elements; i++)
            mine[i] = k + rank + i;
        MPI_Allreduce(mine, sum, elements, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < elements; i++)
            if (sum[i] != size * (k + i) + size * (size - 1) / 2) {
                fail("%s, call %d: element %d is %d", which, k, i, sum[i]);
                return;
            }
    }
    MPI_Comm_free(&comm);
}

static void split_and_live(int color, const char *which)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
    if (comm != MPI_COMM_NULL)
        live(comm, which);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("inherit", argc, argv);
    calls = argc > 2 ? atoi(argv[2]) : 100;
    elements = (argc > 3 ? atoi(argv[3]) : 100000) / (int)sizeof *mine;
    if (elements > MOST_ELEMENTS || world_size % 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int even = world_rank % 2 ? MPI_UNDEFINED : world_rank / 4;

    split_and_live(0, "the first of all");
    split_and_live(0, "the second of all");
    split_and_live(even, "the first of even ranks");
    split_and_live(world_rank / 2, "one of an even rank and an odd one");
    split_and_live(even, "the second of even ranks");
    int code = test_ended();
    MPI_Finalize();
    return code;
}
