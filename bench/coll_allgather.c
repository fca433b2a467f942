/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and Allgatherv: a block from every rank to every rank. They share all but the layout
 * and the call.
 */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

static int lay_out(struct bench_problem *p, int equal)
{
    int rc = bench_problem_place_blocks(p, equal, &p->recv_bytes);

    p->send_bytes = (size_t)p->counts[p->shape->rank];
    p->total_bytes = p->recv_bytes;
    return rc;
}

static int lay_out_equal(struct bench_problem *p)
{
    return lay_out(p, 1);
}

static int lay_out_unequal(struct bench_problem *p)
{
    int rc = lay_out(p, 0);

    for (int r = 0; r < p->shape->ranks && !rc; r++) {
        if (p->offsets[r] > INT_MAX)
            rc = -EOVERFLOW;
        p->displs[r] = (int)p->offsets[r];
    }
    return rc;
}

static void fill(const struct bench_problem *p, uint64_t generation)
{
    bench_pattern_fill(p->send, p->send_bytes, bench_pattern_stream(p->shape->rank, generation));
}

static int call_allgather(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Allgather(p->send, (int)p->send_bytes, MPI_BYTE, p->recv, (int)p->send_bytes,
                          MPI_BYTE, comm);
}

static int call_allgatherv(const struct bench_problem *p, const struct bench_mpi *mpi,
                           MPI_Comm comm)
{
    return mpi->Allgatherv(p->send, (int)p->send_bytes, MPI_BYTE, p->recv, p->counts, p->displs,
                           MPI_BYTE, comm);
}

static size_t check(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; r < p->shape->ranks; r++) {
        size_t at = p->offsets[r];
        size_t wrong = bench_pattern_check(p->recv + at, (size_t)p->counts[r],
                                           bench_pattern_stream(r, generation));

        if (wrong != BENCH_PATTERN_RIGHT)
            return at + wrong;
    }
    return BENCH_PATTERN_RIGHT;
}

static void traffic(const struct bench_problem *p, int node, double *in, double *out)
{
    double own = 0;

    for (int r = 0; r < p->shape->ranks; r++) {
        if (p->shape->node_of[r] == node)
            own += p->counts[r];
    }
    *in = (double)p->total_bytes - own;
    *out = own;
}

#define FORMULA "max over nodes of (bytes of all other nodes' blocks / measured rate into the node)"

static const struct bench_knob allgather_knobs[] = {
    {"coll_tuned_allgather_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob allgatherv_knobs[] = BENCH_KNOBS("allgatherv", "ALLGATHERV");

const struct bench_collective bench_allgather = {
    .name = "allgather",
    .summary = "a block of this size from every rank",
    .formula = FORMULA,
    .knobs = allgather_knobs,
    .lay_out = lay_out_equal,
    .fill = fill,
    .call = call_allgather,
    .check = check,
    .traffic = traffic,
};

const struct bench_collective bench_allgatherv = {
    .name = "allgatherv",
    .summary = "blocks of 0.5, 1.5, 1, 0 and 2 times this size, in turn over the ranks",
    .formula = FORMULA,
    .knobs = allgatherv_knobs,
    .lay_out = lay_out_unequal,
    .fill = fill,
    .call = call_allgatherv,
    .check = check,
    .traffic = traffic,
};
