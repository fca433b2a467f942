/* SPDX-License-Identifier: BSD-3-Clause */
/* Large counts on their way to ints: the helpers of large_by_int.c. */
#ifndef COLLSHIM_SHIM_MPI_LARGE_BY_INT_COUNTS_H
#define COLLSHIM_SHIM_MPI_LARGE_BY_INT_COUNTS_H

#include <limits.h>
#include <stdlib.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/call/library.h"

/* The numbers of one call, on their way to ints. */
struct narrowing {
    MPI_Comm comm;
    int code;     /* MPI_SUCCESS, or why the call cannot be made */
    int nvectors; /* in use */
    void *vectors[4];
};

/* significant: 0: MPI ignores the number, which may be anything. */
static inline int number(struct narrowing *w, MPI_Count wide, int significant)
{
    if (!significant)
        return 0;
    if (wide < INT_MIN || wide > INT_MAX)
        w->code = MPI_ERR_COUNT;
    return (int)wide;
}

static inline int *vector(struct narrowing *w, int n)
{
    int *room = malloc(((size_t)n + 1) * sizeof *room);

    if (!room)
        w->code = MPI_ERR_NO_MEM;
    w->vectors[w->nvectors++] = room;
    return room;
}

/* n of them, in a vector even if there are none. Live until finish. */
static inline const int *all_counts(struct narrowing *w, const MPI_Count *wide, int n)
{
    int *room = wide ? vector(w, n) : NULL;

    for (int i = 0; room && i < n; i++)
        room[i] = number(w, wide[i], 1);
    return room;
}

/* Where blocks of so many elements lie: nowhere, if they have none. */
static inline const int *all_displs(struct narrowing *w, const MPI_Aint *wide,
                                    const MPI_Count *elements, int n)
{
    int *room = wide ? vector(w, n) : NULL;

    for (int i = 0; room && i < n; i++)
        room[i] = number(w, wide[i], elements && elements[i]);
    return room;
}

/* The same; n is 0 where they are not significant. */
static inline const int *counts(struct narrowing *w, const MPI_Count *wide, int n)
{
    return n ? all_counts(w, wide, n) : NULL;
}

static inline const int *displs(struct narrowing *w, const MPI_Aint *wide,
                                const MPI_Count *elements, int n)
{
    return n ? all_displs(w, wide, elements, n) : NULL;
}

static inline int finish(struct narrowing *w, int rc)
{
    for (int i = 0; i < w->nvectors; i++)
        free(w->vectors[i]);
    if (w->code)
        mpi.Comm_call_errhandler(w->comm, w->code);
    return rc;
}

/* Is the buffer of this rank's own block significant in a rooted call? held: library_is_root */
static inline int own_matters(int held, int root, const void *own)
{
    return held == 0 || (held == 1 && root != MPI_ROOT && own != MPI_IN_PLACE);
}

#endif
