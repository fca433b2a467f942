/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of neighbor.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Neighbor_allgather, neighbor_allgather))(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Neighbor_allgather, neighbor_allgather))(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, (COUNT)r->count, r->type,
        call->comm FORM_GIVEN);
}

int WRAP(FORM(Neighbor_allgather, neighbor_allgather))(const void *sendbuf, COUNT sendcount,
                                                       MPI_Datatype sendtype, void *recvbuf,
                                                       COUNT recvcount, MPI_Datatype recvtype,
                                                       MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(
            passes(COLL_NEIGHBOR_ALLGATHER, sendcount, sendtype, recvcount, recvtype, comm)))
        return LIBRARY(FORM(Neighbor_allgather, neighbor_allgather))(
            sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLGATHER,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(Neighbor_allgather, neighbor_allgather)});
}

static int NATIVE(FORM(Neighbor_allgatherv, neighbor_allgatherv))(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Neighbor_allgatherv, neighbor_allgatherv))(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, r->counts.WIDTH,
        r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int WRAP(FORM(Neighbor_allgatherv,
              neighbor_allgatherv))(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                                    void *recvbuf, const COUNT *recvcounts, const DISPL *displs,
                                    MPI_Datatype recvtype, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLGATHER)))
        return LIBRARY(FORM(Neighbor_allgatherv, neighbor_allgatherv))(
            sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
            comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLGATHER,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf,
                    .varies = 1,
                    .counts = {.WIDTH = recvcounts},
                    .displs = {.WIDTH = displs},
                    .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(Neighbor_allgatherv, neighbor_allgatherv)});
}

static int NATIVE(FORM(Neighbor_alltoall, neighbor_alltoall))(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Neighbor_alltoall, neighbor_alltoall))(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, (COUNT)r->count, r->type,
        call->comm FORM_GIVEN);
}

int WRAP(FORM(Neighbor_alltoall, neighbor_alltoall))(const void *sendbuf, COUNT sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     COUNT recvcount, MPI_Datatype recvtype,
                                                     MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(passes(COLL_NEIGHBOR_ALLTOALL, sendcount, sendtype, recvcount, recvtype, comm)))
        return LIBRARY(FORM(Neighbor_alltoall, neighbor_alltoall))(
            sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLTOALL,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(Neighbor_alltoall, neighbor_alltoall)});
}

static int NATIVE(FORM(Neighbor_alltoallv, neighbor_alltoallv))(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Neighbor_alltoallv, neighbor_alltoallv))(
        s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->type, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int WRAP(FORM(Neighbor_alltoallv, neighbor_alltoallv))(const void *sendbuf, const COUNT *sendcounts,
                                                       const DISPL *sdispls, MPI_Datatype sendtype,
                                                       void *recvbuf, const COUNT *recvcounts,
                                                       const DISPL *rdispls, MPI_Datatype recvtype,
                                                       MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLTOALL)))
        return LIBRARY(FORM(Neighbor_alltoallv, neighbor_alltoallv))(
            sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
            comm FORM_ARGUMENTS);
    return neighbor_run(
        &(struct neighbor_arguments){.collective = COLL_NEIGHBOR_ALLTOALL,
                                     .send = {.buffer = sendbuf,
                                              .varies = 1,
                                              .counts = {.WIDTH = sendcounts},
                                              .displs = {.WIDTH = sdispls},
                                              .type = sendtype},
                                     .receive = {.buffer = recvbuf,
                                                 .varies = 1,
                                                 .counts = {.WIDTH = recvcounts},
                                                 .displs = {.WIDTH = rdispls},
                                                 .type = recvtype},
                                     .comm = comm,
                                     .form = FORM_HERE(Neighbor_alltoallv, neighbor_alltoallv)});
}

static int NATIVE(FORM(Neighbor_alltoallw, neighbor_alltoallw))(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return LIBRARY(FORM(Neighbor_alltoallw, neighbor_alltoallw))(
        s->buffer, s->counts.WIDTH, s->displs.wide, s->types, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.wide, r->types, call->comm FORM_GIVEN);
}

/* Its displacements are MPI_Aint with either width. */
int WRAP(FORM(Neighbor_alltoallw,
              neighbor_alltoallw))(const void *sendbuf, const COUNT *sendcounts,
                                   const MPI_Aint *sdispls, const MPI_Datatype *sendtypes,
                                   void *recvbuf, const COUNT *recvcounts, const MPI_Aint *rdispls,
                                   const MPI_Datatype *recvtypes, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLTOALL)))
        return LIBRARY(FORM(Neighbor_alltoallw, neighbor_alltoallw))(
            sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
            comm FORM_ARGUMENTS);
    return neighbor_run(
        &(struct neighbor_arguments){.collective = COLL_NEIGHBOR_ALLTOALL,
                                     .send = {.buffer = sendbuf,
                                              .varies = 1,
                                              .counts = {.WIDTH = sendcounts},
                                              .displs = {.wide = sdispls},
                                              .type = MPI_DATATYPE_NULL,
                                              .types = sendtypes},
                                     .receive = {.buffer = recvbuf,
                                                 .varies = 1,
                                                 .counts = {.WIDTH = recvcounts},
                                                 .displs = {.wide = rdispls},
                                                 .type = MPI_DATATYPE_NULL,
                                                 .types = recvtypes},
                                     .comm = comm,
                                     .form = FORM_HERE(Neighbor_alltoallw, neighbor_alltoallw)});
}
