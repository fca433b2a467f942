/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/narrow.h"

#include <limits.h>
#include <stdlib.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/library.h"

/* The numbers of one call, on their way to ints. */
struct narrowing {
    MPI_Comm comm;
    int code;     /* MPI_SUCCESS, or why the call cannot be made */
    int nvectors; /* in use */
    int *vectors[4];
};

/* significant: 0: MPI tells nobody to look at it, and it may be anything. */
static int number(struct narrowing *w, MPI_Count wide, int significant)
{
    if (!significant)
        return 0;
    if (wide < INT_MIN || wide > INT_MAX)
        w->code = MPI_ERR_COUNT;
    return (int)wide;
}

static int *vector(struct narrowing *w, int n)
{
    int *room = malloc(((size_t)n + 1) * sizeof *room);

    if (!room)
        w->code = MPI_ERR_NO_MEM;
    w->vectors[w->nvectors++] = room;
    return room;
}

/* n of them; 0: not significant. Live until finish. */
static const int *counts(struct narrowing *w, const MPI_Count *wide, int n)
{
    int *room = wide && n ? vector(w, n) : NULL;

    for (int i = 0; room && i < n; i++)
        room[i] = number(w, wide[i], 1);
    return room;
}

static const int *displs(struct narrowing *w, const MPI_Aint *wide, int n)
{
    int *room = wide && n ? vector(w, n) : NULL;

    for (int i = 0; room && i < n; i++)
        room[i] = number(w, wide[i], 1);
    return room;
}

static int finish(struct narrowing *w, int rc)
{
    for (int i = 0; i < w->nvectors; i++)
        free(w->vectors[i]);
    if (w->code)
        mpi.Comm_call_errhandler(w->comm, w->code);
    return rc;
}

/* The call, unless its numbers are beyond ints. */
#define FINISH(w, call) finish(&(w), (w).code ? (w).code : (call))

static int narrow_Allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH(w, mpi.Allgather(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm));
}

static int narrow_Allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void *recvbuf, const MPI_Count *recvcounts,
                               const MPI_Aint *recvdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH(w,
                  mpi.Allgatherv(sendbuf, sends, sendtype, recvbuf, receives, at, recvtype, comm));
}

static int narrow_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FINISH(w, mpi.Allreduce(sendbuf, recvbuf, n, type, op, comm));
}

static int narrow_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                           MPI_Op op, int root, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH(w, mpi.Reduce(sendbuf, recvbuf, n, type, op, root, comm));
}

static int narrow_Reduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count *recvcounts,
                                   MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = 0;

    if (comm != MPI_COMM_NULL)
        mpi.Comm_size(comm, &n); /* the blocks of this group, of an intercommunicator's two */
    const int *receives = counts(&w, recvcounts, n);

    return FINISH(w, mpi.Reduce_scatter(sendbuf, recvbuf, receives, type, op, comm));
}

static int narrow_Reduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, recvcount, 1);

    return FINISH(w, mpi.Reduce_scatter_block(sendbuf, recvbuf, n, type, op, comm));
}

static int narrow_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH(w, mpi.Bcast(buffer, n, type, root, comm));
}

/* Is the buffer of this rank's own block significant in a rooted call? held: library_is_root */
static int own_matters(int held, int root, const void *own)
{
    return held == 0 || (held == 1 && root != MPI_ROOT && own != MPI_IN_PLACE);
}

static int narrow_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    int receives = number(&w, recvcount, held == 1);

    return FINISH(w, mpi.Gather(sendbuf, sends, sendtype, recvbuf, receives, recvtype, root, comm));
}

static int narrow_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void *recvbuf, const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                            MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH(
        w, mpi.Gatherv(sendbuf, sends, sendtype, recvbuf, receives, at, recvtype, root, comm));
}

static int narrow_Scatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                            MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, held == 1);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH(w,
                  mpi.Scatter(sendbuf, sends, sendtype, recvbuf, receives, recvtype, root, comm));
}

static int narrow_Scatterv_c(const void *sendbuf, const MPI_Count *sendcounts,
                             const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    const int *sends = counts(&w, sendcounts, n), *at = displs(&w, senddispls, n);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH(
        w, mpi.Scatterv(sendbuf, sends, at, sendtype, recvbuf, receives, recvtype, root, comm));
}

static int narrow_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH(w, mpi.Alltoall(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm));
}

static int narrow_Alltoallv_c(const void *sendbuf, const MPI_Count *sendcounts,
                              const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                              MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH(
        w, mpi.Alltoallv(sendbuf, sends, from, sendtype, recvbuf, receives, to, recvtype, comm));
}

static int narrow_Alltoallw_c(const void *sendbuf, const MPI_Count *sendcounts,
                              const MPI_Aint *senddispls, const MPI_Datatype *sendtypes,
                              void *recvbuf, const MPI_Count *recvcounts,
                              const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes,
                              MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH(
        w, mpi.Alltoallw(sendbuf, sends, from, sendtypes, recvbuf, receives, to, recvtypes, comm));
}

void narrow_fill(void)
{
#define COLLECTIVE(name, parameters, arguments)                                                    \
    mpi.name##_c = mpi.name##_c ? mpi.name##_c : narrow_##name##_c;
#include "shim/mpi/collectives.def"
#undef COLLECTIVE
}
