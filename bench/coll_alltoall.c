/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall: a block from every rank to every rank, another one for each. */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

static size_t block(const struct bench_problem *p)
{
    return p->bytes / (size_t)p->shape->ranks;
}

static int lay_out(struct bench_problem *p)
{
    if (block(p) > INT_MAX)
        return -EOVERFLOW;
    p->send_bytes = p->recv_bytes = block(p) * (size_t)p->shape->ranks;
    p->total_bytes = p->send_bytes * (size_t)p->shape->ranks;
    return 0;
}

static uint64_t stream(const struct bench_problem *p, int from, int to, uint64_t generation)
{
    return bench_pattern_stream(from * p->shape->ranks + to, generation);
}

static void fill(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; r < p->shape->ranks; r++)
        bench_pattern_fill(p->send + (size_t)r * block(p), block(p),
                           stream(p, p->shape->rank, r, generation));
}

static int call(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Alltoall(p->send, (int)block(p), MPI_BYTE, p->recv, (int)block(p), MPI_BYTE, comm);
}

static size_t check(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; r < p->shape->ranks; r++) {
        size_t at = (size_t)r * block(p);
        size_t wrong =
            bench_pattern_check(p->recv + at, block(p), stream(p, r, p->shape->rank, generation));

        if (wrong != BENCH_PATTERN_RIGHT)
            return at + wrong;
    }
    return BENCH_PATTERN_RIGHT;
}

static void traffic(const struct bench_problem *p, int node, double *in, double *out)
{
    double own = 0;

    for (int r = 0; r < p->shape->ranks; r++)
        own += p->shape->node_of[r] == node;
    *in = *out = own * (p->shape->ranks - own) * (double)block(p);
}

static const struct bench_knob knobs[] = {
    {"coll_tuned_alltoall_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

const struct bench_collective bench_alltoall = {
    .name = "alltoall",
    .summary = "from every rank, this size in all, a rank's part to each",
    .formula = "max over nodes of (ranks of the node * ranks elsewhere * block / measured rate of "
               "the node, each way)",
    .knobs = knobs,
    .lay_out = lay_out,
    .fill = fill,
    .call = call,
    .check = check,
    .traffic = traffic,
};
