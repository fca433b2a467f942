/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/later/request_memory.h"

#include <stdlib.h>
#include <string.h>

#include "shim/mpi/api/grequest.h"
#include "shim/mpi/api/progress.h"
#include "shim/mpi/later/pending.h"

enum { MOST = 4 };

struct adopted {
    struct adopted *next;
    MPI_Request inner;
    struct grequest *outer;
    void *memory[MOST];
};

static struct adopted *all, *complete; /* under the lock of pending.h */

/* One look at each such request. Under the lock. Returns 1 if one was complete; *left: is there
   another? */
static int step(int *left)
{
    int any = 0, done;

    for (struct adopted **at = &all; *at;) {
        struct adopted *a = *at;
        int rc = mpi.Request_get_status(a->inner, &done, MPI_STATUS_IGNORE);

        if (rc == MPI_SUCCESS && !done) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        a->next = complete;
        __atomic_store_n(&complete, a, __ATOMIC_RELAXED);
        any = 1;
    }
    *left = all != NULL;
    return any;
}

static struct adopted *take_complete(void)
{
    pending_enter();
    struct adopted *a = complete;
    if (a)
        __atomic_store_n(&complete, a->next, __ATOMIC_RELAXED);
    pending_leave();
    return a;
}

/* The end of those that were: the program's error handler may run there. */
static void end(void)
{
    struct adopted *a;
    int done;

    while (__atomic_load_n(&complete, __ATOMIC_RELAXED) && (a = take_complete())) {
        int rc = mpi.Test(&a->inner, &done, MPI_STATUS_IGNORE);

        for (int i = 0; i < MOST; i++)
            free(a->memory[i]);
        grequest_complete(a->outer, rc);
        free(a);
    }
}

void request_memory_keep(MPI_Request *request, void **memory, int n)
{
    struct adopted *a = progress_exists() && n <= MOST ? calloc(1, sizeof *a) : NULL;

    if (!a)
        return;
    a->inner = *request;
    memcpy(a->memory, memory, (size_t)n * sizeof *memory);
    if (grequest_open(&a->outer, request) != MPI_SUCCESS) {
        free(a);
        return;
    }
    pending_enter();
    pending_besides(step, end);
    a->next = all;
    all = a;
    pending_leave();
}
