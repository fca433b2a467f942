/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small program for events around the calls: ordinary [SEED [HOW]]
 *
 * HOW: thread       MPI_Init_thread instead of MPI_Init
 *      no-finalize  return from main without MPI_Finalize
 *      abort        rank 0 calls MPI_Abort with code 3 while the others wait in a collective
 * Exit code 4: MPI_Init returned an error, which a program may get to see.
 */
#include "test/mpi/harness.h"

enum { CALLS = 6, N = 5, MOST = 64 };

static void all_right(const int *all, const char *call)
{
    for (int i = 0; i < world_size * N; i++)
        if (all[i] != i) {
            fail("%s: element %d is %d", call, i, all[i]);
            return;
        }
}

static void gather(void)
{
    int mine[N], all[MOST * N], counts[MOST], displs[MOST];

    for (int i = 0; i < N; i++)
        mine[i] = world_rank * N + i;
    for (int r = 0; r < world_size; r++) {
        counts[r] = N;
        displs[r] = r * N;
    }
    memset(all, 0xff, sizeof all);
    MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, MPI_COMM_WORLD);
    all_right(all, "allgather");
    memset(all, 0xff, sizeof all);
    MPI_Allgatherv(mine, N, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    all_right(all, "allgatherv");
    memset(all, 0xff, sizeof all);
    memcpy(all + world_rank * N, mine, sizeof mine);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, N, MPI_INT, MPI_COMM_WORLD);
    all_right(all, "allgather in place");
    if (world_size > 1) {
        expected_allgather += 2;
        expected_allgatherv++;
    }
}

/* The others are inside a collective when rank 0 aborts. */
static void abort_under_way(void)
{
    int mine = 0, all[MOST];

    if (!world_rank)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int code, provided = MPI_THREAD_SINGLE;

    if (!strcmp(how, "thread"))
        code = MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        code = MPI_Init(&argc, &argv);
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "ordinary: MPI_Init failed\n");
        return 4;
    }
    test_began("ordinary", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (!strcmp(how, "thread") && provided < MPI_THREAD_FUNNELED)
        fail("thread level %d", provided);
    for (int i = 0; i < CALLS; i++)
        gather();
    if (!strcmp(how, "abort"))
        abort_under_way();
    code = test_ended();
    if (strcmp(how, "no-finalize") != 0)
        MPI_Finalize();
    else
        MPI_Barrier(MPI_COMM_WORLD); /* a launcher may kill the others as soon as one has ended */
    return code;
}
