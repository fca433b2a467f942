/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of the rig's links and processors, measured as the engine uses them. */
#include "bench/collaborative/rig.h"

#define FREE_OF_CHARGE 1e13

typedef void start_piece(struct rig *g, size_t at, size_t bytes, CUstream stream);

/* Seconds of a job that is done as the engine has it done: in chunks, each with an event behind it.
   The best of a few times. */
static double seconds_of(struct rig *g, size_t bytes, size_t chunk, start_piece *start)
{
    struct rig_rank *r = &g->rank[0];
    CUevent from, to, each;
    float ms, best = 1e30f;

    rig_enter(r);
    MUST(EventCreate(&from, CU_EVENT_DEFAULT));
    MUST(EventCreate(&to, CU_EVENT_DEFAULT));
    MUST(EventCreate(&each, CU_EVENT_DEFAULT));
    for (int i = 0; i < 5; i++) {
        MUST(EventRecord(from, r->stream[RIG_INSIDE]));
        for (size_t at = 0, n; at < bytes; at += n) {
            n = bytes - at < chunk ? bytes - at : chunk;
            start(g, at, n, r->stream[RIG_INSIDE]);
            MUST(EventRecord(each, r->stream[RIG_INSIDE]));
        }
        MUST(EventRecord(to, r->stream[RIG_INSIDE]));
        MUST(EventSynchronize(to));
        MUST(EventElapsedTime(&ms, from, to));
        best = ms < best ? ms : best;
    }
    MUST(EventDestroy(from));
    MUST(EventDestroy(to));
    MUST(EventDestroy(each));
    return (double)best / 1e3;
}

static double rate_of(struct rig *g, size_t chunk, start_piece *start)
{
    return (double)g->bytes / seconds_of(g, g->bytes, chunk, start);
}

static void copy_between(struct rig *g, size_t at, size_t bytes, CUstream stream)
{
    struct rig_rank *a = &g->rank[0], *b = &g->rank[1];

    MUST(MemcpyPeerAsync(a->input + at, a->context, b->input + at, b->context, bytes, stream));
}

static void copy_down(struct rig *g, size_t at, size_t bytes, CUstream stream)
{
    struct rig_rank *r = &g->rank[0];

    MUST(MemcpyAsync((CUdeviceptr)(r->host + at), r->input + at, bytes, stream));
}

static void combine_inside(struct rig *g, size_t at, size_t bytes, CUstream stream)
{
    struct rig_rank *r = &g->rank[0];
    void *dst = (void *)(r->output + at), *src = (void *)(r->input + at); /* NOLINT: the device's */
    struct cuda_reduce_args args = {
        .dst = dst, .src = {dst, src}, .count = bytes / 4, .sources = 2};

    if (cuda_reduce(r->reducer, REDUCE_OP_sum, REDUCE_TYPE_u32, &args, stream))
        rig_must(CUDA_ERROR_NOT_SUPPORTED, "cuda_reduce");
}

double rig_rate_between(struct rig *g, size_t chunk)
{
    return rate_of(g, chunk, copy_between);
}

double rig_rate_down(struct rig *g, size_t chunk)
{
    return rate_of(g, chunk, copy_down);
}

double rig_latency_down(struct rig *g)
{
    enum { PIECES = 16 };

    return seconds_of(g, PIECES * sizeof(uint32_t), sizeof(uint32_t), copy_down) / PIECES;
}

double rig_rate_combining(struct rig *g, size_t chunk)
{
    return rate_of(g, chunk, combine_inside);
}

double rig_rate_processor(struct rig *g)
{
    double best = 1e30;

    if (g->simulated)
        return FREE_OF_CHARGE;
    for (int i = 0; i < 3; i++) {
        double start = rig_clock_s();

        rig_sum_on_host(NULL, g->rank[0].host, g->rank[1].host, g->rank[0].host, g->bytes);
        double took = rig_clock_s() - start;
        best = took < best ? took : best;
    }
    return (double)g->bytes / best / g->n;
}
