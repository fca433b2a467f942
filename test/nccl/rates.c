/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a collective takes between two events, the slowest rank's; on the simulated driver that
 * is modelled time, and so the same on every machine. And how long its call takes, by the clock. */
#include <stdio.h>
#include <time.h>

#include "test/nccl/ranks.h"

enum { ALLGATHER, REDUCE_SCATTER, ALLREDUCE, KINDS };

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

static void test_rates(struct rank *r)
{
    static const char *const names[] = {"allgather", "reduce_scatter", "allreduce"};
    float *in = device_new(r->count * (size_t)r->nranks * sizeof *in);
    float *out = device_new(r->count * (size_t)r->nranks * sizeof *out);
    CUevent begin, end;
    double call_us = 0;
    float ms = 0;

    CUDA(EventCreate(&begin, CU_EVENT_DEFAULT));
    CUDA(EventCreate(&end, CU_EVENT_DEFAULT));
    for (int k = 0; k < KINDS; k++) {
        for (int warm = 0; warm < 2; warm++) {
            stream_wait(r->stream);
            ranks_meet(r);
            CUDA(EventRecord(begin, r->stream));
            call_us = now_us();
            if (k == ALLGATHER)
                NCCL(ncclAllGather(in, out, r->count, ncclFloat, r->comm, r->stream));
            else if (k == REDUCE_SCATTER)
                NCCL(ncclReduceScatter(in, out, r->count, ncclFloat, ncclSum, r->comm, r->stream));
            else
                NCCL(ncclAllReduce(in, in, r->count, ncclFloat, ncclSum, r->comm, r->stream));
            call_us = now_us() - call_us;
            CUDA(EventRecord(end, r->stream));
        }
        stream_wait(r->stream);
        CUDA(EventElapsedTime(&ms, begin, end));
        double seconds = largest(r, (double)ms / 1e3);
        if (r->rank == 0)
            printf(
                "{\"collective\": \"%s\", \"bytes\": %zu, \"seconds\": %.6g, \"call_us\": %.1f}\n",
                names[k], r->count * sizeof *in, seconds, call_us);
        check(r, seconds > 0, "%s takes no time", names[k]);
    }
    CUDA(EventDestroy(begin));
    CUDA(EventDestroy(end));
    device_free(in);
    device_free(out);
}

const struct test_case cases_rates[] = {{"rates", test_rates}, {NULL, NULL}};
