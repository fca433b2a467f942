/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allgather.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Allgather, native_Iallgather)(const struct mpi_call *call)
{
    const struct allgather_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Allgather, Iallgather)(a->sendbuf, (COUNT)a->sendcount, a->sendtype,
                                                       a->recvbuf, (COUNT)a->recvcount, a->recvtype,
                                                       call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Allgather, mpi_wrap_Iallgather)(P_SEND, P_RECV, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLGATHER, recvcount, recvtype, comm))
        return mpi_library.FUNCTION(Allgather, Iallgather)(A_SEND, A_RECV, comm FORM_ARGUMENTS);
    return allgather(
        &(struct allgather_arguments){.sendbuf = A_SEND,
                                      .recvbuf = A_RECV,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Allgather, native_Iallgather)});
}

static int FUNCTION(native_Allgatherv, native_Iallgatherv)(const struct mpi_call *call)
{
    const struct allgather_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Allgatherv, Iallgatherv)(
        a->sendbuf, (COUNT)a->sendcount, a->sendtype, a->recvbuf, a->recvcounts.WIDTH,
        a->displs.WIDTH, a->recvtype, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Allgatherv, mpi_wrap_Iallgatherv)(P_SEND, P_RECV_V,
                                                        MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLGATHERV)))
        return mpi_library.FUNCTION(Allgatherv, Iallgatherv)(A_SEND, A_RECV_V, comm FORM_ARGUMENTS);
    return allgatherv(
        &(struct allgather_arguments){.sendbuf = A_SEND,
                                      .recvbuf = recvbuf,
                                      .recvcounts.WIDTH = recvcounts,
                                      .displs.WIDTH = rdispls,
                                      .recvtype = recvtype,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Allgatherv, native_Iallgatherv)});
}
