/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of scatter.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Scatter, native_Iscatter)(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return mpi_library.FUNCTION(Scatter, Iscatter)(a->all.buffer, (COUNT)a->all.count, a->all.type,
                                                   a->own.buffer, (COUNT)a->own.count, a->own.type,
                                                   a->root, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Scatter, mpi_wrap_Iscatter)(P_SEND, P_RECV, int root,
                                                  MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_SCATTER)))
        return mpi_library.FUNCTION(Scatter, Iscatter)(A_SEND, A_RECV, root, comm FORM_ARGUMENTS);
    return rooted_run(
        &(struct rooted){
            .collective = COLL_SCATTER,
            .all = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
            .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
            .root = root,
            .comm = comm,
            .form = FORM_HERE(native_Scatter, native_Iscatter)},
        scatter_fill);
}

static int FUNCTION(native_Scatterv, native_Iscatterv)(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return mpi_library.FUNCTION(Scatterv, Iscatterv)(
        a->all.buffer, a->all.counts.WIDTH, a->all.displs.WIDTH, a->all.type, a->own.buffer,
        (COUNT)a->own.count, a->own.type, a->root, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Scatterv, mpi_wrap_Iscatterv)(P_SEND_V, P_RECV, int root,
                                                    MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_SCATTERV)))
        return mpi_library.FUNCTION(Scatterv, Iscatterv)(A_SEND_V, A_RECV, root,
                                                         comm FORM_ARGUMENTS);
    return rooted_run_v(
        &(struct rooted){
            .collective = COLL_SCATTERV,
            .all = {VECTORS((char *)(uintptr_t)sendbuf, sendcounts, sdispls), .type = sendtype},
            .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
            .root = root,
            .comm = comm,
            .form = FORM_HERE(native_Scatterv, native_Iscatterv)},
        scatter_fill);
}
