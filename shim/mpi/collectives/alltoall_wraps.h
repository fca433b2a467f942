/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoall.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Alltoall, native_Ialltoall)(const struct mpi_call *call)
{
    const struct alltoall_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Alltoall, Ialltoall)(a->sendbuf, (COUNT)a->sendcount, a->sendtype,
                                                     a->recvbuf, (COUNT)a->recvcount, a->recvtype,
                                                     call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Alltoall, mpi_wrap_Ialltoall)(P_SEND, P_RECV, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLTOALL, recvcount, recvtype, comm))
        return mpi_library.FUNCTION(Alltoall, Ialltoall)(A_SEND, A_RECV, comm FORM_ARGUMENTS);
    return alltoall(
        &(struct alltoall_arguments){.sendbuf = A_SEND,
                                     .recvbuf = A_RECV,
                                     .comm = comm,
                                     .form = FORM_HERE(native_Alltoall, native_Ialltoall)});
}
