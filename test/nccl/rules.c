/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program may rely on, beside results: groups, streams, the life of communicators. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/nccl/sums.h"

static void test_nothing(struct rank *r)
{
    char *p = device_new(64);

    NCCL(ncclAllReduce(p, p, 0, ncclFloat, ncclSum, r->comm, r->stream));
    NCCL(ncclAllGather(p, p, 0, ncclFloat, r->comm, r->stream));
    NCCL(ncclReduceScatter(NULL, NULL, 0, ncclFloat, ncclSum, r->comm, r->stream));
    stream_wait(r->stream);
    sum_all(r, r->comm, r->stream, "after nothing");
    device_free(p);
}

static void test_one_rank(struct rank *r)
{
    ncclComm_t alone;

    NCCL(ncclCommSplit(r->comm, r->rank, 0, &alone, NULL));
    sum_all(r, alone, r->stream, "one rank");
    NCCL(ncclCommDestroy(alone));
}

static void test_groups(struct rank *r)
{
    ncclComm_t other = ranks_comm(r);
    struct sum a = sum_begin(r, r->comm, r->stream), b = sum_begin(r, other, r->stream),
               c = sum_begin(r, r->comm, r->stream);

    NCCL(ncclGroupStart());
    NCCL(sum_call(&a));
    NCCL(ncclGroupStart());
    NCCL(sum_call(&b));
    NCCL(ncclGroupEnd());
    NCCL(sum_call(&c));
    NCCL(ncclGroupEnd());
    sum_end(r, &a, "group, first");
    sum_end(r, &b, "group, another communicator");
    sum_end(r, &c, "group, last");
    for (int i = 0; i < 3; i++) { /* and one after the other */
        sum_all(r, r->comm, r->stream, "two communicators, first");
        sum_all(r, other, r->stream, "two communicators, second");
    }
    NCCL(ncclCommDestroy(other));
}

/* Messages and a collective in one group. */
static void test_mixed_group(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    int *data = device_new(2 * sizeof *data), host[2] = {r->rank, -1};

    device_write(data, host, sizeof host);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(data, 1, ncclInt, next, r->comm, r->stream));
    NCCL(sum_call(&s));
    NCCL(ncclRecv(data + 1, 1, ncclInt, before, r->comm, r->stream));
    NCCL(ncclGroupEnd());
    sum_end(r, &s, "collective among messages");
    device_read(host, data, sizeof host);
    check(r, host[1] == before, "message beside a collective: %d", host[1]);
    device_free(data);
}

static void test_split(struct rank *r)
{
    ncclComm_t part, rest = NULL;
    int half = r->rank < (r->nranks + 1) / 2, last = r->nranks - 1;

    NCCL(ncclCommSplit(r->comm, half, -r->rank, &part, NULL));
    sum_all(r, part, r->stream, "half");
    NCCL(ncclCommDestroy(part));
    NCCL(ncclCommSplit(r->comm, half ? 1 : NCCL_SPLIT_NOCOLOR, 0, &part, NULL));
    check(r, (part != NULL) == half, "a rank without colour has no communicator");
    if (part) {
        sum_all(r, part, r->stream, "one half alone");
        NCCL(ncclCommDestroy(part));
    } else {
        r->sums++; /* sums are numbered alike on all ranks */
    }
    if (r->nranks > 1 && r->rank != last) {
        NCCL(ncclCommShrink(r->comm, &last, 1, &rest, NULL, NCCL_SHRINK_DEFAULT));
        sum_all(r, rest, r->stream, "shrunk");
        NCCL(ncclCommDestroy(rest));
    } else {
        r->sums++;
    }
    sum_all(r, r->comm, r->stream, "the parent goes on");
}

/* The children are there when the group ends, and are known then. */
static void test_split_in_group(struct rank *r)
{
    ncclComm_t half = NULL, all = NULL;

    NCCL(ncclGroupStart());
    NCCL(ncclCommSplit(r->comm, r->rank % 2, r->rank, &half, NULL));
    NCCL(ncclCommSplit(r->comm, 0, r->rank, &all, NULL));
    NCCL(ncclGroupEnd());
    if (!check(r, half && all, "no communicator behind the group"))
        return;
    for (int i = 0; i < 3; i++) {
        sum_all(r, all, r->stream, "split in a group");
        sum_all(r, half, r->stream, "a part split in a group");
    }
    NCCL(ncclCommDestroy(half));
    NCCL(ncclCommDestroy(all));
}

