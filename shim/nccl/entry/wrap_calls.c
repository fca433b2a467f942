/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations: arguments into a struct nccl_call, and the library's own call with them. */
#include "shim/nccl/choose/reroute.h"
#include "shim/nccl/choose/sets.h"
#include "shim/nccl/comm/redop.h"
#include "shim/nccl/comm/rolled.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/entry/group.h"
#include "shim/nccl/entry/wrappers.h"

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
    if (roll)
        nccl_roll_note(call);
    if (!call->combines || (unsigned)call->op < ncclNumOps_dummy ||
        !(c = nccl_comm_find(call->comm)))
        return run_own(call);
    call->redop = redop_find(c, call->op);
    result = run_own(call);
    nccl_comm_release(c);
    return result;
}

static ncclResult_t run_message(const struct nccl_call *call)
{
    struct nccl_group *g = &this_thread.group[call->copy->number];
    struct nccl_comm *c;

    if (this_thread.inside)
        return call->native(call);
    nccl_process_note_message(call->kind == CALL_SEND);
    if (g->depth)
        return nccl_group_add(g, call);
    if ((c = nccl_comm_find(call->comm))) {
        nccl_set_note_message(c, call);
        nccl_comm_release(c);
    }
    return call->native(call);
}

/*
 * An operation: the library's own function, and the wrapper, which describes its call and runs it.
 * buffers: its parameters before the count, and how the library gets them. more: those behind the
 * type, each with a comma, likewise. Behind them: what of the call is its own.
 */
#define OPERATION(...) OPERATION_(__VA_ARGS__)
#define LIST(...) (__VA_ARGS__) /* cppcheck reads UNPACK in arguments of a macro alone */
#define OPERATION_(wrapper, name, run, buffers, own_buffers, more, own_more, ...)                  \
    static ncclResult_t native_##name(const struct nccl_call *c)                                   \
    {                                                                                              \
        return REAL(c->copy, name, UNPACK own_buffers, c->count, c->type, UNPACK own_more c->comm, \
                    c->stream);                                                                    \
    }                                                                                              \
                                                                                                   \
    ncclResult_t wrapper LIST(struct nccl_copy *copy, UNPACK buffers, size_t count,                \
                              ncclDataType_t type, UNPACK more ncclComm_t comm,                    \
                              cudaStream_t stream)                                                 \
    {                                                                                              \
        struct nccl_call call = {.copy = copy,                                                     \
                                 .count = count,                                                   \
                                 .type = type,                                                     \
                                 .comm = comm,                                                     \
                                 .stream = stream,                                                 \
                                 .native = native_##name,                                          \
                                 __VA_ARGS__};                                                     \
                                                                                                   \
        return run(&call);                                                                         \
    }

#define BOTH (const void *send, void *recv), (c->send, c->recv)
#define OP (ncclRedOp_t op, ), (c->op, )
#define ROOT (int root, ), (c->root, )
#define OP_ROOT (ncclRedOp_t op, int root, ), (c->op, c->root, )
#define NO_MORE (), ()
#define COMBINES .send = send, .recv = recv, .op = op, .combines = 1

OPERATION(nccl_wrap_AllReduce, AllReduce, wrap_run, BOTH, OP, .collective = COLL_ALLREDUCE,
          COMBINES)
OPERATION(nccl_wrap_ReduceScatter, ReduceScatter, wrap_run, BOTH, OP,
          .collective = COLL_REDUCE_SCATTER_BLOCK, COMBINES)
OPERATION(nccl_wrap_Reduce, Reduce, wrap_run, BOTH, OP_ROOT, .collective = COLL_REDUCE, COMBINES,
          .root = root)
OPERATION(nccl_wrap_AllGather, AllGather, wrap_run, BOTH, NO_MORE, .collective = COLL_ALLGATHER,
          .send = send, .recv = recv)
OPERATION(nccl_wrap_AlltoAll, AlltoAll, wrap_run, BOTH, NO_MORE, .collective = COLL_ALLTOALL,
          .send = send, .recv = recv)
OPERATION(nccl_wrap_Broadcast, Broadcast, wrap_run, BOTH, ROOT, .collective = COLL_BCAST,
          .send = send, .recv = recv, .root = root)
OPERATION(nccl_wrap_Bcast, Bcast, wrap_run, (void *buffer), (c->recv), ROOT,
          .collective = COLL_BCAST, .send = buffer, .recv = buffer, .root = root)
OPERATION(nccl_wrap_Send, Send, run_message, (const void *send), (c->send), ROOT, .kind = CALL_SEND,
          .send = send, .root = root)
OPERATION(nccl_wrap_Recv, Recv, run_message, (void *recv), (c->recv), ROOT, .kind = CALL_RECV,
          .recv = recv, .root = root)

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
