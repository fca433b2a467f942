/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of gather.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Gather, gather))(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return LIBRARY(FORM(Gather, gather))(a->own.buffer, (COUNT)a->own.count, a->own.type,
                                         a->all.buffer, (COUNT)a->all.count, a->all.type, a->root,
                                         call->comm FORM_GIVEN);
}

int WRAP(FORM(Gather, gather))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                               void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root,
                               MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_GATHER)))
        return LIBRARY(FORM(Gather, gather))(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                             recvtype, root, comm FORM_ARGUMENTS);
    return gather(&(struct rooted){
        .all = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .form = FORM_HERE(Gather, gather)});
}

static int NATIVE(FORM(Gatherv, gatherv))(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return LIBRARY(FORM(Gatherv, gatherv))(a->own.buffer, (COUNT)a->own.count, a->own.type,
                                           a->all.buffer, a->all.counts.WIDTH, a->all.displs.WIDTH,
                                           a->all.type, a->root, call->comm FORM_GIVEN);
}

int WRAP(FORM(Gatherv, gatherv))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, const COUNT *recvcounts, const DISPL *displs,
                                 MPI_Datatype recvtype, int root, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_GATHERV)))
        return LIBRARY(FORM(Gatherv, gatherv))(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                               displs, recvtype, root, comm FORM_ARGUMENTS);
    return gatherv(&(struct rooted){
        .all = {.buffer = recvbuf,
                .counts = {.WIDTH = recvcounts},
                .displs = {.WIDTH = displs},
                .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .form = FORM_HERE(Gatherv, gatherv)});
}
