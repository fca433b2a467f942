/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/schedule.h"

#include <string.h>

#include "shim/nccl/pace.h"

/* What the way or the settings say; 0: what suits the size (pace.h). */
static size_t chunk_for(const struct plan_candidate *way)
{
    size_t chunk = way && way->chunk_bytes ? way->chunk_bytes : process.cfg.chunk_bytes;

    return pace_chunk(chunk);
}

struct plan_request schedule_request(const struct call *call, const struct comm *c,
                                     const struct plan_candidate *way)
{
    struct plan_request q = {.collective = call->collective,
                             .topo = c->topo,
                             .rank = c->rank,
                             .root = call->root,
                             .nbytes = call_block_bytes(call),
                             .grain = 1,
                             .chunk_bytes = chunk_for(way),
                             .recipe = way ? way->recipe : NULL};

    if (call->combines)
        q.grain = reduce_type_bytes(call_reduce_type(call));
    /* One form for all ranks, whoever is in place: rounds are made of all ranks' plans. */
    q.in_place = call->collective == COLL_ALLREDUCE;
    return q;
}

/* Where the schedule reads and writes. What is before it and behind it are copies on the stream. */
struct buffers {
    const char *copy_from; /* before: to input or output; NULL: nothing */
    char *copy_to;
    uint64_t copy_bytes;
    char *staged; /* the output until the end; NULL: written where it belongs */
    char *buffer[PLAN_NONE];
};

static struct buffers buffers_of(const struct call *call, const struct comm *c,
                                 const struct rounds *r, const struct plan_request *q)
{
    char *send = (char *)(uintptr_t)call->send, *recv = call->recv;
    char *spare = c->scratch + r->scratch_bytes;
    struct buffers b = {.buffer = {send, recv, c->scratch}};

    if (call->collective == COLL_ALLREDUCE ||
        (call->collective == COLL_BCAST && c->rank == call->root)) {
        if (send != recv) {
            b.copy_from = send;
            b.copy_to = recv;
            b.copy_bytes = q->nbytes;
        }
        b.buffer[PLAN_INPUT] = recv;
    } else if (call->combines && (call->collective != COLL_REDUCE || c->rank == call->root)) {
        /* the output may lie in the input, and be written before all of that is read */
        size_t own = call->collective == COLL_REDUCE ? 0 : (size_t)c->rank * q->nbytes;

        if (recv == send + own) {
            b.staged = spare;
            b.buffer[PLAN_OUTPUT] = spare;
        }
    }
    return b;
}

static CUresult copy(const struct comm *c, char *to, const char *from, uint64_t bytes,
                     CUstream stream)
{
    return c->cu->MemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
}

/*
 * Scratch is one for all streams; NCCL's own order of a communicator does not cover our kernels.
 * Captured calls take turns as well, each time that their graph is launched: their wait and their
 * record are of an event outside of it. On which stream a graph runs is not known.
 */
static CUresult take_turn(const struct comm *c, CUstream stream, int captured)
{
    if (captured)
        return c->cu->StreamWaitEvent(stream, c->last, CU_EVENT_WAIT_EXTERNAL);
    if (c->in_a_graph || (c->has_run && c->last_stream != stream))
        return c->cu->StreamWaitEvent(stream, c->last, CU_EVENT_WAIT_DEFAULT);
    return CUDA_SUCCESS;
}

static CUresult end_turn(struct comm *c, CUstream stream, int captured)
{
    if (captured) {
        c->in_a_graph = 1;
        return c->cu->EventRecordWithFlags(c->last, stream, CU_EVENT_RECORD_EXTERNAL);
    }
    c->last_stream = stream;
    c->has_run = 1;
    return c->cu->EventRecord(c->last, stream);
}

ncclResult_t schedule_run(struct comm *c, const struct call *call, const struct rounds *r,
                          const struct plan_request *q)
{
    CUstream stream = (CUstream)call->stream;
    struct buffers b = buffers_of(call, c, r, q);
    struct nccl_run run = {.nccl = &call->copy->real,
                           .cu = c->cu,
                           .reducer = c->reducer,
                           .stop = &c->stopped,
                           .comm = call->comm,
                           .stream = stream};
    ncclResult_t result;

    memcpy(run.buffer, b.buffer, sizeof run.buffer);
    if (call->combines) {
        call_reduce_op(call, &run.op);
        run.type = call_reduce_type(call);
    }
    result = take_turn(c, stream, call->captured) ? ncclUnhandledCudaError : ncclSuccess;
    if (!result && b.copy_bytes &&
        copy(c, b.copy_to, b.copy_from, b.copy_bytes, stream) != CUDA_SUCCESS)
        result = ncclUnhandledCudaError;
    if (!result)
        result = nccl_run(&run, r);
    if (!result && b.staged && copy(c, call->recv, b.staged, q->nbytes, stream) != CUDA_SUCCESS)
        result = ncclUnhandledCudaError;
    if (end_turn(c, stream, call->captured) && !result)
        result = ncclUnhandledCudaError;
    return result;
}

/* Its matrix may be a new one each time, so its chunk is not searched for: few rounds, since each
 * costs a launch, and none so small that it is not worth one. */
struct plan_request schedule_set_request(const struct set *set, const struct comm *c,
                                         const struct plan_candidate *way)
{
    enum { LEAST = 512 << 10, PARTS = 32 };
    struct plan_request q = {.collective = COLL_ALLTOALLV,
                             .topo = c->topo,
                             .rank = c->rank,
                             .grain = 1,
                             .demand = set->demand,
                             .recipe = way ? way->recipe : NULL};
    uint64_t longest = 0;

    for (size_t i = 0; i < (size_t)c->nranks * (size_t)c->nranks; i++)
        longest = set->demand[i] > longest ? set->demand[i] : longest;
    q.chunk_bytes = chunk_for(way);
    if (!q.chunk_bytes)
        q.chunk_bytes = pace_chunk(longest / PARTS > LEAST ? longest / PARTS : LEAST);
    return q;
}

ncclResult_t schedule_run_set(struct comm *c, const struct call *call, const struct set *set,
                              const struct rounds *r)
{
    CUstream stream = (CUstream)call->stream;
    struct nccl_run run = {.nccl = &call->copy->real,
                           .cu = c->cu,
                           .stop = &c->stopped,
                           .comm = call->comm,
                           .stream = stream,
                           .pieces = {[PLAN_INPUT] = &set->in, [PLAN_OUTPUT] = &set->out},
                           .buffer = {[PLAN_SCRATCH] = c->scratch}};
    ncclResult_t result;

    result = take_turn(c, stream, 0) ? ncclUnhandledCudaError : nccl_run(&run, r);
    if (end_turn(c, stream, 0) && !result)
        result = ncclUnhandledCudaError;
    return result;
}
