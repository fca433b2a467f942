/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completing several requests by each of the forms that MPI has, singly in an order of this rank's
 * own. Behind the active ones there may be null and inactive persistent ones.
 */
#ifndef COLLSHIM_TEST_MPI_COMPLETION_H
#define COLLSHIM_TEST_MPI_COMPLETION_H

#include "test/mpi/harness.h"

enum { COMPLETED_AT_ONCE = 16 };

/* Not for persistent requests of MPICH 4.0.2's own: its MPI_Testall of them fails, and its
   MPI_Request_get_status never finds them done. They are the last two. */
static UNUSED const char *const forms[] = {"Wait",     "Waitall", "Waitany",
                                           "Waitsome", "Test",    "Testany",
                                           "Testsome", "Testall", "Request_get_status"};
enum { FORMS = sizeof forms / sizeof *forms, FORMS_OF_ALL = FORMS - 2 };

/* One after the other, from any of them on. */
static void complete_singly(MPI_Request *q, int n, int active, int form, struct draw *own)
{
    int from = draw_below(own, n);

    for (int i = 0; i < n; i++) {
        int at = (from + i) % n, done = form == 0 || at >= active;

        while (!done) {
            if (form == 4)
                MPI_Test(&q[at], &done, MPI_STATUS_IGNORE);
            else
                MPI_Request_get_status(q[at], &done, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&q[at], MPI_STATUS_IGNORE);
    }
}

/* active: so many of the n requests, the first ones. */
static UNUSED void complete(MPI_Request *q, int n, int active, int form, struct draw *own)
{
    int left = active, index[COMPLETED_AT_ONCE], some, done = 0, i;
    MPI_Status status[COMPLETED_AT_ONCE];

    switch (form) {
    case 1:
        MPI_Waitall(n, q, status);
        break;
    case 2:
        for (; left; left--) {
            MPI_Waitany(n, q, &i, MPI_STATUS_IGNORE);
            if (i == MPI_UNDEFINED)
                fail("Waitany finds no request where %d are left", left);
        }
        MPI_Waitany(n, q, &i, MPI_STATUS_IGNORE);
        if (i != MPI_UNDEFINED)
            fail("Waitany finds a request where none is active");
        break;
    case 3:
        for (; left > 0; left -= some)
            MPI_Waitsome(n, q, &some, index, status);
        break;
    case 5:
        while (left) {
            MPI_Testany(n, q, &i, &done, MPI_STATUS_IGNORE);
            left -= done && i != MPI_UNDEFINED;
        }
        break;
    case 6:
        for (; left > 0; left -= some)
            MPI_Testsome(n, q, &some, index, status);
        break;
    case 7:
        while (!done)
            MPI_Testall(n, q, &done, status);
        break;
    default:
        complete_singly(q, n, active, form, own);
    }
}

#endif
