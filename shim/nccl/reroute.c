/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/reroute.h"

#include <string.h>

#include "planners/choose.h"
#include "shim/nccl/ppg.h"

/* NCCL's types and operations as the kernels have them, by number. */
static const enum reduce_type types[] = {
    [ncclInt8] = REDUCE_TYPE_i8,         [ncclUint8] = REDUCE_TYPE_u8,
    [ncclInt32] = REDUCE_TYPE_i32,       [ncclUint32] = REDUCE_TYPE_u32,
    [ncclInt64] = REDUCE_TYPE_i64,       [ncclUint64] = REDUCE_TYPE_u64,
    [ncclFloat16] = REDUCE_TYPE_f16,     [ncclFloat32] = REDUCE_TYPE_f32,
    [ncclFloat64] = REDUCE_TYPE_f64,     [ncclBfloat16] = REDUCE_TYPE_bf16,
    [ncclFloat8e4m3] = REDUCE_TYPE_e4m3, [ncclFloat8e5m2] = REDUCE_TYPE_e5m2,
};
enum { TYPES = sizeof types / sizeof types[0] };

static const enum reduce_op ops[] = {
    [ncclSum] = REDUCE_OP_sum,
    [ncclProd] = REDUCE_OP_prod,
    [ncclMax] = REDUCE_OP_max,
    [ncclMin] = REDUCE_OP_min,
};
enum { OPS = sizeof ops / sizeof ops[0] };

static int rounds_results(const struct call *call)
{
    return call->type >= ncclFloat16 && (call->op == ncclSum || call->op == ncclProd);
}

size_t reroute_element_bytes(const struct call *call)
{
    return reduce_type_bytes(types[call->type]);
}

void reroute_kernel(const struct call *call, int *type, int *op)
{
    *type = types[call->type];
    *op = ops[call->op];
}

/* Bytes of what each rank has, or of the vector. */
static size_t block_bytes(const struct call *call)
{
    return call->count * reroute_element_bytes(call);
}

/* What needs no look at the communicator. All of it is the same on all ranks. */
static enum reason gate_call(const struct call *call, int grouped)
{
    const struct choice *choice = &process.choice[call->collective];

    if (!call->count || (unsigned)call->type >= TYPES)
        return REASON_ARGUMENTS;
    if (choice->native)
        return REASON_CHOSEN;
    if (!choice->served)
        return REASON_NO_ALGORITHM;
    if (process.cfg.mode == CFG_MODE_VERIFY)
        return REASON_MODE;
    if (grouped)
        return REASON_GROUP;
    if (!call->combines)
        return REASON_NONE;
    if (call->op == ncclAvg)
        return REASON_AVERAGE;
    if ((unsigned)call->op >= OPS || !cuda_reduce_exists(ops[call->op], types[call->type]))
        return REASON_OPERATION;
    return process.cfg.exact && rounds_results(call) ? REASON_EXACT : REASON_NONE;
}

/* A buffer that is not there is for the library to complain about. */
static int has_buffers(const struct call *call, const struct comm *c)
{
    int at_root = c->rank == call->root;

    if (call->collective == COLL_REDUCE)
        return call->send && (call->recv || !at_root);
    if (call->collective == COLL_BCAST)
        return call->recv && (call->send || !at_root);
    return call->send && call->recv;
}

static uint64_t total_bytes(const struct call *call, const struct comm *c)
{
    int vector = call->collective == COLL_ALLREDUCE || call->collective == COLL_REDUCE ||
                 call->collective == COLL_BCAST;

    return (uint64_t)block_bytes(call) * (vector ? 1 : (uint64_t)c->nranks);
}

static enum reason gate_comm(struct comm *c, const struct call *call)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (total_bytes(call, c) < process.cfg.min_bytes)
        return REASON_SMALL;
    if (c->notes < 0 && c->verdict)
        return c->verdict;
    if (call->root < 0 || call->root >= c->nranks || !has_buffers(call, c))
        return REASON_ARGUMENTS;
    if (c->cu && (c->cu->StreamIsCapturing((CUstream)call->stream, &status) != CUDA_SUCCESS ||
                  status != CU_STREAM_CAPTURE_STATUS_NONE))
        return REASON_CAPTURE;
    return comm_verdict(c);
}

