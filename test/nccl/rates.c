/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a collective takes between two events, the slowest rank's; on the simulated driver that
 * is modelled time, and so the same on every machine. And how long its call takes, by the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "test/nccl/ranks.h"

enum { ALLGATHER, REDUCE_SCATTER, ALLREDUCE, KINDS };
enum { CALLS = 6 };

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

/* Of the stream, the last call's; of the host, the median of all but the first. */
static void test_rates(struct rank *r)
{
    static const char *const names[] = {"allgather", "reduce_scatter", "allreduce"};
    float *in = device_new(r->count * (size_t)r->nranks * sizeof *in);
    float *out = device_new(r->count * (size_t)r->nranks * sizeof *out);
    CUevent begin, end;
    double calls_us[CALLS];
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < CALLS; i++) {
            double began;

            stream_wait(r->stream);
            ranks_meet(r);
            CUDA(EventRecord(begin, r->stream));
            began = now_us();
            if (k == ALLGATHER)
                NCCL(ncclAllGather(in, out, r->count, ncclFloat, r->comm, r->stream));
            else if (k == REDUCE_SCATTER)
                NCCL(ncclReduceScatter(in, out, r->count, ncclFloat, ncclSum, r->comm, r->stream));
            else
                NCCL(ncclAllReduce(in, in, r->count, ncclFloat, ncclSum, r->comm, r->stream));
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

/* What rank `from` sends `to`: a share of 0.7 of all to rank 0, which has its own for rank 1. */
static size_t hot(const struct rank *r, int from, int to)
{
    size_t all = r->count * sizeof(float), rest = (all - all / 10 * 7) / (size_t)(r->nranks - 1);
    int favourite = from ? 0 : 1 % r->nranks;

    return to == from ? 0 : rest + (to == favourite ? all / 10 * 7 : 0);
}

/* Messages to everybody, most of them to one rank. */
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

const struct test_case cases_rates[] = {
    {"rates", test_rates}, {"set_rates", test_set_rates}, {NULL, NULL}};
