/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoall.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Alltoall, alltoall))(const struct mpi_call *call)
{
    const struct alltoall_arguments *a = call->arguments;

    return LIBRARY(FORM(Alltoall, alltoall))(a->sendbuf, (COUNT)a->sendcount, a->sendtype,
                                             a->recvbuf, (COUNT)a->recvcount, a->recvtype,
                                             call->comm FORM_GIVEN);
}

int WRAP(FORM(Alltoall, alltoall))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLTOALL, recvcount, recvtype, comm))
        return LIBRARY(FORM(Alltoall, alltoall))(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                 recvtype, comm FORM_ARGUMENTS);
    return alltoall(&(struct alltoall_arguments){.sendbuf = sendbuf,
                                                 .sendcount = sendcount,
                                                 .sendtype = sendtype,
                                                 .recvbuf = recvbuf,
                                                 .recvcount = recvcount,
                                                 .recvtype = recvtype,
                                                 .comm = comm,
                                                 .form = FORM_HERE(Alltoall, alltoall)});
}