static ncclResult_t run_native(const struct call *call, enum reason why)
{
    count_native(call->collective, why);
    return call->native(call);
}

/* The pipeline's chunk: few rounds, since each costs a launch, and none so small that it is not
 * worth one. */
static size_t chunk_for(const struct call *call, const struct comm *c)
{
    enum { LEAST = 512 << 10, PARTS = 32, WHOLE = 256 };
    size_t unit = block_bytes(call), chunk = process.cfg.chunk_bytes;

    if (!chunk) {
        if (call->collective == COLL_ALLREDUCE || call->collective == COLL_BCAST ||
            call->collective == COLL_REDUCE)
            unit /= (size_t)c->nranks;
        chunk = unit / PARTS > LEAST ? unit / PARTS : LEAST;
    }
    return (chunk + WHOLE - 1) / WHOLE * WHOLE;
}

struct plan_request reroute_request(const struct call *call, const struct comm *c)
{
    struct plan_request q = {.collective = call->collective,
                             .topo = c->topo,
                             .rank = c->rank,
                             .root = call->root,
                             .nbytes = block_bytes(call),
                             .grain = 1,
                             .chunk_bytes = chunk_for(call, c)};

    if (call->combines)
        q.grain = reduce_type_bytes(types[call->type]);
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

ncclResult_t reroute_by_rounds(struct comm *c, const struct call *call, const struct rounds *r,
                               const struct plan_request *q)
{
    CUstream stream = (CUstream)call->stream;
    struct buffers b = buffers_of(call, c, r, q);
    struct nccl_run run = {.nccl = &call->copy->real,
                           .cu = c->cu,
                           .reducer = c->reducer,
                           .comm = call->comm,
                           .stream = stream};
    ncclResult_t result = ncclSuccess;

    memcpy(run.buffer, b.buffer, sizeof run.buffer);
    if (call->combines) {
        run.op = ops[call->op];
        run.type = types[call->type];
    }
    /* scratch is one for all streams; NCCL's own order of a communicator does not cover our kernels
     */
    if (c->has_run && c->last_stream != stream)
        c->cu->StreamWaitEvent(stream, c->last, 0);
    if (b.copy_bytes && copy(c, b.copy_to, b.copy_from, b.copy_bytes, stream) != CUDA_SUCCESS)
        result = ncclUnhandledCudaError;
    if (!result)
        result = nccl_run(&run, r);
    if (!result && b.staged && copy(c, call->recv, b.staged, q->nbytes, stream) != CUDA_SUCCESS)
        result = ncclUnhandledCudaError;
    c->cu->EventRecord(c->last, stream);
    c->last_stream = stream;
    c->has_run = 1;
    return result;
}

static const char *name_of(const struct plan_candidate *choice)
{
    return choice->algorithm ? choice->algorithm->name : "library";
}

static ncclResult_t run_sliced(struct comm *c, const struct call *call,
                               const struct plan_candidate *choice)
{
    enum reason why;
    ncclResult_t result = ppg_run(c, call, choice, &why);

    if (why)
        count_native(call->collective, why);
    else
        count_rerouted(call->collective, name_of(choice), block_bytes(call));
    return result;
}

static ncclResult_t run_rerouted(struct comm *c, const struct call *call,
                                 const struct plan_candidate *choice)
{
    if (ppg_slices(c, call) > 1)
        return run_sliced(c, call, choice);
    struct plan_request q = reroute_request(call, c);
    const struct rounds *r;
    ncclResult_t result;

    q.recipe = choice->recipe;
    if (choice->recipe && choice->algorithm->accepts) {
        char why[256] = "";

        if (choice->algorithm->accepts(&q, why, sizeof why))
            return run_native(call, REASON_RECIPE);
    }
    r = comm_rounds(c, &q, choice->algorithm);
    if (!r)
        return run_native(call, REASON_NOT_READY);
    result = reroute_by_rounds(c, call, r, &q);
    count_rerouted(call->collective, choice->algorithm->name, plan_total_bytes(&q));
    return result;
}

/* Events around one call of a trial. */
static ncclResult_t run_timed(struct comm *c, const struct call *call, struct trial *t, int sample,
                              const struct plan_candidate *choice)
{
    int way = choice ? TRIAL_REROUTED : TRIAL_NATIVE;
    CUevent *begin = &t->begin[way][sample], *end = &t->end[way][sample];
    ncclResult_t result;

    if (!*begin)
        c->cu->EventCreate(begin, CU_EVENT_DEFAULT);
    if (!*end)
        c->cu->EventCreate(end, CU_EVENT_DEFAULT);
    if (*begin)
        c->cu->EventRecord(*begin, (CUstream)call->stream);
    result = choice ? run_rerouted(c, call, choice) : run_native(call, REASON_TRIAL);
    if (*end)
        c->cu->EventRecord(*end, (CUstream)call->stream);
    return result;
}

static void compare(struct comm *c, const struct call *call, struct trial *t,
                    const struct plan_candidate *choice)
{
    double seconds[2];

    trial_best(t, c->cu, seconds);
    if (comm_largest(c, seconds, 2) < 0)
        seconds[TRIAL_REROUTED] = seconds[TRIAL_NATIVE]; /* on all ranks */
    if (trial_settle(t, seconds) && c->rank == 0)
        say(CFG_LEVEL_INFO,
            "guard: NCCL %s of %zu bytes on %d ranks: %s, %.3g of the library's time",
            plan_collective_name(call->collective), block_bytes(call), c->nranks,
            t->best ? name_of(choice) : "the library's own",
            seconds[TRIAL_REROUTED] / seconds[TRIAL_NATIVE]);
}

static int is_guarded(const struct choice *choice)
{
    return process.cfg.guard && !process.cfg.reproducible && process.cfg.mode == CFG_MODE_ON &&
           process.cfg.min_bytes && !choice->forced;
}

static ncclResult_t choose_and_run(struct comm *c, const struct call *call)
{
    const struct choice *choice = &process.choice[call->collective];
    struct plan_request q = reroute_request(call, c);
    struct plan_candidate best = {.algorithm = choice->forced,
                                  .recipe = choice->recipe[0] ? choice->recipe : NULL};
    struct trial *t;
    int sample, wants_compare;

    if (!choice->forced) {
        int n = process.cfg.min_bytes ? plan_candidates(&q, &best, 1)
                                      : plan_candidates_all(&q, &best, 1);
        if (!n && ppg_slices(c, call) < 2)
            return run_native(call, plan_nothing_pays(&q) ? REASON_SHAPE : REASON_SIZE);
    }
    if (process.cfg.mode == CFG_MODE_AB && c->turn++ % 2 == 0)
        return run_native(call, REASON_TURN);
    if (!is_guarded(choice))
        return run_rerouted(c, call, &best);
    t = trial_find(&c->trials, call->collective, plan_total_bytes(&q));
    if (!t)
        return run_native(call, REASON_SLOWER);
    enum trial_turn turn = trial_pick(t, &sample, &wants_compare);
    if (wants_compare) {
        compare(c, call, t, &best);
        turn = t->settled ? (enum trial_turn)t->best : TRIAL_NATIVE;
    }
    if (sample >= 0)
        return run_timed(c, call, t, sample, turn == TRIAL_REROUTED ? &best : NULL);
    return turn == TRIAL_REROUTED ? run_rerouted(c, call, &best)
                                  : run_native(call, t->settled ? REASON_SLOWER : REASON_TRIAL);
}

ncclResult_t reroute(const struct call *call, int grouped)
{
    enum reason why = gate_call(call, grouped);
    struct comm *c = why ? NULL : comm_find(call->comm);
    ncclResult_t result;

    if (!c)
        return run_native(call, why ? why : REASON_UNKNOWN);
    why = gate_comm(c, call);
    if (why) {
        result = run_native(call, why);
    } else {
        c->cu->CtxPushCurrent(c->context);
        result = choose_and_run(c, call);
        c->cu->CtxPopCurrent(NULL);
    }
    comm_release(c);
    return result;
}
