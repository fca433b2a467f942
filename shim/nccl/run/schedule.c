/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/schedule.h"

#include <string.h>

#include "planners/rounds/pace.h"
#include "shim/nccl/call/use_order.h"
#include "shim/nccl/comm/notes.h"
#include "shim/nccl/comm/rails.h"

/* The algorithm's or the settings' value; 0: the one that suits the size (pace.h). */
static size_t chunk_for(const struct plan_request *q, const struct plan_candidate *way)
{
    size_t chunk = way && way->chunk_bytes ? way->chunk_bytes : settings.cfg.chunk_bytes;

    return chunk ? pace_chunk(plan_chunk(q, chunk)) : 0;
}

struct plan_request schedule_request(const struct nccl_call *call, const struct nccl_comm *c,
                                     const struct plan_candidate *way)
{
    struct plan_request q = {.collective = call->collective,
                             .topo = c->topo,
                             .rank = c->rank,
                             .root = call->root,
                             .nbytes = nccl_call_block_bytes(call),
                             .grain = 1,
                             .most_messages = nccl_comm_most_messages(c),
                             .inside_bytes_per_s = c->inside_bytes_per_s,
                             .memory = PLAN_ON_DEVICE,
                             .library_beside = 1,
                             .recipe = way ? way->recipe : NULL};

    if (call->combines)
        q.grain = reduce_type_bytes(nccl_call_reduce_type(call));
    q.chunk_bytes = chunk_for(&q, way);
    /* All ranks use one form, in place or not: rounds are made of all ranks' plans. */
    q.in_place = call->collective == COLL_ALLREDUCE;
    return q;
}

/* A scaled input, which is not the schedule's to write; or an output that lies in the input. */
uint64_t schedule_beside(const struct nccl_call *call, const struct plan_request *q)
{
    if (!call->combines || call->collective == COLL_ALLREDUCE)
        return 0;
    return nccl_call_scales(call, CALL_BEFORE) ? plan_input_bytes(q, q->rank) : q->nbytes;
}

CUresult schedule_move(const struct nccl_comm *c, const struct nccl_call *call, enum call_time when,
                       char *to, const char *from, uint64_t bytes)
{
    struct cuda_reduce_args args = {.dst = to, .src = {from}, .sources = 1};

    if (!nccl_call_scales(call, when))
        return to == from || !bytes ? CUDA_SUCCESS
                                    : c->cu->MemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from,
                                                             bytes, (CUstream)call->stream);
    args.count = bytes / nccl_call_type_bytes(call->type);
    return cuda_reduce(c->device.reducer, nccl_call_scale_op(call, c->nranks, &args),
                       nccl_call_reduce_type(call), &args, (CUstream)call->stream)
               ? CUDA_ERROR_LAUNCH_FAILED
               : CUDA_SUCCESS;
}

/* The memory of the schedule, and the copies before it and behind it. */
struct schedule_buffers {
    struct {
        const char *from;
        char *to;
        uint64_t bytes; /* 0: nothing */
    } move[2];          /* by enum call_time */
    char *buffer[PLAN_NONE];
};

static struct schedule_buffers buffers_of(const struct nccl_call *call, const struct nccl_comm *c,
                                          const struct rounds *r, const struct plan_request *q)
{
    char *send = (char *)(uintptr_t)call->send, *recv = call->recv;
    char *spare = c->scratch.at + r->scratch_bytes;
    int at_root = c->rank == call->root;
    struct schedule_buffers b = {.buffer = {send, recv, c->scratch.at}};

    if (call->collective == COLL_ALLREDUCE || (call->collective == COLL_BCAST && at_root)) {
        b.move[CALL_BEFORE].bytes = q->nbytes;
        b.buffer[PLAN_INPUT] = recv;
    } else if (nccl_call_scales(call, CALL_BEFORE)) {
        b.move[CALL_BEFORE].bytes = plan_input_bytes(q, c->rank);
        b.buffer[PLAN_INPUT] = spare;
    }
    b.move[CALL_BEFORE].from = send;
    b.move[CALL_BEFORE].to = b.buffer[PLAN_INPUT];
    if (!call->combines || (call->collective == COLL_REDUCE && !at_root))
        return b;
    if (b.buffer[PLAN_INPUT] == send && call->collective != COLL_ALLREDUCE) {
        /* the output may lie in the input, and be written before all of that is read */
        size_t own = call->collective == COLL_REDUCE ? 0 : (size_t)c->rank * q->nbytes;

        if (recv == send + own)
            b.buffer[PLAN_OUTPUT] = spare;
    }
    b.move[CALL_BEHIND].from = b.buffer[PLAN_OUTPUT];
    b.move[CALL_BEHIND].to = recv;
    b.move[CALL_BEHIND].bytes = q->nbytes;
    return b;
}

