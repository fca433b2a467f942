/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a collective takes between two events, the slowest rank's; on the simulated driver that
 * is modelled time, and so the same on every machine. And how long its call takes, by the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/nccl/ranks.h"

enum { ALLGATHER, REDUCE_SCATTER, ALLREDUCE, KINDS };
enum { CALLS = 6 };
static const char *const names[] = {"allgather", "reduce_scatter", "allreduce"};

/* NCCL_RANKS_RATES names one collective; without it all are timed. */
static int is_timed(int kind)
{
    const char *only = getenv("NCCL_RANKS_RATES");

    return !only || !strcmp(only, names[kind]);
}

/* Bytes of the largest buffer that is used. */
static size_t room(const struct rank *r)
{
    int blocks = is_timed(ALLGATHER) || is_timed(REDUCE_SCATTER);

    return r->count * sizeof(float) * (blocks ? (size_t)r->nranks : 1);
}

static double largest(struct rank *r, double mine)
{
    double all = 0, told;

    for (int i = 0; i < r->nranks; i++) {
        told = mine;
        ranks_tell_from(r, i, &told, sizeof told);
        all = told > all ? told : all;
    }
    return all;
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* `count` elements: of the vector, or of one rank's block. */
static void call(const struct rank *r, int kind, float *in, float *out, size_t count)
{
    if (kind == ALLGATHER)
        NCCL(ncclAllGather(in, out, count, ncclFloat, r->comm, r->stream));
    else if (kind == REDUCE_SCATTER)
        NCCL(ncclReduceScatter(in, out, count, ncclFloat, ncclSum, r->comm, r->stream));
    else
        NCCL(ncclAllReduce(in, in, count, ncclFloat, ncclSum, r->comm, r->stream));
}

/* For the stream, the last call's; for the host, the median of all but the first. */
static void test_rates(struct rank *r)
{
    float *in = device_new(room(r));
    float *out = device_new(room(r));
    CUevent begin, end;
    double calls_us[CALLS];
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int k = 0; k < KINDS; k++) {
        if (!is_timed(k))
            continue;
        for (int i = 0; i < CALLS; i++) {
            double began;

            stream_wait(r->stream);
            ranks_meet(r);
            CUDA(EventRecord(begin, r->stream));
            began = now_us();
            call(r, k, in, out, r->count);
            calls_us[i] = now_us() - began;
            CUDA(EventRecord(end, r->stream));
        }
        qsort(calls_us + 1, CALLS - 1, sizeof *calls_us, by_size);
        stream_wait(r->stream);
        CUDA(EventElapsedTime(&ms, begin, end));
        double seconds = largest(r, (double)ms / 1e3);
        if (r->rank == 0)
            printf(
                "{\"collective\": \"%s\", \"bytes\": %zu, \"seconds\": %.6g, \"call_us\": %.1f}\n",
                names[k], r->count * sizeof *in, seconds, calls_us[CALLS / 2]);
        check(r, seconds > 0, "%s takes no time", names[k]);
    }
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    device_free(in);
    device_free(out);
}

/* Seconds per call; `call_us` has each call's time on the host. At most four calls are queued. */
static double queued_seconds(struct rank *r, int kind, float *in, float *out, size_t count,
                             int calls, double *call_us)
{
    CUevent begin, end;
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    stream_wait(r->stream);
    ranks_meet(r);
    CUDA(EventRecord(begin, r->stream));
    for (int i = 0; i < calls; i++) {
        double began = now_us();

        call(r, kind, in, out, count);
        call_us[i] = now_us() - began;
        if (i % 4 == 3)
            stream_wait(r->stream);
    }
    CUDA(EventRecord(end, r->stream));
    stream_wait(r->stream);
    CUDA(EventElapsedTime(&ms, begin, end));
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    return largest(r, (double)ms / 1e3) / calls;
}

/* The first calls of a size, among which a guard compares, and later ones: three sizes of each
   collective. Zeroes: sums of many calls stay what they are. */
