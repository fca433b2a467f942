/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completing several requests by each of the forms that MPI has, singly in an order of this rank's
 * own.
 */
#ifndef COLLSHIM_TEST_MPI_COMPLETION_H
#define COLLSHIM_TEST_MPI_COMPLETION_H

#include "test/mpi/harness.h"

enum { COMPLETED_AT_ONCE = 16 };

static UNUSED const char *const forms[] = {"Wait",     "Waitall",  "Waitany",
                                           "Waitsome", "Test",     "Testall",
                                           "Testany",  "Testsome", "Request_get_status"};
enum { FORMS = sizeof forms / sizeof *forms };

/* One after the other, from any of them on. */
static void complete_singly(MPI_Request *q, int n, int form, struct draw *own)
{
    int from = draw_below(own, n), done;

    for (int i = 0; i < n; i++) {
        MPI_Request *r = &q[(from + i) % n];

        for (done = form == 0; !done;) {
            if (form == 4)
                MPI_Test(r, &done, MPI_STATUS_IGNORE);
            else
                MPI_Request_get_status(*r, &done, MPI_STATUS_IGNORE);
        }
        MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
        MPI_Wait(r, &status);
        if (*r != MPI_REQUEST_NULL)
            fail("%s leaves a request", forms[form]);
    }
}

static UNUSED void complete(MPI_Request *q, int n, int form, struct draw *own)
{
    int left = n, index[COMPLETED_AT_ONCE], some, done = 0, i;
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
        break;
    case 3:
        for (; left > 0; left -= some)
            MPI_Waitsome(n, q, &some, index, status);
        break;
    case 5:
        while (!done)
            MPI_Testall(n, q, &done, status);
        break;
    case 6:
        while (left) {
            MPI_Testany(n, q, &i, &done, MPI_STATUS_IGNORE);
            left -= done && i != MPI_UNDEFINED;
        }
        break;
    case 7:
        for (; left > 0; left -= some)
            MPI_Testsome(n, q, &some, index, status);
        break;
    default:
        complete_singly(q, n, form, own);
    }
}

#endif