static ncclResult_t move(const struct nccl_comm *c, const struct nccl_call *call,
                         const struct schedule_buffers *b, enum call_time when)
{
    return schedule_move(c, call, when, b->move[when].to, b->move[when].from, b->move[when].bytes)
               ? ncclUnhandledCudaError
               : ncclSuccess;
}

ncclResult_t schedule_run(struct nccl_comm *c, const struct nccl_call *call, const struct rounds *r,
                          const struct plan_request *q)
{
    CUstream stream = (CUstream)call->stream;
    struct schedule_buffers b = buffers_of(call, c, r, q);
    struct nccl_run run = {.nccl = &call->copy->real,
                           .cu = c->cu,
                           .reducer = c->device.reducer,
                           .stop = &c->stopped,
                           .comm = call->comm,
                           .stream = stream};
    ncclResult_t result;

    memcpy(run.buffer, b.buffer, sizeof run.buffer);
    if (call->combines) {
        run.op = nccl_call_reduce_op(call);
        run.type = nccl_call_reduce_type(call);
    }
    result = use_order_begin(c->cu, &c->scratch.order, stream, call->captured)
                 ? ncclUnhandledCudaError
                 : ncclSuccess;
    if (!result)
        result = move(c, call, &b, CALL_BEFORE);
    if (!result)
        result = nccl_run(&run, r);
    if (!result)
        result = move(c, call, &b, CALL_BEHIND);
    if (use_order_end(c->cu, &c->scratch.order, stream, call->captured) && !result)
        result = ncclUnhandledCudaError;
    if (!result)
        nccl_rail_count(c, r);
    return result;
}

/* Its matrix may be a new one each time, so its chunk is not searched for. Rounds are few, since
   each costs a launch, and none is too small to be worth one. */
struct plan_request schedule_set_request(const struct nccl_set *set, const struct nccl_comm *c,
                                         const struct plan_candidate *way)
{
    enum { LEAST = 512 << 10, PARTS = 32 };
    struct plan_request q = {.collective = COLL_ALLTOALLV,
                             .topo = c->topo,
                             .rank = c->rank,
                             .grain = 1,
                             .demand = set->demand,
                             .most_messages = nccl_comm_most_messages(c),
                             .inside_bytes_per_s = c->inside_bytes_per_s,
                             .memory = PLAN_ON_DEVICE,
                             .recipe = way ? way->recipe : NULL};
    uint64_t longest = 0;

    for (size_t i = 0; i < (size_t)c->nranks * (size_t)c->nranks; i++)
        longest = set->demand[i] > longest ? set->demand[i] : longest;
    q.chunk_bytes = chunk_for(&q, way);
    if (!q.chunk_bytes)
        q.chunk_bytes = pace_chunk(longest / PARTS > LEAST ? longest / PARTS : LEAST);
    return q;
}

ncclResult_t schedule_run_set(struct nccl_comm *c, const struct nccl_call *call,
                              const struct nccl_set *set, const struct rounds *r)
{
    CUstream stream = (CUstream)call->stream;
    struct nccl_run run = {.nccl = &call->copy->real,
                           .cu = c->cu,
                           .stop = &c->stopped,
                           .comm = call->comm,
                           .stream = stream,
                           .pieces = {[PLAN_INPUT] = &set->in, [PLAN_OUTPUT] = &set->out},
                           .buffer = {[PLAN_SCRATCH] = c->scratch.at}};
    ncclResult_t result;

    result = use_order_begin(c->cu, &c->scratch.order, stream, 0) ? ncclUnhandledCudaError
                                                                  : nccl_run(&run, r);
    if (use_order_end(c->cu, &c->scratch.order, stream, 0) && !result)
        result = ncclUnhandledCudaError;
    if (!result)
        nccl_rail_count(c, r);
    return result;
}
