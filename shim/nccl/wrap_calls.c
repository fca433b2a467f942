/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations: arguments into a struct call, and what the library's own call with them is. */
#include "shim/nccl/reroute.h"
#include "shim/nccl/sets.h"
#include "shim/nccl/wrappers.h"

static ncclResult_t run_own(const struct call *call)
{
    struct group *g = &this_thread.group[call->copy->number];

    return g->depth ? group_add(g, call) : reroute(call);
}

/* NCCL's own call of one of its exports is not the application's. */
static ncclResult_t run(const struct call *call)
{
    struct comm *c = NULL;
    struct call mine;
    ncclResult_t result;

    if (this_thread.inside)
        return call->native(call);
    if (!call->combines || (unsigned)call->op < ncclNumOps_dummy || !(c = comm_find(call->comm)))
        return run_own(call);
    mine = *call;
    mine.redop = redop_find(c, call->op);
    result = run_own(&mine);
    comm_release(c);
    return result;
}

static ncclResult_t native_AllReduce(const struct call *c)
{
    return REAL(c->copy, AllReduce, c->send, c->recv, c->count, c->type, c->op, c->comm, c->stream);
}

ncclResult_t wrap_AllReduce(struct copy *copy, const void *send, void *recv, size_t count,
                            ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                            cudaStream_t stream)
{
    struct call call = {.collective = COLL_ALLREDUCE,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .op = op,
                        .combines = 1,
                        .comm = comm,
                        .stream = stream,
                        .native = native_AllReduce};

    return run(&call);
}

static ncclResult_t native_ReduceScatter(const struct call *c)
{
    return REAL(c->copy, ReduceScatter, c->send, c->recv, c->count, c->type, c->op, c->comm,
                c->stream);
}

ncclResult_t wrap_ReduceScatter(struct copy *copy, const void *send, void *recv, size_t count,
                                ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream)
{
    struct call call = {.collective = COLL_REDUCE_SCATTER_BLOCK,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .op = op,
                        .combines = 1,
                        .comm = comm,
                        .stream = stream,
                        .native = native_ReduceScatter};

    return run(&call);
}

static ncclResult_t native_Reduce(const struct call *c)
{
    return REAL(c->copy, Reduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm,
                c->stream);
}

ncclResult_t wrap_Reduce(struct copy *copy, const void *send, void *recv, size_t count,
                         ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                         cudaStream_t stream)
{
    struct call call = {.collective = COLL_REDUCE,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .op = op,
                        .root = root,
                        .combines = 1,
                        .comm = comm,
                        .stream = stream,
                        .native = native_Reduce};

    return run(&call);
}

static ncclResult_t native_AllGather(const struct call *c)
{
    return REAL(c->copy, AllGather, c->send, c->recv, c->count, c->type, c->comm, c->stream);
}

ncclResult_t wrap_AllGather(struct copy *copy, const void *send, void *recv, size_t count,
                            ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.collective = COLL_ALLGATHER,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .comm = comm,
                        .stream = stream,
                        .native = native_AllGather};

    return run(&call);
}

static ncclResult_t native_AlltoAll(const struct call *c)
{
    return REAL(c->copy, AlltoAll, c->send, c->recv, c->count, c->type, c->comm, c->stream);
}

ncclResult_t wrap_AlltoAll(struct copy *copy, const void *send, void *recv, size_t count,
                           ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.collective = COLL_ALLTOALL,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .comm = comm,
                        .stream = stream,
                        .native = native_AlltoAll};

    return run(&call);
}

static ncclResult_t native_Broadcast(const struct call *c)
{
    return REAL(c->copy, Broadcast, c->send, c->recv, c->count, c->type, c->root, c->comm,
                c->stream);
}

ncclResult_t wrap_Broadcast(struct copy *copy, const void *send, void *recv, size_t count,
                            ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.collective = COLL_BCAST,
                        .copy = copy,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .root = root,
                        .comm = comm,
                        .stream = stream,
                        .native = native_Broadcast};

    return run(&call);
}

static ncclResult_t native_Bcast(const struct call *c)
{
    return REAL(c->copy, Bcast, c->recv, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t wrap_Bcast(struct copy *copy, void *buffer, size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.collective = COLL_BCAST,
                        .copy = copy,
                        .send = buffer,
                        .recv = buffer,
                        .count = count,
                        .type = type,
                        .root = root,
                        .comm = comm,
                        .stream = stream,
                        .native = native_Bcast};

    return run(&call);
}

/* Messages and what is made of them */

static ncclResult_t run_message(const struct call *call)
{
    struct group *g = &this_thread.group[call->copy->number];
    struct comm *c;

    if (this_thread.inside)
        return call->native(call);
    count_message(call->kind == CALL_SEND);
    if (g->depth)
        return group_add(g, call);
    if ((c = comm_find(call->comm))) {
        set_note_message(c, call);
        comm_release(c);
    }
    return call->native(call);
}

static ncclResult_t native_Send(const struct call *c)
{
    return REAL(c->copy, Send, c->send, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t wrap_Send(struct copy *copy, const void *send, size_t count, ncclDataType_t type,
                       int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.kind = CALL_SEND,
                        .copy = copy,
                        .send = send,
                        .count = count,
                        .type = type,
                        .root = peer,
                        .comm = comm,
                        .stream = stream,
                        .native = native_Send};

    return run_message(&call);
}

static ncclResult_t native_Recv(const struct call *c)
{
    return REAL(c->copy, Recv, c->recv, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t wrap_Recv(struct copy *copy, void *recv, size_t count, ncclDataType_t type, int peer,
                       ncclComm_t comm, cudaStream_t stream)
{
    struct call call = {.kind = CALL_RECV,
                        .copy = copy,
                        .recv = recv,
                        .count = count,
                        .type = type,
                        .root = peer,
                        .comm = comm,
                        .stream = stream,
                        .native = native_Recv};

    return run_message(&call);
}

/* Never rerouted; inside a group what was called before comes before. */
static void let_pass(struct copy *copy, ncclComm_t comm)
{
    if (!this_thread.inside)
        group_leave_native(&this_thread.group[copy->number], comm);
}

ncclResult_t wrap_Gather(struct copy *copy, const void *send, void *recv, size_t count,
                         ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    let_pass(copy, comm);
    return REAL(copy, Gather, send, recv, count, type, root, comm, stream);
}

ncclResult_t wrap_Scatter(struct copy *copy, const void *send, void *recv, size_t count,
                          ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    let_pass(copy, comm);
    return REAL(copy, Scatter, send, recv, count, type, root, comm, stream);
}
