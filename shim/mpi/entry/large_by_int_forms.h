/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of large_by_int.c; its parameters: form_blocking.h and its kin. No include guard. */

static int NARROW(FORM(Allgather, allgather))(const void *sendbuf, MPI_Count sendcount,
                                              MPI_Datatype sendtype, void *recvbuf,
                                              MPI_Count recvcount, MPI_Datatype recvtype,
                                              MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FORM_FINISH(w, LIBRARY(FORM(Allgather, allgather))(sendbuf, sends, sendtype, recvbuf,
                                                              receives, recvtype,
                                                              comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Allgatherv, allgatherv))(const void *sendbuf, MPI_Count sendcount,
                                                MPI_Datatype sendtype, void *recvbuf,
                                                const MPI_Count *recvcounts,
                                                const MPI_Aint *recvdispls, MPI_Datatype recvtype,
                                                MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, recvcounts, n);

    return FORM_FINISH(w, LIBRARY(FORM(Allgatherv, allgatherv))(sendbuf, sends, sendtype, recvbuf,
                                                                receives, at, recvtype,
                                                                comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Allreduce, allreduce))(const void *sendbuf, void *recvbuf, MPI_Count count,
                                              MPI_Datatype type, MPI_Op op,
                                              MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(
        w, LIBRARY(FORM(Allreduce, allreduce))(sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Reduce, reduce))(const void *sendbuf, void *recvbuf, MPI_Count count,
                                        MPI_Datatype type, MPI_Op op, int root,
                                        MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FORM_FINISH(
        w, LIBRARY(FORM(Reduce, reduce))(sendbuf, recvbuf, n, type, op, root, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Reduce_scatter, reduce_scatter))(const void *sendbuf, void *recvbuf,
                                                        const MPI_Count *recvcounts,
                                                        MPI_Datatype type, MPI_Op op,
                                                        MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = 0;

    if (comm != MPI_COMM_NULL)
        mpi.Comm_size(comm, &n); /* the blocks of this group, of an intercommunicator's two */
    const int *receives = counts(&w, recvcounts, n);

    return FORM_FINISH(w, LIBRARY(FORM(Reduce_scatter, reduce_scatter))(
                              sendbuf, recvbuf, receives, type, op, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Reduce_scatter_block,
                       reduce_scatter_block))(const void *sendbuf, void *recvbuf,
                                              MPI_Count recvcount, MPI_Datatype type, MPI_Op op,
                                              MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, recvcount, 1);

    return FORM_FINISH(w, LIBRARY(FORM(Reduce_scatter_block, reduce_scatter_block))(
                              sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Scan, scan))(const void *sendbuf, void *recvbuf, MPI_Count count,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(
        w, LIBRARY(FORM(Scan, scan))(sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Exscan, exscan))(const void *sendbuf, void *recvbuf, MPI_Count count,
                                        MPI_Datatype type, MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(
        w, LIBRARY(FORM(Exscan, exscan))(sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Bcast, bcast))(void *buffer, MPI_Count count, MPI_Datatype type, int root,
                                      MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FORM_FINISH(w, LIBRARY(FORM(Bcast, bcast))(buffer, n, type, root, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Gather, gather))(const void *sendbuf, MPI_Count sendcount,
                                        MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                        MPI_Datatype recvtype, int root,
                                        MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    int receives = number(&w, recvcount, held == 1);

    return FORM_FINISH(w, LIBRARY(FORM(Gather, gather))(sendbuf, sends, sendtype, recvbuf, receives,
                                                        recvtype, root, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Gatherv, gatherv))(const void *sendbuf, MPI_Count sendcount,
                                          MPI_Datatype sendtype, void *recvbuf,
                                          const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
                                          MPI_Datatype recvtype, int root,
                                          MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, recvdispls, recvcounts, n);

    return FORM_FINISH(w,
                       LIBRARY(FORM(Gatherv, gatherv))(sendbuf, sends, sendtype, recvbuf, receives,
                                                       at, recvtype, root, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Scatter, scatter))(const void *sendbuf, MPI_Count sendcount,
                                          MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                          MPI_Datatype recvtype, int root,
                                          MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, held == 1);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FORM_FINISH(w,
                       LIBRARY(FORM(Scatter, scatter))(sendbuf, sends, sendtype, recvbuf, receives,
                                                       recvtype, root, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Scatterv, scatterv))(const void *sendbuf, const MPI_Count *sendcounts,
                                            const MPI_Aint *senddispls, MPI_Datatype sendtype,
                                            void *recvbuf, MPI_Count recvcount,
                                            MPI_Datatype recvtype, int root,
                                            MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    const int *sends = counts(&w, sendcounts, n), *at = displs(&w, senddispls, sendcounts, n);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FORM_FINISH(w, LIBRARY(FORM(Scatterv, scatterv))(sendbuf, sends, at, sendtype, recvbuf,
                                                            receives, recvtype, root,
                                                            comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Alltoall, alltoall))(const void *sendbuf, MPI_Count sendcount,
                                            MPI_Datatype sendtype, void *recvbuf,
                                            MPI_Count recvcount, MPI_Datatype recvtype,
                                            MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FORM_FINISH(w,
                       LIBRARY(FORM(Alltoall, alltoall))(sendbuf, sends, sendtype, recvbuf,
                                                         receives, recvtype, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Alltoallv, alltoallv))(const void *sendbuf, const MPI_Count *sendcounts,
                                              const MPI_Aint *senddispls, MPI_Datatype sendtype,
                                              void *recvbuf, const MPI_Count *recvcounts,
                                              const MPI_Aint *recvdispls, MPI_Datatype recvtype,
                                              MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends),
              *from = displs(&w, senddispls, sendcounts, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, recvcounts, n);

    return FORM_FINISH(w, LIBRARY(FORM(Alltoallv, alltoallv))(sendbuf, sends, from, sendtype,
                                                              recvbuf, receives, to, recvtype,
                                                              comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Alltoallw, alltoallw))(
    const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *senddispls,
    const MPI_Datatype *sendtypes, void *recvbuf, const MPI_Count *recvcounts,
    const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends),
              *from = displs(&w, senddispls, sendcounts, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, recvdispls, recvcounts, n);

    return FORM_FINISH(w, LIBRARY(FORM(Alltoallw, alltoallw))(sendbuf, sends, from, sendtypes,
                                                              recvbuf, receives, to, recvtypes,
                                                              comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Neighbor_allgather, neighbor_allgather))(
    const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FORM_FINISH(
        w, LIBRARY(FORM(Neighbor_allgather, neighbor_allgather))(
               sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Neighbor_allgatherv, neighbor_allgatherv))(
    const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
    const MPI_Count *recvcounts, const MPI_Aint *recvdispls, MPI_Datatype recvtype,
    MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), to, from;

    neighbors_degrees(comm, &to, &from);
    const int *receives = all_counts(&w, recvcounts, from),
              *at = all_displs(&w, recvdispls, recvcounts, from);

    return FORM_FINISH(
        w, LIBRARY(FORM(Neighbor_allgatherv, neighbor_allgatherv))(
               sendbuf, sends, sendtype, recvbuf, receives, at, recvtype, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Neighbor_alltoall, neighbor_alltoall))(
    const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FORM_FINISH(
        w, LIBRARY(FORM(Neighbor_alltoall, neighbor_alltoall))(
               sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Neighbor_alltoallv, neighbor_alltoallv))(
    const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *senddispls,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count *recvcounts, const MPI_Aint *recvdispls,
    MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto),
              *from = all_displs(&w, senddispls, sendcounts, nto);
    const int *receives = all_counts(&w, recvcounts, nfrom),
              *to = all_displs(&w, recvdispls, recvcounts, nfrom);

    return FORM_FINISH(w, LIBRARY(FORM(Neighbor_alltoallv, neighbor_alltoallv))(
                              sendbuf, sends, from, sendtype, recvbuf, receives, to, recvtype,
                              comm FORM_ARGUMENTS));
}

static int NARROW(FORM(Neighbor_alltoallw, neighbor_alltoallw))(
    const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *senddispls,
    const MPI_Datatype *sendtypes, void *recvbuf, const MPI_Count *recvcounts,
    const MPI_Aint *recvdispls, const MPI_Datatype *recvtypes, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto),
              *receives = all_counts(&w, recvcounts, nfrom);

    return FORM_FINISH(w, LIBRARY(FORM(Neighbor_alltoallw, neighbor_alltoallw))(
                              sendbuf, sends, senddispls, sendtypes, recvbuf, receives, recvdispls,
                              recvtypes, comm FORM_ARGUMENTS));
}
