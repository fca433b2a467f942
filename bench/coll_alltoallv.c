/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv with skew: a share `hot` of what each rank sends goes to rank 0, the rest to all alike,
 * each message by up to a fifth longer or shorter. The same numbers, from the same seed, as
 * `collshim plan alltoallv --demand skew:hot=HOT,bytes=SIZE,seed=1` shows; what a rank would send
 * to itself is left out there and here. Blocks lie in rank order.
 */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

enum { HOT_RANK = 0, SEED = 1 };

/* 0 .. 1 */
static double chance(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 40) / (double)(1 << 24);
}

static uint64_t first_state(void)
{
    return SEED * 0x9e3779b97f4a7c15ull + 1;
}

/* Bytes of the next message; pairs come in the order of their rows. */
static size_t next_message(const struct bench_problem *p, double hot, int from, int to,
                           uint64_t *state)
{
    double n = p->shape->ranks;
    double share = from == HOT_RANK ? 1 / n : to == HOT_RANK ? hot : (1 - hot) / n;

    return from == to ? 0 : (size_t)((double)p->bytes * (share * (0.8 + 0.4 * chance(state))));
}

/* From counts to displacements; returns the sum or SIZE_MAX. */
static size_t place(const int *counts, int *displs, int n)
{
    size_t at = 0;

    for (int r = 0; r < n; r++) {
        if (at > INT_MAX)
            return SIZE_MAX;
        displs[r] = (int)at;
        at += (size_t)counts[r];
    }
    return at;
}

static int lay_out(struct bench_problem *p, double hot)
{
    int n = p->shape->ranks, rank = p->shape->rank;
    uint64_t state = first_state();

    p->hot = hot;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            size_t bytes = next_message(p, hot, from, to, &state);

            if (bytes > INT_MAX)
                return -EOVERFLOW;
            if (from == rank)
                p->counts[to] = (int)bytes;
            if (to == rank)
                p->recv_counts[from] = (int)bytes;
            p->total_bytes += bytes;
        }
    p->send_bytes = place(p->counts, p->displs, n);
    p->recv_bytes = place(p->recv_counts, p->recv_displs, n);
    return p->send_bytes == SIZE_MAX || p->recv_bytes == SIZE_MAX ? -EOVERFLOW : 0;
}

static int lay_out_10(struct bench_problem *p)
{
    return lay_out(p, 0.1);
}

static int lay_out_40(struct bench_problem *p)
{
    return lay_out(p, 0.4);
}

static int lay_out_70(struct bench_problem *p)
{
    return lay_out(p, 0.7);
}

static int lay_out_90(struct bench_problem *p)
{
    return lay_out(p, 0.9);
}

static uint64_t stream(const struct bench_problem *p, int from, int to, uint64_t generation)
{
    return bench_pattern_stream(from * p->shape->ranks + to, generation);
}

static void fill(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; r < p->shape->ranks; r++)
        bench_pattern_fill(p->send + p->displs[r], (size_t)p->counts[r],
                           stream(p, p->shape->rank, r, generation));
}

static int call(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Alltoallv(p->send, p->counts, p->displs, MPI_BYTE, p->recv, p->recv_counts,
                          p->recv_displs, MPI_BYTE, comm);
}

static size_t check(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; r < p->shape->ranks; r++) {
        size_t at = (size_t)p->recv_displs[r];
        size_t wrong = bench_pattern_check(p->recv + at, (size_t)p->recv_counts[r],
                                           stream(p, r, p->shape->rank, generation));

        if (wrong != BENCH_PATTERN_RIGHT)
            return at + wrong;
    }
    return BENCH_PATTERN_RIGHT;
}

static void traffic(const struct bench_problem *p, int node, double *in, double *out)
{
    const int *node_of = p->shape->node_of;
    uint64_t state = first_state();

    *in = *out = 0;
    for (int from = 0; from < p->shape->ranks; from++)
        for (int to = 0; to < p->shape->ranks; to++) {
            double bytes = (double)next_message(p, p->hot, from, to, &state);

            if (node_of[from] == node_of[to])
                continue;
            *in += node_of[to] == node ? bytes : 0;
            *out += node_of[from] == node ? bytes : 0;
        }
}

/* Open MPI: 1 linear, 2 pairwise. */
static const struct bench_knob knobs[] = {
    {"coll_tuned_alltoallv_algorithm", NULL, 0, 0, NULL, 0},
    {"MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

#define ROW(suffix, hot_text, lay_out_function)                                                    \
    const struct bench_collective bench_alltoallv##suffix = {                                      \
        .name = "alltoallv" #suffix,                                                               \
        .summary = "from every rank, about this size in all, " hot_text " of it to rank 0",        \
        .formula = "max over nodes of (bytes to and from other nodes / measured rate of the "      \
                   "node, each way)",                                                              \
        .knobs = knobs,                                                                            \
        .lay_out = lay_out_function,                                                               \
        .fill = fill,                                                                              \
        .call = call,                                                                              \
        .check = check,                                                                            \
        .traffic = traffic,                                                                        \
    }

ROW(_hot10, "0.1", lay_out_10);
ROW(_hot40, "0.4", lay_out_40);
ROW(, "0.7", lay_out_70);
ROW(_hot90, "0.9", lay_out_90);
