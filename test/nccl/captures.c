/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are captured into a graph: what it does each time that it is launched. */
#include <pthread.h>
#include <stdlib.h>

#include "test/nccl/ranks.h"

/* One AllReduce, AllGather and ReduceScatter (in place) with buffers that stay. */
struct trio {
    float *sum_in, *sum_out, *all, *scatter;
    size_t count;
    int grouped; /* called as one group */
    ncclRedOp_t op;
    float factor, *factor_at; /* of that; on the device, NULL: none */
    int mapped;               /* the buffers are NCCL's (ncclMemAlloc), which it can export */
};

static size_t bytes_of(size_t count)
{
    return count * sizeof(float);
}

static float *buffer_new(int mapped, size_t bytes)
{
    void *p;

    if (!mapped)
        return device_new(bytes);
    NCCL(ncclMemAlloc(&p, bytes));
    return p;
}

static struct trio trio_in(const struct rank *r, size_t count, int mapped)
{
    size_t n = (size_t)r->nranks;

    return (struct trio){.sum_in = buffer_new(mapped, bytes_of(count)),
                         .sum_out = buffer_new(mapped, bytes_of(count)),
                         .all = buffer_new(mapped, bytes_of(n * count)),
                         .scatter = buffer_new(mapped, bytes_of(n * count)),
                         .count = count,
                         .factor = 1,
                         .mapped = mapped};
}

static struct trio trio_new(const struct rank *r, size_t count)
{
    return trio_in(r, count, 0);
}

static void trio_free(struct trio *t)
{
    float *buffer[] = {t->sum_in, t->sum_out, t->all, t->scatter};

    for (int i = 0; i < 4; i++)
        if (t->mapped)
            NCCL(ncclMemFree(buffer[i]));
        else
            device_free(buffer[i]);
}

/* Rank `from`'s value: another number in each round and place. */
static float number(int from, int round, size_t i)
{
    return (float)((from + 1) * (round + 1) + (int)(i % 5));
}

static void trio_fill(struct rank *r, struct trio *t, int round)
{
    size_t n = (size_t)r->nranks * t->count;
    float *host = malloc(bytes_of(n));

    if (!host)
        abort();
    for (size_t i = 0; i < n; i++)
        host[i] = number(r->rank, round, i);
    device_write(t->sum_in, host, bytes_of(t->count));
    device_write(t->all + (size_t)r->rank * t->count, host, bytes_of(t->count));
    device_write(t->scatter, host, bytes_of(n));
    free(host);
    if (t->factor_at) {
        t->factor = (float)(round + 2);
        device_write(t->factor_at, &t->factor, sizeof t->factor);
    }
}

static void trio_call(const struct rank *r, const struct trio *t, ncclComm_t comm, CUstream stream)
{
    size_t own = (size_t)r->rank * t->count;

    if (t->grouped)
        NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(t->sum_in, t->sum_out, t->count, ncclFloat, t->op, comm, stream));
    NCCL(ncclAllGather(t->all + own, t->all, t->count, ncclFloat, comm, stream));
    NCCL(ncclReduceScatter(t->scatter, t->scatter + own, t->count, ncclFloat, t->op, comm, stream));
    if (t->grouped)
        NCCL(ncclGroupEnd());
}

static float sum_of(const struct rank *r, int round, size_t i)
{
    float sum = 0;

    for (int from = 0; from < r->nranks; from++)
        sum += number(from, round, i);
    return sum;
}

