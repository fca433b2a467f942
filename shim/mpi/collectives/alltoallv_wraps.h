/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoallv.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Alltoallv, alltoallv))(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;
    const struct side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Alltoallv, alltoallv))(s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->type,
                                               (void *)(uintptr_t)r->buffer, r->counts.WIDTH,
                                               r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int WRAP(FORM(Alltoallv, alltoallv))(const void *sendbuf, const COUNT *sendcounts,
                                     const DISPL *sdispls, MPI_Datatype sendtype, void *recvbuf,
                                     const COUNT *recvcounts, const DISPL *rdispls,
                                     MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLTOALLV)))
        return LIBRARY(FORM(Alltoallv, alltoallv))(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                   recvcounts, rdispls, recvtype,
                                                   comm FORM_ARGUMENTS);
    return alltoallv_run(&(struct alltoallv_arguments){.collective = COLL_ALLTOALLV,
                                                       .send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = sendtype},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = recvtype},
                                                       .comm = comm,
                                                       .form = FORM_HERE(Alltoallv, alltoallv)});
}

static int NATIVE(FORM(Alltoallw, alltoallw))(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;
    const struct side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Alltoallw, alltoallw))(
        s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->types, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.WIDTH, r->types, call->comm FORM_GIVEN);
}

int WRAP(FORM(Alltoallw, alltoallw))(const void *sendbuf, const COUNT *sendcounts,
                                     const DISPL *sdispls, const MPI_Datatype *sendtypes,
                                     void *recvbuf, const COUNT *recvcounts, const DISPL *rdispls,
                                     const MPI_Datatype *recvtypes, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLTOALLV)))
        return LIBRARY(FORM(Alltoallw, alltoallw))(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                   recvcounts, rdispls, recvtypes,
                                                   comm FORM_ARGUMENTS);
    return alltoallv_run(&(struct alltoallv_arguments){.collective = COLL_ALLTOALLV,
                                                       .by_type = 1,
                                                       .send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = MPI_DATATYPE_NULL,
                                                                .types = sendtypes},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = MPI_DATATYPE_NULL,
                                                                   .types = recvtypes},
                                                       .comm = comm,
                                                       .form = FORM_HERE(Alltoallw, alltoallw)});
}
