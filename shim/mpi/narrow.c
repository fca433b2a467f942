/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/narrow.h"

#include "shim/mpi/adopt.h"
#include "shim/mpi/narrowing.h"
#include "shim/mpi/neighbors.h"

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

static int narrow_Scan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FINISH(w, mpi.Scan(sendbuf, recvbuf, n, type, op, comm));
}

static int narrow_Exscan_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                           MPI_Op op, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FINISH(w, mpi.Exscan(sendbuf, recvbuf, n, type, op, comm));
}

static int narrow_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH(w, mpi.Bcast(buffer, n, type, root, comm));
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

/* The library may read the vectors until the request is complete. */
static int finish_started(struct narrowing *w, int rc, MPI_Request *request)
{
    if (w->code)
        *request = MPI_REQUEST_NULL;
    if (!w->code && rc == MPI_SUCCESS && w->nvectors) {
        adopt(request, (void **)w->vectors, w->nvectors);
        w->nvectors = 0;
    }
    return finish(w, rc);
}

#define FINISH_STARTED(w, call) finish_started(&(w), (w).code ? (w).code : (call), request)

static int narrow_Iallgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH_STARTED(
        w, mpi.Iallgather(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm, request));
}

static int narrow_Iallgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void *recvbuf, const MPI_Count *recvcounts,
                                const MPI_Aint *recvdispls, MPI_Datatype recvtype, MPI_Comm comm,
                                MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH_STARTED(w, mpi.Iallgatherv(sendbuf, sends, sendtype, recvbuf, receives, at,
                                             recvtype, comm, request));
}

static int narrow_Iallreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FINISH_STARTED(w, mpi.Iallreduce(sendbuf, recvbuf, n, type, op, comm, request));
}

static int narrow_Ireduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                            MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH_STARTED(w, mpi.Ireduce(sendbuf, recvbuf, n, type, op, root, comm, request));
}

static int narrow_Ireduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count *recvcounts,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                    MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = 0;

    if (comm != MPI_COMM_NULL)
        mpi.Comm_size(comm, &n); /* the blocks of this group, of an intercommunicator's two */
    const int *receives = counts(&w, recvcounts, n);

    return FINISH_STARTED(w,
                          mpi.Ireduce_scatter(sendbuf, recvbuf, receives, type, op, comm, request));
}

static int narrow_Ireduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                          MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                          MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, recvcount, 1);

    return FINISH_STARTED(w,
                          mpi.Ireduce_scatter_block(sendbuf, recvbuf, n, type, op, comm, request));
}

static int narrow_Ibcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root,
                           MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FINISH_STARTED(w, mpi.Ibcast(buffer, n, type, root, comm, request));
}

static int narrow_Igather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                            MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    int receives = number(&w, recvcount, held == 1);

    return FINISH_STARTED(
        w, mpi.Igather(sendbuf, sends, sendtype, recvbuf, receives, recvtype, root, comm, request));
}

static int narrow_Igatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                             MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, n);

    return FINISH_STARTED(w, mpi.Igatherv(sendbuf, sends, sendtype, recvbuf, receives, at, recvtype,
                                          root, comm, request));
}

static int narrow_Iscatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                             MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, held == 1);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH_STARTED(w, mpi.Iscatter(sendbuf, sends, sendtype, recvbuf, receives, recvtype,
                                          root, comm, request));
}

static int narrow_Iscatterv_c(const void *sendbuf, const MPI_Count *sendcounts,
                              const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                              MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    const int *sends = counts(&w, sendcounts, n), *at = displs(&w, senddispls, n);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FINISH_STARTED(w, mpi.Iscatterv(sendbuf, sends, at, sendtype, recvbuf, receives,
                                           recvtype, root, comm, request));
}

static int narrow_Ialltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FINISH_STARTED(
        w, mpi.Ialltoall(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm, request));
}

static int narrow_Ialltoallv_c(const void *sendbuf, const MPI_Count *sendcounts,
                               const MPI_Aint *senddispls, MPI_Datatype sendtype, void *recvbuf,
                               const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH_STARTED(w, mpi.Ialltoallv(sendbuf, sends, from, sendtype, recvbuf, receives, to,
                                            recvtype, comm, request));
}

static int narrow_Ialltoallw_c(const void *sendbuf, const MPI_Count *sendcounts,
                               const MPI_Aint *senddispls, const MPI_Datatype *sendtypes,
                               void *recvbuf, const MPI_Count *recvcounts,
                               const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes,
                               MPI_Comm comm, MPI_Request *request)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends), *from = displs(&w, senddispls, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, n);

    return FINISH_STARTED(w, mpi.Ialltoallw(sendbuf, sends, from, sendtypes, recvbuf, receives, to,
                                            recvtypes, comm, request));
}

static int narrow_Neighbor_allgather_c(const void *sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                       MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FINISH(
        w, mpi.Neighbor_allgather(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm));
}

static int narrow_Neighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
                                        MPI_Datatype sendtype, void *recvbuf,
                                        const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                                        MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), to, from;

    neighbors_degrees(comm, &to, &from);
    const int *receives = all_counts(&w, recvcounts, from), *at = all_displs(&w, recvdispls, from);

    return FINISH(w, mpi.Neighbor_allgatherv(sendbuf, sends, sendtype, recvbuf, receives, at,
                                             recvtype, comm));
}

static int narrow_Neighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                      MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FINISH(
        w, mpi.Neighbor_alltoall(sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm));
}

static int narrow_Neighbor_alltoallv_c(const void *sendbuf, const MPI_Count *sendcounts,
                                       const MPI_Aint *senddispls, MPI_Datatype sendtype,
                                       void *recvbuf, const MPI_Count *recvcounts,
                                       const MPI_Aint *recvdispls, MPI_Datatype recvtype,
                                       MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto), *from = all_displs(&w, senddispls, nto);
    const int *receives = all_counts(&w, recvcounts, nfrom),
              *to = all_displs(&w, recvdispls, nfrom);

    return FINISH(w, mpi.Neighbor_alltoallv(sendbuf, sends, from, sendtype, recvbuf, receives, to,
                                            recvtype, comm));
}

static int narrow_Neighbor_alltoallw_c(const void *sendbuf, const MPI_Count *sendcounts,
                                       const MPI_Aint *senddispls, const MPI_Datatype *sendtypes,
                                       void *recvbuf, const MPI_Count *recvcounts,
                                       const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes,
                                       MPI_Comm comm)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto),
              *receives = all_counts(&w, recvcounts, nfrom);

    return FINISH(w, mpi.Neighbor_alltoallw(sendbuf, sends, senddispls, sendtypes, recvbuf,
                                            receives, recvdispls, recvtypes, comm));
}

void narrow_fill(void)
{
#define COLLECTIVE(name, parameters, arguments)                                                    \
    mpi.name##_c = mpi.name##_c ? mpi.name##_c : narrow_##name##_c;
#define PERSISTENT(name, parameters, arguments)
#include "shim/mpi/collectives.def"
#undef COLLECTIVE
    narrow_fill_init();
}
