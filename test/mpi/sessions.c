/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sessions [SEED]. A session is opened before MPI_Init and ends behind MPI_Finalize. One rank comes
 * to MPI_Init late: its launcher may tell some ranks of it in time, and others not.
 */
#include <time.h>

#include "test/mpi/sums.h"

enum { N = 20000 };

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4 && defined(MPI_SESSION_NULL)
    const struct timespec late = {.tv_nsec = 300000000};
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    if (!rank)
        nanosleep(&late, NULL);
    MPI_Init(&argc, &argv);
    test_began("sessions", argc, argv);
    for (int k = 0; k < 4; k++) {
        sums_call(comm, N, k);
        sums_call(MPI_COMM_WORLD, N, k);
    }
    int code = test_ended();
    MPI_Finalize();
    sums_call(comm, N, 5);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return code || failures;
#else
    (void)argc, (void)argv;
    return EXIT_SKIP;
#endif
}
