/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that come later: two children are spawned and merged with the parents into one
 * communicator, whose ranks have two different MPI_COMM_WORLDs. Calls on the merged
 * communicator must be right (collshim leaves them to the library), and so must those on
 * the parts before, between and after. Exit code 77: the library cannot spawn here.
 */
#include "test/mpi/harness.h"

enum { CHILDREN = 2, N = 48, MOST = 64 }; /* enough that helpers get a slice */

static void gather(MPI_Comm comm, const char *what)
{
    int rank, size, mine[N], all[MOST * N], inter;

    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < N; i++)
        mine[i] = rank * N + i;
    memset(all, 0xff, sizeof all);
    MPI_Allgather(mine, N, MPI_INT, all, N, MPI_INT, comm);
    if (inter)
        MPI_Comm_remote_size(comm, &size);
    for (int i = 0; i < size * N; i++)
        if (all[i] != i) {
            fail("%s: element %d is %d", what, i, all[i]);
            return;
        }
}

/* The calls that parents and children make together. */
static void together(MPI_Comm across, int high)
{
    MPI_Comm merged, half;
    int rank;

    gather(across, "between parents and children");
    MPI_Intercomm_merge(across, high, &merged);
    for (int i = 0; i < 3; i++)
        gather(merged, "merged");
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_split(merged, rank % 2, 0, &half);
    gather(half, "every other of the merged");
    MPI_Comm_free(&half);
    MPI_Comm_free(&merged);
}

int main(int argc, char **argv)
{
    MPI_Comm across;
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&across);
    test_began(across == MPI_COMM_NULL ? "spawn" : "spawned", argc, argv);
    gather(MPI_COMM_WORLD, "world");
    if (across != MPI_COMM_NULL) {
        together(across, 1);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        code = MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                              &across, MPI_ERRCODES_IGNORE);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        if (code != MPI_SUCCESS) {
            MPI_Finalize();
            return EXIT_SKIP;
        }
        together(across, 0);
    }
    gather(MPI_COMM_WORLD, "world, afterwards");
    MPI_Comm_disconnect(&across);
    if (world_size > 1)
        expected_allgather = 2;
    code = test_ended();
    MPI_Finalize();
    return code;
}
