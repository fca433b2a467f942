/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of narrow.c; its parameters: form_blocking.h and its kin. No include guard. */

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
    const int *receives = all_counts(&w, recvcounts, from), *at = all_displs(&w, recvdispls, from);

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
    const int *sends = all_counts(&w, sendcounts, nto), *from = all_displs(&w, senddispls, nto);
    const int *receives = all_counts(&w, recvcounts, nfrom),
              *to = all_displs(&w, recvdispls, nfrom);

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
