/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast: one vector from rank 0 to every rank. The root has its vector in the send buffer and the
 * others theirs in the receive buffer, although MPI has one buffer only. So the received bytes are
 * poisoned and checked, and an overwritten root is found as well.
 */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

enum { ROOT = 0 };

static int lay_out(struct bench_problem *p)
{
    if (p->bytes > INT_MAX)
        return -EOVERFLOW;
    p->total_bytes = p->bytes;
    p->send_bytes = p->shape->rank == ROOT ? p->bytes : 0;
    p->recv_bytes = p->bytes - p->send_bytes;
    return 0;
}

static void fill(const struct bench_problem *p, uint64_t generation)
{
    bench_pattern_fill(p->send, p->send_bytes, bench_pattern_stream(ROOT, generation));
}

static unsigned char *buffer(const struct bench_problem *p)
{
    return p->shape->rank == ROOT ? p->send : p->recv;
}

static int call(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Bcast(buffer(p), (int)p->bytes, MPI_BYTE, ROOT, comm);
}

static size_t check(const struct bench_problem *p, uint64_t generation)
{
    return bench_pattern_check(buffer(p), p->bytes, bench_pattern_stream(ROOT, generation));
}

static void traffic(const struct bench_problem *p, int node, double *in, double *out)
{
    int from = p->shape->node_of[ROOT];

    *in = node == from ? 0 : (double)p->bytes;
    *out = node == from ? (double)p->bytes : 0;
}

static double together(const struct bench_problem *p)
{
    return (double)p->bytes * (p->shape->nodes - 1);
}

static const struct bench_knob knobs[] = {
    {"coll_tuned_bcast_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_tuned_bcast_algorithm", "pipeline_128K", 3, 0, "coll_tuned_bcast_algorithm_segmentsize",
     131072},
    {"coll_tuned_bcast_algorithm", "pipeline_512K", 3, 0, "coll_tuned_bcast_algorithm_segmentsize",
     524288},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"coll_adapt_priority", "adapt", 90, 0, NULL, 0},
    {"MPIR_CVAR_BCAST_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

const struct bench_collective bench_bcast = {
    .name = "bcast",
    .summary = "a vector of this size from rank 0",
    .formula = "max of (vector / measured rate out of the root's node), (vector / rate into the "
               "slowest other node), ((nodes - 1) * vector / sum of the nodes' rates)",
    .knobs = knobs,
    .lay_out = lay_out,
    .fill = fill,
    .call = call,
    .check = check,
    .traffic = traffic,
    .together = together,
};
