/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv with the messages of demand.h, by default skewed: 0.7 of what each rank sends goes to
 * rank 0. Blocks lie in rank order.
 */
#include "collective.h"
#include "demand.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

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

static int lay_out(struct bench_problem *p)
{
    int n = p->shape->ranks, rank = p->shape->rank;

    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            size_t bytes = bench_demand_message(p->bytes, from, to);

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

    *in = *out = 0;
    for (int from = 0; from < p->shape->ranks; from++)
        for (int to = 0; to < p->shape->ranks; to++) {
            double bytes = (double)bench_demand_message(p->bytes, from, to);

            if (node_of[from] == node_of[to])
                continue;
            *in += node_of[to] == node ? bytes : 0;
            *out += node_of[from] == node ? bytes : 0;
        }
}

/* Open MPI: 1 linear, 2 pairwise. */
static const struct bench_knob knobs[] = BENCH_KNOBS("alltoallv", "ALLTOALLV");

const struct bench_collective bench_alltoallv = {
    .name = "alltoallv",
    .summary = "from every rank, this size in all on average; to whom: see --demand",
    .formula = "max over nodes of (bytes to and from other nodes / measured rate of the node, each "
               "way)",
    .knobs = knobs,
    .lay_out = lay_out,
    .fill = fill,
    .call = call,
    .check = check,
    .traffic = traffic,
};
