/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next communicator begins with what one has found: inherit [SEED [CALLS [BYTES]]], 100 calls
 * of 100,000 bytes on each communicator; an even number of ranks
 *
 * All ranks have two communicators in turn, of which the second may begin with what the first has
 * found. Then ranks 0 and 2, 4 and 6 and so on have a communicator of two, whose findings ranks 1,
 * 3, ... do not know. So communicators of ranks 0 and 1, 2 and 3, ..., of the same shape, must not
 * go by them; nor those of ranks 0 and 2, ... behind, whose ranks know different numbers. The
 * program changes its directory, so a file with a relative name must lie where it was started.
 */
#include <unistd.h>

#include "test/mpi/sums.h"

static int elements, calls;

static void split_and_live(int color)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
    if (comm != MPI_COMM_NULL)
        sums_live(comm, elements, calls);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("inherit", argc, argv);
    if (chdir("/") != 0)
        fail("chdir");
    calls = argc > 2 ? atoi(argv[2]) : 100;
    elements = (argc > 3 ? atoi(argv[3]) : 100000) / (int)sizeof(int);
    if (elements > SUMS_MOST || world_size % 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int even = world_rank % 2 ? MPI_UNDEFINED : world_rank / 4;

    split_and_live(0);
    split_and_live(0);
    split_and_live(even);
    split_and_live(world_rank / 2);
    split_and_live(even);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