static void test_settled_rates(struct rank *r)
{
    enum { FIRST = 200, PARTS = 256 };
    float *in = device_new(room(r)), *out = device_new(room(r));
    double call_us[FIRST];

    CUDA(MemsetD8Async((CUdeviceptr)in, 0, room(r), r->stream));
    for (int k = 0; k < KINDS; k++)
        for (size_t part = PARTS; is_timed(k) && part; part /= 16) {
            double first = queued_seconds(r, k, in, out, r->count / part, FIRST, call_us);
            double between = queued_seconds(r, k, in, out, r->count / part, FIRST, call_us);
            double settled = queued_seconds(r, k, in, out, r->count / part, FIRST, call_us);

            qsort(call_us, FIRST, sizeof *call_us, by_size);
            if (r->rank == 0)
                printf("{\"collective\": \"%s\", \"bytes\": %zu, \"seconds\": %.6g, "
                       "\"first_us\": %.1f, \"call_us\": %.1f}\n",
                       names[k], r->count / part * sizeof *in, settled, first * 1e6,
                       call_us[FIRST / 2]);
            check(r, first > 0 && between > 0 && settled > 0, "%s takes no time", names[k]);
        }
    device_free(in);
    device_free(out);
}

/* Rank `from`'s bytes for `to`: a share of 0.7 of all to rank 0, which has its own for rank 1. */
static size_t hot(const struct rank *r, int from, int to)
{
    size_t all = r->count * sizeof(float), rest = (all - all / 10 * 7) / (size_t)(r->nranks - 1);
    int favourite = from ? 0 : 1 % r->nranks;

    return to == from ? 0 : rest + (to == favourite ? all / 10 * 7 : 0);
}

/* Messages to all ranks, most of them to one. */
static void test_set_rates(struct rank *r)
{
    size_t all = r->count * sizeof(float) * 2 * (size_t)r->nranks;
    char *in, *out;
    CUevent begin, end;
    float ms = 0;

    if (r->nranks == 1)
        return;
    in = device_new(all);
    out = device_new(all);
    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int warm = 0; warm < 2; warm++) {
        size_t from = 0, to = 0;

        stream_wait(r->stream);
        ranks_meet(r);
        CUDA(EventRecord(begin, r->stream));
        NCCL(ncclGroupStart());
        for (int p = 0; p < r->nranks; p++) {
            size_t sends = hot(r, r->rank, p), receives = hot(r, p, r->rank);

            if (p == r->rank)
                continue;
            NCCL(ncclSend(in + from, sends, ncclInt8, p, r->comm, r->stream));
            NCCL(ncclRecv(out + to, receives, ncclInt8, p, r->comm, r->stream));
            from += sends;
            to += receives;
        }
        NCCL(ncclGroupEnd());
        CUDA(EventRecord(end, r->stream));
    }
    stream_wait(r->stream);
    CUDA(EventElapsedTime(&ms, begin, end));
    double seconds = largest(r, (double)ms / 1e3);
    if (r->rank == 0)
        printf("{\"collective\": \"alltoallv\", \"bytes\": %zu, \"seconds\": %.6g}\n",
               r->count * sizeof(float), seconds);
    check(r, seconds > 0, "an exchange takes no time");
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    device_free(in);
    device_free(out);
}

/* The communicators of two levels: a rank's host, and the ranks of its place in each host. */
struct levels {
    ncclComm_t host, place;
    int hosts, ranks; /* of a host */
};

static struct levels levels_new(struct rank *r)
{
    struct levels l;
    char mine[32], first[32];

    l.ranks = 0;
    for (int i = 0; i < r->nranks; i++) {
        snprintf(mine, sizeof mine, "%s", getenv("NCCL_HOSTID") ? getenv("NCCL_HOSTID") : "");
        memcpy(first, mine, sizeof first);
        ranks_tell_from(r, i, first, sizeof first);
        l.ranks += !strcmp(first, mine);
    }
    l.hosts = r->nranks / l.ranks;
    NCCL(ncclCommSplit(r->comm, r->rank / l.ranks, r->rank, &l.host, NULL));
    NCCL(ncclCommSplit(r->comm, r->rank % l.ranks, r->rank, &l.place, NULL));
    return l;
}

/*
 * `count` elements of each rank. Between hosts a rank has its own link, and inside one the
 * library's own collectives have all that a rank has. Blocks come from a host in another order than
 * they are wanted in: the copy stands for a kernel that puts them right.
 */