static void test_init_in_group(struct rank *r)
{
    ncclUniqueId id[2] = {ranks_id(r), ranks_id(r)};
    ncclComm_t comm[2];

    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommInitRank(&comm[i], r->nranks, id[i], r->rank));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2; i++)
        sum_all(r, comm[i], r->stream, "initialised in a group");
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommDestroy(comm[i]));
}

/* The call returns while what is before it on the stream has not happened. The host lets it happen
 * only afterwards. */
static void test_blocked_stream(struct rank *r)
{
    CUstream other = stream_new();
    uint32_t zero = 0;
    CUdeviceptr flag = (CUdeviceptr)device_new(4);

    sum_all(r, r->comm, r->stream, "before the stream is blocked");
    for (int i = 0; i < 3; i++) {
        struct sum s = sum_begin(r, r->comm, r->stream);

        device_write((void *)flag, &zero, sizeof zero);
        CUDA(StreamWaitValue32(r->stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
        NCCL(sum_call(&s));
        check(r, cu->StreamQuery(r->stream) == CUDA_ERROR_NOT_READY, "the stream is not blocked");
        CUDA(StreamWriteValue32(other, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
        sum_end(r, &s, "blocked stream");
    }
    device_free((void *)flag);
    CUDA(StreamDestroy(other));
}

/* Reduce-scatters end with combining, which is not NCCL's own: on two streams they must not meet in
 * what lies between. Block k of every rank's input holds k + own; each rank's share is checked. */
static void scatter_on(struct rank *r, CUstream *stream, int n)
{
    size_t all = r->count * (size_t)r->nranks;
    float *data[4], *host = malloc(all * sizeof *host);

    if (!host)
        abort();
    for (int s = 0; s < n; s++) {
        for (size_t i = 0; i < all; i++)
            host[i] = (float)(i / r->count) + (float)(s * 10);
        data[s] = device_new(all * sizeof *host);
        device_write(data[s], host, all * sizeof *host);
    }
    for (int s = 0; s < n; s++)
        NCCL(ncclReduceScatter(data[s], data[s] + (size_t)r->rank * r->count, r->count, ncclFloat,
                               ncclSum, r->comm, stream[s % 2]));
    for (int s = n - 1; s >= 0; s--) {
        int wrong = 0;

        stream_wait(stream[s % 2]);
        device_read(host, data[s], all * sizeof *host);
        for (size_t i = 0; i < r->count; i++)
            wrong +=
                host[(size_t)r->rank * r->count + i] != (float)(r->nranks * (r->rank + s * 10));
        check(r, !wrong, "reduce-scatter %d on two streams: %d elements are wrong", s, wrong);
        device_free(data[s]);
    }
    free(host);
}

/* A least over ranks, in a thread's own stream: every rank's block k holds k + more. */
struct least {
    struct rank *r;
    CUcontext context;
    pthread_barrier_t *turn;
    float more, *data;
    int wrong;
};

static void least_begin(const struct least *l)
{
    const struct rank *r = l->r;

    for (int i = 0; i < 4; i++)
        NCCL(ncclReduceScatter(l->data, l->data + (size_t)r->rank * r->count, r->count, ncclFloat,
                               ncclMin, r->comm, (cudaStream_t)CU_STREAM_PER_THREAD));
}

static void least_fill(struct least *l)
{
    size_t all = l->r->count * (size_t)l->r->nranks;
    float *host = malloc(all * sizeof *host);

    if (!host)
        abort();
    l->data = device_new(all * sizeof *host);
    for (size_t i = 0; i < all; i++)
        host[i] = (float)(i / l->r->count) + l->more;
    device_write(l->data, host, all * sizeof *host);
    free(host);
}

static void least_end(struct least *l)
{
    size_t own = l->r->count;
    float *host = malloc(own * sizeof *host);

    if (!host)
        abort();
    stream_wait(CU_STREAM_PER_THREAD);
    device_read(host, l->data + (size_t)l->r->rank * own, own * sizeof *host);
    for (size_t i = 0; i < own; i++)
        l->wrong += host[i] != (float)l->r->rank + l->more;
    free(host);
    device_free(l->data);
}

static void *least_aside(void *data)
{
    struct least *l = data;

    CUDA(CtxSetCurrent(l->context));
    least_fill(l);
    pthread_barrier_wait(l->turn); /* filled */
    pthread_barrier_wait(l->turn); /* the other one's calls are made */
    least_begin(l);
    least_end(l);
    return NULL;
}

/* A communicator goes from one thread to another, each with its own stream of one name. The
 * second's numbers are smaller: they must not get among the first's. */
static void test_thread_streams(struct rank *r)
{
    pthread_barrier_t turn;
    struct least mine = {.r = r, .more = 100}, aside = {.r = r, .turn = &turn};
    pthread_t thread;

    CUDA(CtxGetCurrent(&aside.context));
    pthread_barrier_init(&turn, NULL, 2);
    least_fill(&mine);
    pthread_create(&thread, NULL, least_aside, &aside);
    pthread_barrier_wait(&turn);
    least_begin(&mine);
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    least_end(&mine);
    pthread_barrier_destroy(&turn);
    check(r, !mine.wrong && !aside.wrong, "threads' own streams: %d and %d elements are wrong",
          mine.wrong, aside.wrong);
}

/* A context that the program has made: NCCL takes what is current. */
static void test_own_context(struct rank *r)
{
    CUcontext context;
    CUdevice device;
    ncclComm_t comm;
    CUstream stream;

    CUDA(DeviceGet(&device, r->device));
    CUDA(CtxCreate(&context, 0, device));
    stream = stream_new();
    comm = ranks_comm(r);
    for (int i = 0; i < 3; i++)
        sum_all(r, comm, stream, "in a context of its own");
    NCCL(ncclCommDestroy(comm));
    CUDA(StreamDestroy(stream));
    CUDA(CtxPopCurrent(NULL));
}

/* One communicator on two streams: its operations stay in order. */
static void test_two_streams(struct rank *r)
{
    CUstream other = stream_new(), both[2] = {r->stream, other};

    for (int i = 0; i < 8; i++)
        scatter_on(r, both, 4);

    for (int i = 0; i < 4; i++) {
        struct sum a = sum_begin(r, r->comm, r->stream), b = sum_begin(r, r->comm, other);

        NCCL(sum_call(&a));
        NCCL(sum_call(&b));
        sum_end(r, &b, "the second stream");
        sum_end(r, &a, "the first stream");
    }
    CUDA(StreamDestroy(other));
}

static void test_destroy_early(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);

    NCCL(sum_call(&s));
    NCCL(sum_call(&s)); /* of sums: checked by hand below */
    NCCL(ncclCommDestroy(r->comm));
    r->comm = NULL;
    stream_wait(r->stream);
    float first;
    device_read(&first, s.data, sizeof first);
    check(r, first == (float)(r->nranks * r->nranks * (r->nranks + 1) / 2),
          "destroyed with work outstanding: %g", (double)first);
    device_free(s.data);
}

static void test_finalize(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);

    NCCL(sum_call(&s));
    NCCL(ncclCommFinalize(r->comm));
    sum_end(r, &s, "finalized");
    NCCL(ncclCommDestroy(r->comm));
    r->comm = NULL;
}

/* What is enqueued behind a call on another stream does not wait for the call's other ranks, whose
 * hosts come only when it is done: compute goes on beside communication. */
static void test_beside_compute(struct rank *r)
{
    enum { PATIENCE_MS = 8000 };
    CUstream compute = stream_new();
    CUdeviceptr p = (CUdeviceptr)device_new(64);
    struct sum s;
    int ms = 0;

    for (int i = 0; i < 2; i++)
        sum_all(r, r->comm, r->stream, "before compute");
    s = sum_begin(r, r->comm, r->stream);
    if (r->rank == 0) {
        NCCL(sum_call(&s));
        CUDA(MemsetD8Async(p, 1, 64, compute));
        while (cu->StreamQuery(compute) == CUDA_ERROR_NOT_READY && ms < PATIENCE_MS)
            usleep(1000), ms++;
        check(r, ms < PATIENCE_MS, "compute waits for a call on another stream");
    }
    ranks_meet(r);
    if (r->rank)
        NCCL(sum_call(&s));
    sum_end(r, &s, "beside compute");
    stream_wait(compute);
    device_free((void *)p);
    CUDA(StreamDestroy(compute));
}

static void *abort_soon(void *data)
{
    struct rank *r = data;

    usleep(200000);
    NCCL(ncclCommAbort(r->comm));
    return NULL;
}

/* Rank 0 never comes; the others hang until another thread of theirs gives the communicator up. */
static void test_abort(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    pthread_t thread;

    NCCL(sum_call(&s));
    sum_end(r, &s, "before the abort");
    s = sum_begin(r, r->comm, r->stream);
    pthread_create(&thread, NULL, abort_soon, r);
    if (r->rank)
        sum_call(&s);
    stream_wait(r->stream);
    pthread_join(thread, NULL);
    check(r, 1, "aborted");
    r->comm = NULL;
    device_free(s.data);
    r->comm = ranks_comm(r);
    sum_all(r, r->comm, r->stream, "after an abort");
}

/* The same where the others meet each other before anything is on a stream: a size that is new. */
static void test_abort_meeting(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    size_t count = r->count;
    pthread_t thread;

    NCCL(sum_call(&s));
    sum_end(r, &s, "before the abort");
    r->count = count / 2 + 2;
    s = sum_begin(r, r->comm, r->stream);
    pthread_create(&thread, NULL, abort_soon, r);
    if (r->rank)
        sum_call(&s);
    stream_wait(r->stream);
    pthread_join(thread, NULL);
    device_free(s.data);
    r->count = count;
    r->comm = ranks_comm(r);
    sum_all(r, r->comm, r->stream, "after an abort");
}

static void test_async_error(struct rank *r)
{
    ncclResult_t state = ncclInternalError;

    for (int i = 0; i < 3; i++) {
        struct sum s = sum_begin(r, r->comm, r->stream);

        NCCL(sum_call(&s));
        NCCL(ncclCommGetAsyncError(r->comm, &state));
        check(r, state == ncclSuccess, "async error %d", state);
        sum_end(r, &s, "polled");
    }
}

/* Many calls of one size, then others: whatever is learned about a call must not change it. */
static void test_repeated(struct rank *r)
{
    size_t count = r->count;

    for (int i = 0; i < 60; i++) {
        r->count = i % 10 == 9 ? count / 2 + 1 : count;
        sum_all(r, r->comm, r->stream, "repeated");
    }
    r->count = count;
}

/* Once the guard has settled: sizes of one class, each new, then all of them once more. */
static void test_fresh(struct rank *r)
{
    size_t count = r->count;

    for (int i = 0; i < 200; i++)
        sum_all(r, r->comm, r->stream, "settling");
    for (int i = 0; i < 20; i++) {
        r->count = count - 1 - (size_t)i % 10;
        sum_all(r, r->comm, r->stream, "a size of its own");
    }
    r->count = count;
}

/* A handle's address comes back for the next communicator. */
static void test_recycled(struct rank *r)
{
    for (int i = 0; i < 4; i++) {
        ncclComm_t comm = ranks_comm(r);

        sum_all(r, comm, r->stream, "a new communicator");
        if (i % 2)
            NCCL(ncclCommAbort(comm));
        else
            NCCL(ncclCommDestroy(comm));
    }
}

const struct test_case cases_rules[] = {
    {"nothing", test_nothing},
    {"one_rank", test_one_rank},
    {"groups", test_groups},
    {"mixed_group", test_mixed_group},
    {"split", test_split},
    {"split_in_group", test_split_in_group},
    {"init_in_group", test_init_in_group},
    {"blocked_stream", test_blocked_stream},
    {"two_streams", test_two_streams},
    {"thread_streams", test_thread_streams},
    {"own_context", test_own_context},
    {"beside_compute", test_beside_compute},
    {"destroy_early", test_destroy_early},
    {"finalize", test_finalize},
    {"abort", test_abort},
    {"abort_meeting", test_abort_meeting},
    {"async_error", test_async_error},
    {"repeated", test_repeated},
    {"fresh", test_fresh},
    {"recycled", test_recycled},
    {NULL, NULL},
};
