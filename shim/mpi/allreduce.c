/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter and MPI_Reduce_scatter_block. Elements keep the
 * form they have in memory, gaps of pair types included: predefined types only (reduction.h).
 */
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/wrappers.h"

struct arguments {
    const void *sendbuf;
    void *recvbuf;
    int count;         /* elements of the vector, or of each block */
    const int *counts; /* Reduce_scatter */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

static int native_allreduce(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Allreduce(a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->comm);
}

static int native_reduce(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Reduce(a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->root, a->comm);
}

static int native_reduce_scatter(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Reduce_scatter(a->sendbuf, a->recvbuf, a->counts, a->type, a->op, a->comm);
}

static int native_reduce_scatter_block(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Reduce_scatter_block(a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->comm);
}

/* The one block that the output is; its length is in own_bytes. */
static struct call_block output_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    (void)i;
    return (struct call_block){
        .user = a->recvbuf,
        .count = (MPI_Count)(plan_output_bytes(&call->request, call->request.rank) /
                             call->request.grain)};
}

/*
 * The way all four go. elements: of the vector, or of all blocks together; they and the handles
 * are equal on all ranks. call: collective and native filled in. Returns what MPI returns.
 */
static int run(struct arguments *a, struct call *call, int64_t elements)
{
    enum reason why = process.verdict;
    struct comm *c = NULL;
    MPI_Count element;
    int size;

    call->comm = a->comm;
    call->arguments = a;
    if (!why) {
        why = REASON_ARGUMENTS;
        if (elements >= 0 && a->type != MPI_DATATYPE_NULL && a->comm != MPI_COMM_NULL &&
            mpi.Type_size_x(a->type, &element) == MPI_SUCCESS && element >= 0) {
            call->total = (uint64_t)elements * (uint64_t)element;
            why = gate_size(call->total);
        }
    }
    if (!why && !reduction_of(a->type, a->op, &call->reduction))
        why = REASON_OPERATION;
    if (!why && call->reduction.rounds && process.cfg.exact)
        why = REASON_EXACT;
    if (!why && mpi.Comm_size(a->comm, &size) == MPI_SUCCESS)
        c = gate_comm(a->comm, size, call->collective, &why);
    if (!c) {
        count_native(call->collective, why);
        return call->native(call);
    }

    size_t extent = call->reduction.extent;
    struct plan_request *q = &call->request;
    int in_place = a->sendbuf == MPI_IN_PLACE;
    *q = (struct plan_request){.collective = call->collective,
                               .topo = c->topo,
                               .rank = c->rank,
                               .root = a->root,
                               .nbytes = (size_t)a->count * extent,
                               .grain = extent,
                               .in_place = in_place && call->collective == COLL_ALLREDUCE};
    if (a->counts) {
        for (int r = 0; r < c->size; r++)
            c->bytes[r] = (size_t)a->counts[r] * extent;
        q->bytes = c->bytes;
    }
    call->total = (uint64_t)elements * extent;
    call->combines = 1;
    call->input = call->output = (struct layout){
        .type = a->type, .size = (MPI_Count)extent, .extent = (MPI_Count)extent, .dense = 1};
    /* Where the contribution lies in the receive buffer, the result would overwrite it too early.
     */
    call->stage_input = in_place && !q->in_place;
    call->input_block =
        (struct call_block){.user = in_place ? a->recvbuf : (char *)(uintptr_t)a->sendbuf,
                            .count = (MPI_Count)(plan_input_bytes(q, c->rank) / extent)};
    call->nblocks = plan_output_bytes(q, c->rank) > 0;
    call->output_block = output_block;
    call->output_dense = 1;
    call->held_block = q->in_place ? 0 : NO_BLOCK;
    if (layout_is_nowhere(call->input_block.user, &call->input, plan_input_bytes(q, c->rank)) ||
        layout_is_nowhere(a->recvbuf, &call->output, plan_output_bytes(q, c->rank)) ||
        (call->nblocks && a->recvbuf == MPI_IN_PLACE))
        return leave_to_library(call);
    return reroute(c, call);
}

int wrap_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .recvbuf = recvbuf,
                          .count = count,
                          .type = type,
                          .op = op,
                          .comm = comm};
    struct call call = {.collective = COLL_ALLREDUCE, .native = native_allreduce};

    return run(&a, &call, count);
}

int wrap_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .recvbuf = recvbuf,
                          .count = count,
                          .type = type,
                          .op = op,
                          .root = root,
                          .comm = comm};
    struct call call = {.collective = COLL_REDUCE, .native = native_reduce};
    int size;

    /* A root that is none is the library's to refuse; on all ranks alike, as MPI requires. */
    if (comm == MPI_COMM_NULL || mpi.Comm_size(comm, &size) != MPI_SUCCESS || root < 0 ||
        root >= size)
        return run(&a, &call, -1);
    return run(&a, &call, count);
}

int wrap_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .recvbuf = recvbuf,
                          .count = recvcount,
                          .type = type,
                          .op = op,
                          .comm = comm};
    struct call call = {.collective = COLL_REDUCE_SCATTER_BLOCK,
                        .native = native_reduce_scatter_block};
    int size;

    if (comm == MPI_COMM_NULL || mpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return run(&a, &call, -1);
    return run(&a, &call, recvcount < 0 ? -1 : (int64_t)recvcount * size);
}

int wrap_Reduce_scatter(const void *sendbuf, void *recvbuf, const int *recvcounts,
                        MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .recvbuf = recvbuf,
                          .counts = recvcounts,
                          .type = type,
                          .op = op,
                          .comm = comm};
    struct call call = {.collective = COLL_REDUCE_SCATTER, .native = native_reduce_scatter};
    int64_t elements = 0;
    int size;

    if (!recvcounts || comm == MPI_COMM_NULL || mpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return run(&a, &call, -1);
    for (int r = 0; elements >= 0 && r < size; r++)
        elements = recvcounts[r] < 0 ? -1 : elements + recvcounts[r];
    return run(&a, &call, elements);
}