static void two_levels(const struct rank *r, const struct levels *l, int kind, char *in, char *out)
{
    size_t part = r->count / (size_t)l->ranks, of_hosts = r->count * (size_t)l->hosts;
    size_t all = r->count * (size_t)r->nranks * sizeof(float);

    if (kind == ALLREDUCE) {
        NCCL(ncclReduceScatter(in, out, part, ncclFloat, ncclSum, l->host, r->stream));
        NCCL(ncclAllReduce(out, out, part, ncclFloat, ncclSum, l->place, r->stream));
        NCCL(ncclAllGather(out, in, part, ncclFloat, l->host, r->stream));
    } else if (kind == ALLGATHER) {
        NCCL(ncclAllGather(in, out, r->count, ncclFloat, l->place, r->stream));
        NCCL(ncclAllGather(out, in, of_hosts, ncclFloat, l->host, r->stream));
        CUDA(MemcpyDtoDAsync((CUdeviceptr)out, (CUdeviceptr)in, all, r->stream));
    } else {
        CUDA(MemcpyDtoDAsync((CUdeviceptr)out, (CUdeviceptr)in, all, r->stream));
        NCCL(ncclReduceScatter(out, in, of_hosts, ncclFloat, ncclSum, l->host, r->stream));
        NCCL(ncclReduceScatter(in, out, r->count, ncclFloat, ncclSum, l->place, r->stream));
    }
}

/* The time of schedules whose data inside a host goes over a communicator of the host: without
   overlap of the two levels. */
static void test_two_level_rates(struct rank *r)
{
    char *in = device_new(room(r)), *out = device_new(room(r));
    struct levels l = levels_new(r);
    CUevent begin, end;
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int k = 0; k < KINDS; k++) {
        if (!is_timed(k))
            continue;
        for (int warm = 0; warm < 2; warm++) {
            stream_wait(r->stream);
            ranks_meet(r);
            CUDA(EventRecord(begin, r->stream));
            two_levels(r, &l, k, in, out);
            CUDA(EventRecord(end, r->stream));
        }
        stream_wait(r->stream);
        CUDA(EventElapsedTime(&ms, begin, end));
        double seconds = largest(r, (double)ms / 1e3);
        if (r->rank == 0)
            printf("{\"two levels\": \"%s\", \"bytes\": %zu, \"seconds\": %.6g}\n", names[k],
                   r->count * sizeof(float), seconds);
        check(r, seconds > 0, "%s of two levels takes no time", names[k]);
    }
    NCCL(ncclCommDestroy(l.host));
    NCCL(ncclCommDestroy(l.place));
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    device_free(in);
    device_free(out);
}

/* A group of one message each way with the neighbours, many times. */
static double message_seconds(struct rank *r, size_t bytes, int times, int to, int from)
{
    char *in = device_new(bytes), *out = device_new(bytes);
    CUevent begin, end;
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int i = -1; i < times; i++) { /* the first one connects */
        if (!i) {
            stream_wait(r->stream);
            ranks_meet(r);
            CUDA(EventRecord(begin, r->stream));
        }
        NCCL(ncclGroupStart());
        NCCL(ncclSend(in, bytes, ncclInt8, to, r->comm, r->stream));
        NCCL(ncclRecv(out, bytes, ncclInt8, from, r->comm, r->stream));
        NCCL(ncclGroupEnd());
    }
    CUDA(EventRecord(end, r->stream));
    stream_wait(r->stream);
    CUDA(EventElapsedTime(&ms, begin, end));
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    device_free(in);
    device_free(out);
    return largest(r, (double)ms / 1e3) / times;
}

static void tell_messages(struct rank *r, size_t bytes, double seconds)
{
    if (r->rank == 0)
        printf("{\"messages\": 1, \"bytes\": %zu, \"seconds\": %.6g}\n", bytes, seconds);
    check(r, seconds > 0, "a group of %zu bytes takes no time", bytes);
}

/* The time of a group that carries almost nothing. */
static void test_group_rates(struct rank *r)
{
    enum { BYTES = 256, TIMES = 100 };

    tell_messages(r, BYTES,
                  message_seconds(r, BYTES, TIMES, (r->rank + 1) % r->nranks,
                                  (r->rank + r->nranks - 1) % r->nranks));
}

/* How fast a message is between two ranks side by side, of one host if there are two on each. */
static void test_message_rates(struct rank *r)
{
    enum { TIMES = 4 };
    int peer = r->rank ^ 1;
    size_t bytes = r->count * sizeof(float);

    tell_messages(r, bytes,
                  message_seconds(r, bytes, TIMES, peer < r->nranks ? peer : r->rank,
                                  peer < r->nranks ? peer : r->rank));
}

const struct test_case cases_rates[] = {{"rates", test_rates},
                                        {"settled_rates", test_settled_rates},
                                        {"set_rates", test_set_rates},
                                        {"two_level_rates", test_two_level_rates},
                                        {"group_rates", test_group_rates},
                                        {"message_rates", test_message_rates},
                                        {NULL, NULL}};
