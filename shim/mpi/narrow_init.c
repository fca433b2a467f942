/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistent collectives with large counts, by those with ints. */
#include "shim/mpi/narrow.h"
#include "shim/mpi/narrowing.h"
#include "shim/mpi/persistent.h"

/* The library may read the vectors as long as the request lives. */
static int finish_made(struct narrowing *w, int rc, MPI_Request *request)
{
    if (w->code)
        *request = MPI_REQUEST_NULL;
    if (!w->code && rc == MPI_SUCCESS && w->nvectors) {
        persistent_keep(*request, w->vectors, w->nvectors);
        w->nvectors = 0;
    }
    return finish(w, rc);
}

#define FINISH_MADE(w, call) finish_made(&(w), (w).code ? (w).code : (call), request)

static int narrow_Allgather_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH_MADE(w, mpi.Allgather_init(sendbuf, sends, sendtype, recvbuf, receives, recvtype,
                                             comm, info, request));
}

static int narrow_Allgatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                    void *recvbuf, const MPI_Count *recvcounts,
                                    const MPI_Aint *recvdispls, MPI_Datatype recvtype,
                                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH_MADE(w, mpi.Allgatherv_init(sendbuf, sends, sendtype, recvbuf, receives, at,
                                              recvtype, comm, info, request));
}

static int narrow_Allreduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                   MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                   MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FINISH_MADE(w, mpi.Allreduce_init(sendbuf, recvbuf, n, type, op, comm, info, request));
}

static int narrow_Reduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                                MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH_MADE(w,
                       mpi.Reduce_init(sendbuf, recvbuf, n, type, op, root, comm, info, request));
}

static int narrow_Reduce_scatter_init_c(const void *sendbuf, void *recvbuf,
                                        const MPI_Count *recvcounts, MPI_Datatype type, MPI_Op op,
                                        MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = 0;

    if (comm != MPI_COMM_NULL)
        mpi.Comm_size(comm, &n); /* the blocks of this group, of an intercommunicator's two */
    const int *receives = counts(&w, recvcounts, n);

    return FINISH_MADE(
        w, mpi.Reduce_scatter_init(sendbuf, recvbuf, receives, type, op, comm, info, request));
}

static int narrow_Reduce_scatter_block_init_c(const void *sendbuf, void *recvbuf,
                                              MPI_Count recvcount, MPI_Datatype type, MPI_Op op,
                                              MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, recvcount, 1);

    return FINISH_MADE(
        w, mpi.Reduce_scatter_block_init(sendbuf, recvbuf, n, type, op, comm, info, request));
}

static int narrow_Bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype type, int root,
                               MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH_MADE(w, mpi.Bcast_init(buffer, n, type, root, comm, info, request));
}

static int narrow_Gather_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                                MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    int receives = number(&w, recvcount, held == 1);

    return FINISH_MADE(w, mpi.Gather_init(sendbuf, sends, sendtype, recvbuf, receives, recvtype,
                                          root, comm, info, request));
}

static int narrow_Gatherv_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, const MPI_Count *recvcounts,
                                 const MPI_Aint *recvdispls, MPI_Datatype recvtype, int root,
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH_MADE(w, mpi.Gatherv_init(sendbuf, sends, sendtype, recvbuf, receives, at,
                                           recvtype, root, comm, info, request));
}

static int narrow_Scatter_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                 int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, held == 1);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH_MADE(w, mpi.Scatter_init(sendbuf, sends, sendtype, recvbuf, receives, recvtype,
                                           root, comm, info, request));
}

static int narrow_Scatterv_init_c(const void *sendbuf, const MPI_Count *sendcounts,
                                  const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype, int root,
                                  MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    const int *sends = counts(&w, sendcounts, n), *at = displs(&w, senddispls, n);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH_MADE(w, mpi.Scatterv_init(sendbuf, sends, at, sendtype, recvbuf, receives,
                                            recvtype, root, comm, info, request));
}

static int narrow_Alltoall_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                  MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH_MADE(w, mpi.Alltoall_init(sendbuf, sends, sendtype, recvbuf, receives, recvtype,
                                            comm, info, request));
}

static int narrow_Alltoallv_init_c(const void *sendbuf, const MPI_Count *sendcounts,
                                   const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                                   const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                   MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH_MADE(w, mpi.Alltoallv_init(sendbuf, sends, from, sendtype, recvbuf, receives, to,
                                             recvtype, comm, info, request));
}

static int narrow_Alltoallw_init_c(const void *sendbuf, const MPI_Count *sendcounts,
                                   const MPI_Aint *senddispls, const MPI_Datatype *sendtypes,
                                   void *recvbuf, const MPI_Count *recvcounts,
                                   const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes,
                                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH_MADE(w, mpi.Alltoallw_init(sendbuf, sends, from, sendtypes, recvbuf, receives, to,
                                             recvtypes, comm, info, request));
}

void narrow_fill_init(void)
{
#define COLLECTIVE(name, parameters, arguments)
#define PERSISTENT(name, parameters, arguments)                                                    \
    mpi.name##_c = mpi.name##_c ? mpi.name##_c : narrow_##name##_c;
#include "shim/mpi/collectives.def"
#undef COLLECTIVE
}
