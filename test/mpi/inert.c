/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of MPI 4 that pass through. inert session: collectives on a session's communicator, without
 * MPI_Init; inert partitioned: a ring of partitioned messages. Skipped where mpi.h has none.
 */
#include "test/mpi/harness.h"

#if MPI_VERSION >= 4 && !defined(MPI_ABI_VERSION)
enum { PARTS = 4, EACH = 5000 };

static int sent[PARTS * EACH], received[PARTS * EACH], sums[PARTS * EACH];

static void use_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "collshim.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < PARTS * EACH; i++)
            sent[i] = rank + i + round;
        MPI_Allreduce(sent, sums, PARTS * EACH, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < PARTS * EACH; i++)
            if (sums[i] != size * (i + round) + size * (size - 1) / 2) {
                fail("a sum in a session is %d at %d", sums[i], i);
                break;
            }
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

static void use_partitions(void)
{
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Request q[2];
    MPI_Status status[2];
    int there;

    MPI_Psend_init(sent, PARTS, EACH, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Precv_init(received, PARTS, EACH, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PARTS * EACH; i++)
            sent[i] = world_rank * 7 + i + round;
        MPI_Startall(2, q);
        for (int p = PARTS - 1; p >= 0; p--)
            MPI_Pready(p, q[0]);
        MPI_Parrived(q[1], 0, &there);
        MPI_Waitall(2, q, status);
        for (int i = 0; i < PARTS * EACH; i++)
            if (received[i] != left * 7 + i + round) {
                fail("a partitioned message holds %d at %d", received[i], i);
                break;
            }
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}
#endif

int main(int argc, char **argv)
{
    int code = EXIT_SKIP;

#if MPI_VERSION >= 4 && !defined(MPI_ABI_VERSION)
    if (argc > 1 && strcmp(argv[1], "session") == 0) {
        test_name = "inert";
        use_session();
        if (!failures)
            printf("inert: right on its session\n");
        return failures != 0;
    }
    MPI_Init(&argc, &argv);
    test_began("inert", 0, NULL);
    use_partitions();
    code = test_ended();
    MPI_Finalize();
#else
    (void)argc, (void)argv;
    printf("this mpi.h has no sessions and no partitioned messages\n");
#endif
    return code;
}
