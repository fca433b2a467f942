/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial, because ranks that lie close together in MPI_COMM_WORLD usually share a host: most
 * edges then cost neither a connection nor a question to another host's daemon.
 */
#include "shim/mpi/api/tree.h"

#include <sched.h>
#include <time.h>

#include "shim/mpi/api/calls.h"

enum { TAG = 32766 /* above the tags of plans */, MOST_BYTES = 1024 };
enum { SPIN = 100, PAUSE_NS = 50000 }; /* looks before a rank sleeps between them */

int tree_open(struct tree *t, int rank, int size, int (*has)(int rank))
{
    int missing = -1;

    *t = (struct tree){.parent = rank ? rank & (rank - 1) : -1};
    if (rank && has && !has(t->parent)) {
        missing = t->parent;
        t->parent = -1;
    }
    for (long step = 1; rank + step < size && !(rank & step); step *= 2) {
        int child = rank + (int)step;

        if (!has || has(child))
            t->child[t->nchildren++] = child;
        else if (missing < 0)
            missing = child;
    }
    return missing;
}

/* Between looks the core is yielded: if ranks share cores, the awaited rank may need it, and a
   library's own wait would spin for a whole time slice. With MPICH's wait, 16 ranks on two cores
   start 150 ms later (real, this machine). */
static int wait_for(int rc, MPI_Request *request)
{
    int done = 0, index, looks = 0;

    while (rc == MPI_SUCCESS && !done) {
        rc = mpi.Testsome(1, request, &done, &index, MPI_STATUSES_IGNORE);
        if (!done && ++looks < SPIN)
            sched_yield();
        else if (!done)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return rc;
}

int tree_send(const void *value, size_t bytes, int to, MPI_Comm comm)
{
    MPI_Request request;

    return wait_for(mpi.Isend(value, (int)bytes, MPI_BYTE, to, TAG, comm, &request), &request);
}

int tree_receive(void *value, size_t bytes, int from, MPI_Comm comm)
{
    MPI_Request request;

    return wait_for(mpi.Irecv(value, (int)bytes, MPI_BYTE, from, TAG, comm, &request), &request);
}

int tree_up(const struct tree *t, void *value, size_t bytes,
            void (*combine)(void *value, const void *child))
{
    char theirs[MOST_BYTES] __attribute__((aligned(16)));
    int rc = bytes <= sizeof theirs ? MPI_SUCCESS : MPI_ERR_OTHER;

    for (int i = 0; rc == MPI_SUCCESS && i < t->nchildren; i++) {
        rc = tree_receive(theirs, bytes, t->child[i], MPI_COMM_WORLD);
        if (rc == MPI_SUCCESS)
            combine(value, theirs);
    }
    return rc == MPI_SUCCESS && t->parent >= 0 ? tree_send(value, bytes, t->parent, MPI_COMM_WORLD)
                                               : rc;
}

int tree_down(const struct tree *t, void *value, size_t bytes)
{
    int rc = t->parent >= 0 ? tree_receive(value, bytes, t->parent, MPI_COMM_WORLD) : MPI_SUCCESS;

    /* The farthest child first: it has the longest way to pass it on. */
    for (int i = t->nchildren; rc == MPI_SUCCESS && i-- > 0;)
        rc = tree_send(value, bytes, t->child[i], MPI_COMM_WORLD);
    return rc;
}
