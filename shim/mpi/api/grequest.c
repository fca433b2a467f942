/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/grequest.h"

#include <stdlib.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/progress.h"

struct grequest {
    MPI_Request request;
    int code;
    int holders; /* the call, and the application's handle */
};

static void release(struct grequest *g)
{
    if (__atomic_sub_fetch(&g->holders, 1, __ATOMIC_ACQ_REL) == 0)
        free(g);
}

/* The status is that of no message. Open MPI up to 4.1 takes the code from there, others from what
   is returned. */
static int on_query(void *state, MPI_Status *status)
{
    const struct grequest *g = state;

    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    mpi.Status_set_elements(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    if (g->code != MPI_SUCCESS)
        status->MPI_ERROR = g->code;
    return g->code;
}

static int on_free(void *state)
{
    release(state);
    return MPI_SUCCESS;
}

/* Wrong, whether it is complete or not. */
static int on_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_ERR_REQUEST;
}

/*
 * MPICH up to 5.0 aborts in MPI_Waitall over a null request and an incomplete generalized one, by
 * an assertion. Before, it completes those that have a function to wait, of its
 * MPIX_Grequest_start: it calls that until the request is complete. It wants a function to poll
 * too, and MPI_Wait calls that alone, in the same way. So both let the library make progress.
 */
static int on_poll(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    return progress_make();
}

static int on_wait(int n, void **states, double timeout, MPI_Status *status)
{
    (void)n, (void)states, (void)timeout, (void)status;
    return progress_make();
}

static int start(struct grequest *g)
{
    return mpi.X_Grequest_start && mpi.X_Stream_progress
               ? mpi.X_Grequest_start(on_query, on_free, on_cancel, on_poll, on_wait, g,
                                      &g->request)
               : mpi.Grequest_start(on_query, on_free, on_cancel, g, &g->request);
}

int grequest_open(struct grequest **g_p, MPI_Request *request)
{
    struct grequest *g = malloc(sizeof *g);

    if (!g)
        return MPI_ERR_NO_MEM;
    g->code = MPI_SUCCESS;
    g->holders = 2;
    int rc = start(g);
    if (rc != MPI_SUCCESS) {
        free(g);
        return rc;
    }
    *request = g->request;
    *g_p = g;
    return MPI_SUCCESS;
}

void grequest_complete(struct grequest *g, int code)
{
    g->code = code;
    mpi.Grequest_complete(g->request);
    release(g);
}

void grequest_drop(struct grequest *g)
{
    MPI_Request request = g->request;

    grequest_complete(g, MPI_SUCCESS);
    mpi.Request_free(&request);
}
