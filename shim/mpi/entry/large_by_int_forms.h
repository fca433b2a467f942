/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of large_by_int.c; its parameters: form_blocking.h and its kin. No include guard. */

static int FUNCTION(narrow_Allgather, narrow_Iallgather)(P_SEND, P_RECV,
                                                         MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FORM_FINISH(w, mpi_library.FORM(Allgather, Iallgather)(sendbuf, sends, sendtype, recvbuf,
                                                                  receives, recvtype,
                                                                  comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Allgatherv, narrow_Iallgatherv)(P_SEND, P_RECV_V,
                                                           MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, rdispls, recvcounts, n);

    return FORM_FINISH(w, mpi_library.FORM(Allgatherv, Iallgatherv)(sendbuf, sends, sendtype,
                                                                    recvbuf, receives, at, recvtype,
                                                                    comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Allreduce, narrow_Iallreduce)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(w, mpi_library.FORM(Allreduce, Iallreduce)(sendbuf, recvbuf, n, type, op,
                                                                  comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Reduce, narrow_Ireduce)(P_REDUCE, int root,
                                                   MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FORM_FINISH(w, mpi_library.FORM(Reduce, Ireduce)(sendbuf, recvbuf, n, type, op, root,
                                                            comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Reduce_scatter, narrow_Ireduce_scatter)(P_REDUCE_V,
                                                                   MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = 0;

    if (comm != MPI_COMM_NULL)
        mpi.Comm_size(comm, &n); /* the blocks of this group, of an intercommunicator's two */
    const int *receives = counts(&w, recvcounts, n);

    return FORM_FINISH(w, mpi_library.FORM(Reduce_scatter, Ireduce_scatter)(
                              sendbuf, recvbuf, receives, type, op, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Reduce_scatter_block,
                    narrow_Ireduce_scatter_block)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(w, mpi_library.FORM(Reduce_scatter_block, Ireduce_scatter_block)(
                              sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Scan, narrow_Iscan)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(
        w, mpi_library.FORM(Scan, Iscan)(sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Exscan, narrow_Iexscan)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, 1);

    return FORM_FINISH(
        w, mpi_library.FORM(Exscan, Iexscan)(sendbuf, recvbuf, n, type, op, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Bcast, narrow_Ibcast)(P_BCAST, int root, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = number(&w, count, library_is_root(comm, root) >= 0);

    return FORM_FINISH(w,
                       mpi_library.FORM(Bcast, Ibcast)(buffer, n, type, root, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Gather, narrow_Igather)(P_SEND, P_RECV, int root,
                                                   MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    int receives = number(&w, recvcount, held == 1);

    return FORM_FINISH(w, mpi_library.FORM(Gather, Igather)(sendbuf, sends, sendtype, recvbuf,
                                                            receives, recvtype, root,
                                                            comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Gatherv, narrow_Igatherv)(P_SEND, P_RECV_V, int root,
                                                     MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    int sends = number(&w, sendcount, own_matters(held, root, sendbuf));
    const int *receives = counts(&w, recvcounts, n), *at = displs(&w, rdispls, recvcounts, n);

    return FORM_FINISH(w, mpi_library.FORM(Gatherv, Igatherv)(sendbuf, sends, sendtype, recvbuf,
                                                              receives, at, recvtype, root,
                                                              comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Scatter, narrow_Iscatter)(P_SEND, P_RECV, int root,
                                                     MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root);
    int sends = number(&w, sendcount, held == 1);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FORM_FINISH(w, mpi_library.FORM(Scatter, Iscatter)(sendbuf, sends, sendtype, recvbuf,
                                                              receives, recvtype, root,
                                                              comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Scatterv, narrow_Iscatterv)(P_SEND_V, P_RECV, int root,
                                                       MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int held = library_is_root(comm, root), n = held == 1 ? library_peers(comm) : 0;
    const int *sends = counts(&w, sendcounts, n), *at = displs(&w, sdispls, sendcounts, n);
    int receives = number(&w, recvcount, own_matters(held, root, recvbuf));

    return FORM_FINISH(w, mpi_library.FORM(Scatterv, Iscatterv)(sendbuf, sends, at, sendtype,
                                                                recvbuf, receives, recvtype, root,
                                                                comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Alltoall, narrow_Ialltoall)(P_SEND, P_RECV,
                                                       MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, sendbuf != MPI_IN_PLACE);
    int receives = number(&w, recvcount, 1);

    return FORM_FINISH(w, mpi_library.FORM(Alltoall, Ialltoall)(sendbuf, sends, sendtype, recvbuf,
                                                                receives, recvtype,
                                                                comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Alltoallv, narrow_Ialltoallv)(P_SEND_V, P_RECV_V,
                                                         MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends),
              *from = displs(&w, sdispls, sendcounts, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, rdispls, recvcounts, n);

    return FORM_FINISH(w, mpi_library.FORM(Alltoallv, Ialltoallv)(sendbuf, sends, from, sendtype,
                                                                  recvbuf, receives, to, recvtype,
                                                                  comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Alltoallw, narrow_Ialltoallw)(P_SEND_W(DISPL), P_RECV_W(DISPL),
                                                         MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int n = library_peers(comm), nsends = sendbuf == MPI_IN_PLACE ? 0 : n;
    const int *sends = counts(&w, sendcounts, nsends),
              *from = displs(&w, sdispls, sendcounts, nsends);
    const int *receives = counts(&w, recvcounts, n), *to = displs(&w, rdispls, recvcounts, n);

    return FORM_FINISH(w, mpi_library.FORM(Alltoallw, Ialltoallw)(sendbuf, sends, from, sendtypes,
                                                                  recvbuf, receives, to, recvtypes,
                                                                  comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Neighbor_allgather,
                    narrow_Ineighbor_allgather)(P_SEND, P_RECV, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FORM_FINISH(
        w, mpi_library.FORM(Neighbor_allgather, Ineighbor_allgather)(
               sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Neighbor_allgatherv,
                    narrow_Ineighbor_allgatherv)(P_SEND, P_RECV_V, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), to, from;

    neighbors_degrees(comm, &to, &from);
    const int *receives = all_counts(&w, recvcounts, from),
              *at = all_displs(&w, rdispls, recvcounts, from);

    return FORM_FINISH(
        w, mpi_library.FORM(Neighbor_allgatherv, Ineighbor_allgatherv)(
               sendbuf, sends, sendtype, recvbuf, receives, at, recvtype, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Neighbor_alltoall,
                    narrow_Ineighbor_alltoall)(P_SEND, P_RECV, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int sends = number(&w, sendcount, 1), receives = number(&w, recvcount, 1);

    return FORM_FINISH(
        w, mpi_library.FORM(Neighbor_alltoall, Ineighbor_alltoall)(
               sendbuf, sends, sendtype, recvbuf, receives, recvtype, comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Neighbor_alltoallv,
                    narrow_Ineighbor_alltoallv)(P_SEND_V, P_RECV_V, MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto),
              *from = all_displs(&w, sdispls, sendcounts, nto);
    const int *receives = all_counts(&w, recvcounts, nfrom),
              *to = all_displs(&w, rdispls, recvcounts, nfrom);

    return FORM_FINISH(w, mpi_library.FORM(Neighbor_alltoallv, Ineighbor_alltoallv)(
                              sendbuf, sends, from, sendtype, recvbuf, receives, to, recvtype,
                              comm FORM_ARGUMENTS));
}

static int FUNCTION(narrow_Neighbor_alltoallw,
                    narrow_Ineighbor_alltoallw)(P_SEND_W(MPI_Aint), P_RECV_W(MPI_Aint),
                                                MPI_Comm comm FORM_PARAMETERS)
{
    struct narrowing w = {.comm = comm};
    int nto, nfrom;

    neighbors_degrees(comm, &nto, &nfrom);
    const int *sends = all_counts(&w, sendcounts, nto),
              *receives = all_counts(&w, recvcounts, nfrom);

    return FORM_FINISH(w, mpi_library.FORM(Neighbor_alltoallw, Ineighbor_alltoallw)(
                              sendbuf, sends, sdispls, sendtypes, recvbuf, receives, rdispls,
                              recvtypes, comm FORM_ARGUMENTS));
}