/* After its stream was waited for. */
static void trio_check(struct rank *r, const struct trio *t, int round, const char *what)
{
    size_t n = (size_t)r->nranks, own = (size_t)r->rank * t->count, wrong[3] = {0};
    float *host = malloc(bytes_of(n * t->count));

    if (!host)
        abort();
    device_read(host, t->sum_out, bytes_of(t->count));
    for (size_t i = 0; i < t->count; i++)
        wrong[0] += host[i] != t->factor * sum_of(r, round, i);
    device_read(host, t->all, bytes_of(n * t->count));
    for (size_t i = 0; i < n * t->count; i++)
        wrong[1] += host[i] != number((int)(i / t->count), round, i % t->count);
    device_read(host, t->scatter + own, bytes_of(t->count));
    for (size_t i = 0; i < t->count; i++)
        wrong[2] += host[i] != t->factor * sum_of(r, round, own + i);
    check(r, !wrong[0] && !wrong[1] && !wrong[2],
          "%s, round %d: of the sum %zu elements are wrong, gathered %zu, scattered %zu", what,
          round, wrong[0], wrong[1], wrong[2]);
    free(host);
}

static CUgraphExec captured(const struct rank *r, const struct trio *t, ncclComm_t comm)
{
    CUgraphExec exec;
    CUgraph graph;

    CUDA(StreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    trio_call(r, t, comm, r->stream);
    CUDA(StreamEndCapture(r->stream, &graph));
    CUDA(GraphInstantiateWithFlags(&exec, graph, 0));
    CUDA(GraphDestroy(graph));
    return exec;
}

static void eager(struct rank *r, struct trio *t, CUstream stream, int round)
{
    trio_fill(r, t, round);
    trio_call(r, t, r->comm, stream);
    stream_wait(stream);
    trio_check(r, t, round, "a call outside of the graph");
}

/* Each time with other inputs. */
static void launch(struct rank *r, CUgraphExec exec, struct trio *t, const char *what)
{
    for (int round = 0; round < 3; round++) {
        trio_fill(r, t, round);
        CUDA(GraphLaunch(exec, r->stream));
        stream_wait(r->stream);
        trio_check(r, t, round, what);
    }
}

/* A graph on one stream and calls on another, at the same time: neither is in the other's way. */
static void beside(struct rank *r, CUgraphExec exec, struct trio *in_graph, struct trio *outside,
                   CUstream other, int round)
{
    trio_fill(r, in_graph, round);
    trio_fill(r, outside, round + 1);
    if (round % 2)
        trio_call(r, outside, r->comm, other);
    CUDA(GraphLaunch(exec, r->stream));
    if (!(round % 2))
        trio_call(r, outside, r->comm, other);
    stream_wait(other);
    stream_wait(r->stream);
    trio_check(r, in_graph, round, "in the graph");
    trio_check(r, outside, round + 1, "beside the graph");
}

/* After a call of its kind, and launched with other inputs each time. */
static void test_captured(struct rank *r)
{
    struct trio t = trio_new(r, r->count), o = trio_new(r, r->count);
    CUstream other = stream_new();
    CUgraphExec exec;

    eager(r, &t, r->stream, 0);
    exec = captured(r, &t, r->comm);
    launch(r, exec, &t, "a graph");
    for (int round = 0; round < 6; round++)
        beside(r, exec, &t, &o, other, round);
    CUDA(GraphExecDestroy(exec));
    trio_free(&t);
    trio_free(&o);
    CUDA(StreamDestroy(other));
}

/* Larger calls, which need more memory, and communicators that would be glad of what is left: as
 * many as there may be pieces of it. One rank's graph is late, so that the others' are under way
 * while a communicator is used from its beginning to its end. */
static void test_captured_grown(struct rank *r)
{
    enum { OTHERS = 6 };
    struct trio t = trio_new(r, r->count), o = trio_new(r, r->count),
                large = trio_new(r, 8 * r->count);
    CUdeviceptr flag = (CUdeviceptr)device_new(4);
    CUstream stream = stream_new();
    ncclComm_t other[OTHERS];
    CUgraphExec exec;

    eager(r, &t, r->stream, 0);
    exec = captured(r, &t, r->comm);
    eager(r, &large, stream, 1);
    for (int i = 0; i < OTHERS; i++) {
        other[i] = ranks_comm(r);
        trio_fill(r, &o, i);
        trio_call(r, &o, other[i], stream); /* has its memory from here on */
        stream_wait(stream);
        trio_check(r, &o, i, "its first call");
    }
    for (int round = 0; round < 4 * OTHERS; round++) {
        trio_fill(r, &t, round);
        trio_fill(r, &o, round + 3);
        device_write((void *)flag, &(uint32_t){0}, 4);
        if (r->rank == round % r->nranks)
            CUDA(StreamWaitValue32(r->stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
        CUDA(GraphLaunch(exec, r->stream));
        trio_call(r, &o, other[round % OTHERS], stream);
        CUDA(StreamWriteValue32(stream, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
        stream_wait(stream);
        stream_wait(r->stream);
        trio_check(r, &t, round, "a graph from before");
        trio_check(r, &o, round + 3, "another communicator");
    }
    CUDA(GraphExecDestroy(exec));
    for (int i = 0; i < OTHERS; i++)
        NCCL(ncclCommDestroy(other[i]));
    trio_free(&t);
    trio_free(&o);
    trio_free(&large);
    device_free((void *)flag);
    CUDA(StreamDestroy(stream));
}

/* A capture of another thread's, in the mode that is the default everywhere. */
struct other_capture {
    struct rank *r;
    CUstream stream;
    pthread_barrier_t begun, over;
    int sound;
};

static void *capture_aside(void *data)
{
    struct other_capture *o = data;
    CUgraph graph;

    CUDA(CtxSetCurrent(o->r->context));
    CUDA(StreamBeginCapture(o->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    pthread_barrier_wait(&o->begun);
    pthread_barrier_wait(&o->over);
    o->sound = cu->StreamEndCapture(o->stream, &graph) == CUDA_SUCCESS;
    if (o->sound)
        CUDA(GraphDestroy(graph));
    return NULL;
}

/* The first calls of their size, for which memory and kernels are looked for: they spoil nothing.
 */
static void test_capture_elsewhere(struct rank *r)
{
    struct trio t = trio_new(r, r->count);
    struct other_capture o = {.r = r, .stream = stream_new()};
    ncclComm_t comm = ranks_comm(r);
    pthread_t thread;

    trio_fill(r, &t, 2);
    pthread_barrier_init(&o.begun, NULL, 2);
    pthread_barrier_init(&o.over, NULL, 2);
    ranks_meet(r);
    if (pthread_create(&thread, NULL, capture_aside, &o))
        abort();
    pthread_barrier_wait(&o.begun);
    trio_call(r, &t, comm, r->stream);
    pthread_barrier_wait(&o.over);
    pthread_join(thread, NULL);
    ranks_meet(r);
    check(r, o.sound, "a capture of another thread's is spoilt");
    stream_wait(r->stream);
    trio_check(r, &t, 2, "beside a capture");
    pthread_barrier_destroy(&o.begun);
    pthread_barrier_destroy(&o.over);
    NCCL(ncclCommDestroy(comm));
    CUDA(StreamDestroy(o.stream));
    trio_free(&t);
}

/* Nothing was called before: then nothing can be prepared. */
static void test_captured_first(struct rank *r)
{
    struct trio t = trio_new(r, r->count);
    ncclComm_t comm = ranks_comm(r);
    CUgraphExec exec = captured(r, &t, comm);

    launch(r, exec, &t, "the first call");
    CUDA(GraphExecDestroy(exec));
    NCCL(ncclCommDestroy(comm));
    trio_free(&t);
}

/* By a scalar that each launch finds anew. */
static void test_captured_scaled(struct rank *r)
{
    struct trio t = trio_new(r, r->count);
    CUgraphExec exec;

    t.factor_at = device_new(sizeof *t.factor_at);
    NCCL(ncclRedOpCreatePreMulSum(&t.op, t.factor_at, ncclFloat, ncclScalarDevice, r->comm));
    eager(r, &t, r->stream, 0);
    exec = captured(r, &t, r->comm);
    NCCL(ncclRedOpDestroy(t.op, r->comm));
    launch(r, exec, &t, "scaled");
    CUDA(GraphExecDestroy(exec));
    device_free(t.factor_at);
    trio_free(&t);
}

/* Its size differs from that of earlier calls, so it is unprepared. */
static void test_captured_other(struct rank *r)
{
    struct trio called = trio_new(r, r->count), t = trio_new(r, r->count / 2);
    CUgraphExec exec;

    eager(r, &called, r->stream, 0);
    exec = captured(r, &t, r->comm);
    launch(r, exec, &t, "of another size");
    CUDA(GraphExecDestroy(exec));
    trio_free(&called);
    trio_free(&t);
}

/* In memory that NCCL registers by itself in a graph: of all ranks, then of one alone. */
static void test_captured_mapped(struct rank *r)
{
    for (int all = 1; all >= 0; all--) {
        struct trio t = trio_in(r, r->count, all || r->rank == 0);
        CUgraphExec exec;

        eager(r, &t, r->stream, 0);
        exec = captured(r, &t, r->comm);
        launch(r, exec, &t, "in memory that NCCL registers");
        CUDA(GraphExecDestroy(exec));
        trio_free(&t);
    }
}

/* A buffer of the graph is registered behind the capture, and given up between launches; other
 * calls run meanwhile, with it and without. */
static void test_captured_registered(struct rank *r)
{
    struct trio t = trio_in(r, r->count, 1), other = trio_new(r, r->count);
    CUgraphExec exec, unknown;
    void *handle;

    eager(r, &other, r->stream, 0);
    unknown = captured(r, &other, r->comm);
    exec = captured(r, &t, r->comm);
    NCCL(ncclCommRegister(r->comm, t.sum_out, bytes_of(t.count), &handle));
    for (int round = 1; round < 6; round++) {
        eager(r, &t, r->stream, round);
        eager(r, &other, r->stream, round);
        launch(r, unknown, &other, "beside a registered buffer");
        launch(r, exec, &t, "of a buffer that is registered");
    }
    NCCL(ncclCommDeregister(r->comm, handle));
    launch(r, exec, &t, "of a buffer that was registered");
    CUDA(GraphExecDestroy(exec));
    CUDA(GraphExecDestroy(unknown));
    trio_free(&t);
    trio_free(&other);
}

static void captured_after(struct rank *r, int calls, int grouped)
{
    struct trio t = trio_new(r, r->count);
    CUgraphExec exec;

    t.grouped = grouped;
    for (int round = 0; round < calls; round++)
        eager(r, &t, r->stream, round % 7);
    exec = captured(r, &t, r->comm);
    launch(r, exec, &t, "in a graph");
    CUDA(GraphExecDestroy(exec));
    trio_free(&t);
}

static void test_captured_group(struct rank *r)
{
    captured_after(r, 1, 1);
}

/* After many calls: by then the guard has settled. */
static void test_captured_late(struct rank *r)
{
    captured_after(r, 50, 0);
}

/* At many moments behind the first verdict: in some of them it is looking again. */
static void test_captured_again(struct rank *r)
{
    captured_after(r, 60, 0);
    for (int i = 0; i < 14; i++)
        captured_after(r, 5, 0);
}

const struct test_case cases_captures[] = {
    {"captured", test_captured},
    {"captured_grown", test_captured_grown},
    {"captured_first", test_captured_first},
    {"capture_elsewhere", test_capture_elsewhere},
    {"captured_scaled", test_captured_scaled},
    {"captured_other", test_captured_other},
    {"captured_mapped", test_captured_mapped},
    {"captured_registered", test_captured_registered},
    {"captured_group", test_captured_group},
    {"captured_late", test_captured_late},
    {"captured_again", test_captured_again},
    {NULL, NULL},
};
