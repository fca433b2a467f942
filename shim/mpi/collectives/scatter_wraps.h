/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of scatter.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Scatter, scatter))(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return LIBRARY(FORM(Scatter, scatter))(a->all.buffer, (COUNT)a->all.count, a->all.type,
                                           a->own.buffer, (COUNT)a->own.count, a->own.type, a->root,
                                           call->comm FORM_GIVEN);
}

int WRAP(FORM(Scatter, scatter))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root,
                                 MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_SCATTER)))
        return LIBRARY(FORM(Scatter, scatter))(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                               recvtype, root, comm FORM_ARGUMENTS);
    return scatter(&(struct rooted){
        .all = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .root = root,
        .comm = comm,
        .form = FORM_HERE(Scatter, scatter)});
}

static int NATIVE(FORM(Scatterv, scatterv))(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return LIBRARY(FORM(Scatterv, scatterv))(
        a->all.buffer, a->all.counts.WIDTH, a->all.displs.WIDTH, a->all.type, a->own.buffer,
        (COUNT)a->own.count, a->own.type, a->root, call->comm FORM_GIVEN);
}

int WRAP(FORM(Scatterv, scatterv))(const void *sendbuf, const COUNT *sendcounts,
                                   const DISPL *displs, MPI_Datatype sendtype, void *recvbuf,
                                   COUNT recvcount, MPI_Datatype recvtype, int root,
                                   MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_SCATTERV)))
        return LIBRARY(FORM(Scatterv, scatterv))(sendbuf, sendcounts, displs, sendtype, recvbuf,
                                                 recvcount, recvtype, root, comm FORM_ARGUMENTS);
    return scatterv(
        &(struct rooted){.all = {.buffer = (char *)(uintptr_t)sendbuf,
                                 .counts = {.WIDTH = sendcounts},
                                 .displs = {.WIDTH = displs},
                                 .type = sendtype},
                         .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
                         .root = root,
                         .comm = comm,
                         .form = FORM_HERE(Scatterv, scatterv)});
}
