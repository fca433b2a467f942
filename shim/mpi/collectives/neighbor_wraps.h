/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of neighbor.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Neighbor_allgather,
                    native_Ineighbor_allgather)(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Neighbor_allgather, Ineighbor_allgather)(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, (COUNT)r->count, r->type,
        call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Neighbor_allgather,
             mpi_wrap_Ineighbor_allgather)(P_SEND, P_RECV, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(
            passes(COLL_NEIGHBOR_ALLGATHER, sendcount, sendtype, recvcount, recvtype, comm)))
        return mpi_library.FUNCTION(Neighbor_allgather, Ineighbor_allgather)(A_SEND, A_RECV,
                                                                             comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLGATHER,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(native_Neighbor_allgather, native_Ineighbor_allgather)});
}

static int FUNCTION(native_Neighbor_allgatherv,
                    native_Ineighbor_allgatherv)(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Neighbor_allgatherv, Ineighbor_allgatherv)(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, r->counts.WIDTH,
        r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Neighbor_allgatherv,
             mpi_wrap_Ineighbor_allgatherv)(P_SEND, P_RECV_V, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLGATHER)))
        return mpi_library.FUNCTION(Neighbor_allgatherv, Ineighbor_allgatherv)(A_SEND, A_RECV_V,
                                                                               comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLGATHER,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {VECTORS(recvbuf, recvcounts, rdispls), .varies = 1, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(native_Neighbor_allgatherv, native_Ineighbor_allgatherv)});
}

static int FUNCTION(native_Neighbor_alltoall,
                    native_Ineighbor_alltoall)(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Neighbor_alltoall, Ineighbor_alltoall)(
        s->buffer, (COUNT)s->count, s->type, (void *)(uintptr_t)r->buffer, (COUNT)r->count, r->type,
        call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Neighbor_alltoall, mpi_wrap_Ineighbor_alltoall)(P_SEND, P_RECV,
                                                                      MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(passes(COLL_NEIGHBOR_ALLTOALL, sendcount, sendtype, recvcount, recvtype, comm)))
        return mpi_library.FUNCTION(Neighbor_alltoall, Ineighbor_alltoall)(A_SEND, A_RECV,
                                                                           comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLTOALL,
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(native_Neighbor_alltoall, native_Ineighbor_alltoall)});
}

static int FUNCTION(native_Neighbor_alltoallv,
                    native_Ineighbor_alltoallv)(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Neighbor_alltoallv, Ineighbor_alltoallv)(
        s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->type, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Neighbor_alltoallv,
             mpi_wrap_Ineighbor_alltoallv)(P_SEND_V, P_RECV_V, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLTOALL)))
        return mpi_library.FUNCTION(Neighbor_alltoallv, Ineighbor_alltoallv)(A_SEND_V, A_RECV_V,
                                                                             comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLTOALL,
        .send = {VECTORS(sendbuf, sendcounts, sdispls), .varies = 1, .type = sendtype},
        .receive = {VECTORS(recvbuf, recvcounts, rdispls), .varies = 1, .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(native_Neighbor_alltoallv, native_Ineighbor_alltoallv)});
}

static int FUNCTION(native_Neighbor_alltoallw,
                    native_Ineighbor_alltoallw)(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Neighbor_alltoallw, Ineighbor_alltoallw)(
        s->buffer, s->counts.WIDTH, s->displs.wide, s->types, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.wide, r->types, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Neighbor_alltoallw,
             mpi_wrap_Ineighbor_alltoallw)(P_SEND_W(MPI_Aint), P_RECV_W(MPI_Aint),
                                           MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_NEIGHBOR_ALLTOALL)))
        return mpi_library.FUNCTION(Neighbor_alltoallw, Ineighbor_alltoallw)(A_SEND_W, A_RECV_W,
                                                                             comm FORM_ARGUMENTS);
    return neighbor_run(&(struct neighbor_arguments){
        .collective = COLL_NEIGHBOR_ALLTOALL,
        .send = {.buffer = sendbuf,
                 .varies = 1,
                 .counts.WIDTH = sendcounts,
                 .displs.wide = sdispls,
                 .type = MPI_DATATYPE_NULL,
                 .types = sendtypes},
        .receive = {.buffer = recvbuf,
                    .varies = 1,
                    .counts.WIDTH = recvcounts,
                    .displs.wide = rdispls,
                    .type = MPI_DATATYPE_NULL,
                    .types = recvtypes},
        .comm = comm,
        .form = FORM_HERE(native_Neighbor_alltoallw, native_Ineighbor_alltoallw)});
}
