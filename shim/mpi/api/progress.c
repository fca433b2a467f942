/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's own nonblocking collectives live on opal_progress_register. Its functions stay
 * registered once they are: taking one out moves the others under threads that run through them,
 * and an idle one costs a load per progress call. MPICH has MPIX_Async_start since 4.3; the
 * function is dropped when it says that it is done.
 *
 * Rejected: MPICH's MPIX_Grequest_start, which Intel MPI and MPICH 4.0 have too. Its poll function
 * runs in calls that complete that request, and in no other: a rank that waits in MPI_Recv would
 * hold up the ranks that wait for its part of the collective.
 */
#include "shim/mpi/api/progress.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "shim/mpi/api/calls.h"

/* From opal/runtime/opal_progress.h, since 1.0. Return how much was done; callbacks, events. */
static int (*opal_register)(int (*callback)(void));
static int (*opal_unregister)(int (*callback)(void));

/* From MPICH's mpi.h. */
enum { ASYNC_NOPROGRESS = 0, ASYNC_DONE = 1, STREAM_NULL = 0x3c000000 };

static progress_poll polled; /* set once */
static int registered;       /* with Open MPI */
static int (*added)(void);   /* likewise */

static int find(void *libmpi, const char *name, void *to)
{
    void *symbol = dlsym(libmpi, name);

    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

void progress_open(void *libmpi)
{
    if (!find(libmpi, "opal_progress_register", &opal_register) ||
        !find(libmpi, "opal_progress_unregister", &opal_unregister))
        opal_register = NULL;
}

/* MPICH holds a lock while it calls us that it takes again where we call MPI, once threads may do
   so too; it then aborts. Its generalized requests need a function that waits (grequest.c). */
int progress_exists(void)
{
    int level = MPI_THREAD_MULTIPLE;

    if (opal_register || !mpi.X_Async_start || !mpi.X_Grequest_start || !mpi.X_Stream_progress)
        return opal_register != NULL;
    return mpi.Query_thread(&level) == MPI_SUCCESS && level < MPI_THREAD_MULTIPLE;
}

static int poll_for_opal(void)
{
    return polled() == PROGRESS_MADE;
}

static int poll_for_async(void *thing)
{
    (void)thing;
    return polled() == PROGRESS_OVER ? ASYNC_DONE : ASYNC_NOPROGRESS;
}

int progress_start(progress_poll poll)
{
    polled = poll;
    if (!opal_register)
        return mpi.X_Async_start && mpi.X_Async_start(poll_for_async, NULL, STREAM_NULL) == 0 ? 0
                                                                                              : -1;
    if (!registered && opal_register(poll_for_opal) != 0)
        return -1;
    registered = 1;
    return 0;
}

int progress_add(int (*look)(void))
{
    if (!opal_register || opal_register(look) != 0)
        return -1;
    added = look;
    return 0;
}

int progress_ends(void)
{
    return !opal_register;
}

int progress_make(void)
{
    return mpi.X_Stream_progress(STREAM_NULL);
}

void progress_close(void)
{
    if (registered)
        opal_unregister(poll_for_opal);
    if (added)
        opal_unregister(added);
    registered = 0;
    added = NULL;
}
