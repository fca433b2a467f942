/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allgather.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Allgather, allgather))(const struct mpi_call *call)
{
    const struct allgather_arguments *a = call->arguments;

    return LIBRARY(FORM(Allgather, allgather))(a->sendbuf, (COUNT)a->sendcount, a->sendtype,
                                               a->recvbuf, (COUNT)a->recvcount, a->recvtype,
                                               call->comm FORM_GIVEN);
}

int WRAP(FORM(Allgather, allgather))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                     void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
                                     MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLGATHER, recvcount, recvtype, comm))
        return LIBRARY(FORM(Allgather, allgather))(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                                   recvtype, comm FORM_ARGUMENTS);
    return allgather(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                   .sendcount = sendcount,
                                                   .sendtype = sendtype,
                                                   .recvbuf = recvbuf,
                                                   .recvcount = recvcount,
                                                   .recvtype = recvtype,
                                                   .comm = comm,
                                                   .form = FORM_HERE(Allgather, allgather)});
}

static int NATIVE(FORM(Allgatherv, allgatherv))(const struct mpi_call *call)
{
    const struct allgather_arguments *a = call->arguments;

    return LIBRARY(FORM(Allgatherv, allgatherv))(a->sendbuf, (COUNT)a->sendcount, a->sendtype,
                                                 a->recvbuf, a->recvcounts.WIDTH, a->displs.WIDTH,
                                                 a->recvtype, call->comm FORM_GIVEN);
}

int WRAP(FORM(Allgatherv, allgatherv))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                       void *recvbuf, const COUNT *recvcounts, const DISPL *displs,
                                       MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLGATHERV)))
        return LIBRARY(FORM(Allgatherv, allgatherv))(sendbuf, sendcount, sendtype, recvbuf,
                                                     recvcounts, displs, recvtype,
                                                     comm FORM_ARGUMENTS);
    return allgatherv(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                    .sendcount = sendcount,
                                                    .sendtype = sendtype,
                                                    .recvbuf = recvbuf,
                                                    .recvcounts = {.WIDTH = recvcounts},
                                                    .displs = {.WIDTH = displs},
                                                    .recvtype = recvtype,
                                                    .comm = comm,
                                                    .form = FORM_HERE(Allgatherv, allgatherv)});
}
