/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations: arguments into a struct nccl_call, and the library's own call with them. */
#include "shim/nccl/reroute.h"
#include "shim/nccl/sets.h"
#include "shim/nccl/sited.h"
#include "shim/nccl/wrappers.h"

static ncclResult_t run_own(const struct nccl_call *call)
{
    struct nccl_group *g = &this_thread.group[call->copy->number];

    return g->depth ? nccl_group_add(g, call) : nccl_reroute(call);
}

/* NCCL's own call of one of its exports is not the application's. */
static ncclResult_t wrap_run(struct nccl_call *call)
{
    struct nccl_comm *c = NULL;
    ncclResult_t result;

    if (this_thread.inside)
        return call->native(call);
    call->site = nccl_site_here();
    if (!call->combines || (unsigned)call->op < ncclNumOps_dummy ||
        !(c = nccl_comm_find(call->comm)))
        return run_own(call);
    call->redop = redop_find(c, call->op);
    result = run_own(call);
    nccl_comm_release(c);
    return result;
}

static ncclResult_t native_AllReduce(const struct nccl_call *c)
{
    return REAL(c->copy, AllReduce, c->send, c->recv, c->count, c->type, c->op, c->comm, c->stream);
}

ncclResult_t nccl_wrap_AllReduce(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                                 ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_ALLREDUCE,
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

    return wrap_run(&call);
}

static ncclResult_t native_ReduceScatter(const struct nccl_call *c)
{
    return REAL(c->copy, ReduceScatter, c->send, c->recv, c->count, c->type, c->op, c->comm,
                c->stream);
}

ncclResult_t nccl_wrap_ReduceScatter(struct nccl_copy *copy, const void *send, void *recv,
                                     size_t count, ncclDataType_t type, ncclRedOp_t op,
                                     ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_REDUCE_SCATTER_BLOCK,
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

    return wrap_run(&call);
}

static ncclResult_t native_Reduce(const struct nccl_call *c)
{
    return REAL(c->copy, Reduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm,
                c->stream);
}

ncclResult_t nccl_wrap_Reduce(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                              ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_REDUCE,
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

    return wrap_run(&call);
}

static ncclResult_t native_AllGather(const struct nccl_call *c)
{
    return REAL(c->copy, AllGather, c->send, c->recv, c->count, c->type, c->comm, c->stream);
}

ncclResult_t nccl_wrap_AllGather(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                                 ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_ALLGATHER,
                             .copy = copy,
                             .send = send,
                             .recv = recv,
                             .count = count,
                             .type = type,
                             .comm = comm,
                             .stream = stream,
                             .native = native_AllGather};

    return wrap_run(&call);
}

static ncclResult_t native_AlltoAll(const struct nccl_call *c)
{
    return REAL(c->copy, AlltoAll, c->send, c->recv, c->count, c->type, c->comm, c->stream);
}

ncclResult_t nccl_wrap_AlltoAll(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                                ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_ALLTOALL,
                             .copy = copy,
                             .send = send,
                             .recv = recv,
                             .count = count,
                             .type = type,
                             .comm = comm,
                             .stream = stream,
                             .native = native_AlltoAll};

    return wrap_run(&call);
}

static ncclResult_t native_Broadcast(const struct nccl_call *c)
{
    return REAL(c->copy, Broadcast, c->send, c->recv, c->count, c->type, c->root, c->comm,
                c->stream);
}

ncclResult_t nccl_wrap_Broadcast(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                                 ncclDataType_t type, int root, ncclComm_t comm,
                                 cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_BCAST,
                             .copy = copy,
                             .send = send,
                             .recv = recv,
                             .count = count,
                             .type = type,
                             .root = root,
                             .comm = comm,
                             .stream = stream,
                             .native = native_Broadcast};

    return wrap_run(&call);
}

static ncclResult_t native_Bcast(const struct nccl_call *c)
{
    return REAL(c->copy, Bcast, c->recv, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t nccl_wrap_Bcast(struct nccl_copy *copy, void *buffer, size_t count,
                             ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.collective = COLL_BCAST,
                             .copy = copy,
                             .send = buffer,
                             .recv = buffer,
                             .count = count,
                             .type = type,
                             .root = root,
                             .comm = comm,
                             .stream = stream,
                             .native = native_Bcast};

    return wrap_run(&call);
}

/* Messages and the functions that consist of them */

static ncclResult_t run_message(const struct nccl_call *call)
{
    struct nccl_group *g = &this_thread.group[call->copy->number];
    struct nccl_comm *c;

    if (this_thread.inside)
        return call->native(call);
    report_message(call->kind == CALL_SEND);
    if (g->depth)
        return nccl_group_add(g, call);
    if ((c = nccl_comm_find(call->comm))) {
        nccl_set_note_message(c, call);
        nccl_comm_release(c);
    }
    return call->native(call);
}

static ncclResult_t native_Send(const struct nccl_call *c)
{
    return REAL(c->copy, Send, c->send, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t nccl_wrap_Send(struct nccl_copy *copy, const void *send, size_t count,
                            ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.kind = CALL_SEND,
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

static ncclResult_t native_Recv(const struct nccl_call *c)
{
    return REAL(c->copy, Recv, c->recv, c->count, c->type, c->root, c->comm, c->stream);
}

ncclResult_t nccl_wrap_Recv(struct nccl_copy *copy, void *recv, size_t count, ncclDataType_t type,
                            int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_call call = {.kind = CALL_RECV,
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
static void let_pass(struct nccl_copy *copy, ncclComm_t comm)
{
    if (!this_thread.inside)
        nccl_group_leave_native(&this_thread.group[copy->number], comm);
}

ncclResult_t nccl_wrap_Gather(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                              ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    let_pass(copy, comm);
    return REAL(copy, Gather, send, recv, count, type, root, comm, stream);
}

ncclResult_t nccl_wrap_Scatter(struct nccl_copy *copy, const void *send, void *recv, size_t count,
                               ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    let_pass(copy, comm);
    return REAL(copy, Scatter, send, recv, count, type, root, comm, stream);
}
