/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams and contexts: which of them wait for each other, and which must not. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/nccl/sums.h"

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

/* A message to and from every other rank. */
static void exchange_on(struct rank *r, ncclComm_t comm, CUstream stream)
{
    size_t n = (size_t)r->nranks, wrong = 0;
    float *in = device_new(n * sizeof *in), *out = device_new(n * sizeof *out), host[64];

    if (n > 64)
        abort();
    for (size_t p = 0; p < n; p++)
        host[p] = (float)r->rank;
    device_write(in, host, n * sizeof *in);
    device_write(out, host, n * sizeof *out);
    NCCL(ncclGroupStart());
    for (int p = 0; p < r->nranks; p++) {
        if (p == r->rank)
            continue;
        NCCL(ncclSend(in + p, 1, ncclFloat, p, comm, stream));
        NCCL(ncclRecv(out + p, 1, ncclFloat, p, comm, stream));
    }
    NCCL(ncclGroupEnd());
    stream_wait(stream);
    device_read(host, out, n * sizeof *out);
    for (size_t p = 0; p < n; p++)
        wrong += host[p] != (float)p;
    check(r, !wrong, "an exchange on a stream of another context: %zu are wrong", wrong);
    device_free(in);
    device_free(out);
}

/* Sums on a stream of another context, as those of a green context are, from the third call on.
   After that on one rank alone. */
static void test_foreign_context(struct rank *r)
{
    CUcontext context;
    CUdevice device;
    ncclComm_t comm = ranks_comm(r);
    CUstream stream;

    CUDA(DeviceGet(&device, r->device));
    CUDA(CtxCreate(&context, 0, device));
    stream = stream_new();
    CUDA(CtxPopCurrent(NULL));
    for (int i = 0; i < 12; i++)
        sum_all(r, r->comm, i >= 2 && (i < 7 || r->rank == 1) ? stream : r->stream,
                "on a stream of another context");
    for (int i = 0; i < 3; i++)
        exchange_on(r, comm, i == 1 && r->rank == 1 ? stream : r->stream);
    NCCL(ncclCommDestroy(comm));
    CUDA(StreamDestroy(stream));
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

/* Work enqueued behind a call on another stream does not wait for the call's other ranks, whose
   hosts come only when it is done: compute goes on beside communication. */
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

const struct test_case cases_streams[] = {
    {"blocked_stream", test_blocked_stream},
    {"two_streams", test_two_streams},
    {"thread_streams", test_thread_streams},
    {"own_context", test_own_context},
    {"foreign_context", test_foreign_context},
    {"beside_compute", test_beside_compute},
    {NULL, NULL},
};
