/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoallv.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Alltoallv, native_Ialltoallv)(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;
    const struct alltoallv_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Alltoallv, Ialltoallv)(
        s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->type, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.WIDTH, r->type, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Alltoallv, mpi_wrap_Ialltoallv)(P_SEND_V, P_RECV_V,
                                                      MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLTOALLV)))
        return mpi_library.FUNCTION(Alltoallv, Ialltoallv)(A_SEND_V, A_RECV_V, comm FORM_ARGUMENTS);
    return alltoallv_run(&(struct alltoallv_arguments){
        .collective = COLL_ALLTOALLV,
        .send = {VECTORS(sendbuf, sendcounts, sdispls), .type = sendtype},
        .receive = {VECTORS(recvbuf, recvcounts, rdispls), .type = recvtype},
        .comm = comm,
        .form = FORM_HERE(native_Alltoallv, native_Ialltoallv)});
}

static int FUNCTION(native_Alltoallw, native_Ialltoallw)(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;
    const struct alltoallv_side *s = &a->send, *r = &a->receive;

    return mpi_library.FUNCTION(Alltoallw, Ialltoallw)(
        s->buffer, s->counts.WIDTH, s->displs.WIDTH, s->types, (void *)(uintptr_t)r->buffer,
        r->counts.WIDTH, r->displs.WIDTH, r->types, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Alltoallw, mpi_wrap_Ialltoallw)(P_SEND_W(DISPL), P_RECV_W(DISPL),
                                                      MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_ALLTOALLV)))
        return mpi_library.FUNCTION(Alltoallw, Ialltoallw)(A_SEND_W, A_RECV_W, comm FORM_ARGUMENTS);
    return alltoallv_run(
        &(struct alltoallv_arguments){.collective = COLL_ALLTOALLV,
                                      .by_type = 1,
                                      .send = {VECTORS(sendbuf, sendcounts, sdispls),
                                               .type = MPI_DATATYPE_NULL, .types = sendtypes},
                                      .receive = {VECTORS(recvbuf, recvcounts, rdispls),
                                                  .type = MPI_DATATYPE_NULL, .types = recvtypes},
                                      .comm = comm,
                                      .form = FORM_HERE(native_Alltoallw, native_Ialltoallw)});
}
