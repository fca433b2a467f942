/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of gather.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Gather, native_Igather)(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return mpi_library.FUNCTION(Gather, Igather)(a->own.buffer, (COUNT)a->own.count, a->own.type,
                                                 a->all.buffer, (COUNT)a->all.count, a->all.type,
                                                 a->root, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Gather, mpi_wrap_Igather)(P_SEND, P_RECV, int root,
                                                MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_GATHER)))
        return mpi_library.FUNCTION(Gather, Igather)(A_SEND, A_RECV, root, comm FORM_ARGUMENTS);
    return rooted_run(
        &(struct rooted){
            .collective = COLL_GATHER,
            .all = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
            .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
            .root = root,
            .comm = comm,
            .form = FORM_HERE(native_Gather, native_Igather)},
        gather_fill);
}

static int FUNCTION(native_Gatherv, native_Igatherv)(const struct mpi_call *call)
{
    const struct rooted *a = call->arguments;

    return mpi_library.FUNCTION(Gatherv, Igatherv)(
        a->own.buffer, (COUNT)a->own.count, a->own.type, a->all.buffer, a->all.counts.WIDTH,
        a->all.displs.WIDTH, a->all.type, a->root, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Gatherv, mpi_wrap_Igatherv)(P_SEND, P_RECV_V, int root,
                                                  MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_GATHERV)))
        return mpi_library.FUNCTION(Gatherv, Igatherv)(A_SEND, A_RECV_V, root, comm FORM_ARGUMENTS);
    return rooted_run_v(
        &(struct rooted){
            .collective = COLL_GATHERV,
            .all = {VECTORS(recvbuf, recvcounts, rdispls), .type = recvtype},
            .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
            .root = root,
            .comm = comm,
            .form = FORM_HERE(native_Gatherv, native_Igatherv)},
        gather_fill);
}
