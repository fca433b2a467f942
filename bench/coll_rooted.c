/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, Gatherv, Scatter and Scatterv: a block from every rank to rank 0, or back. They share the
 * blocks and the traffic; the root's own block is sent and received like the others.
 */
#include "collective.h"
#include "pattern.h"

#include <errno.h>
#include <limits.h>

enum { ROOT = 0 };

static int at_root(const struct bench_problem *p)
{
    return p->shape->rank == ROOT;
}

static size_t own_bytes(const struct bench_problem *p)
{
    return (size_t)p->counts[p->shape->rank];
}

static int lay_out(struct bench_problem *p, int equal, int gathers)
{
    size_t all;
    int rc = bench_problem_place_blocks(p, equal, &all);

    for (int r = 0; r < p->shape->ranks && !rc; r++) {
        if (!equal && p->offsets[r] > INT_MAX)
            rc = -EOVERFLOW;
        p->displs[r] = (int)p->offsets[r];
    }
    p->total_bytes = all;
    p->send_bytes = gathers ? own_bytes(p) : at_root(p) ? all : 0;
    p->recv_bytes = !gathers ? own_bytes(p) : at_root(p) ? all : 0;
    return rc;
}

static int lay_out_gather(struct bench_problem *p)
{
    return lay_out(p, 1, 1);
}

static int lay_out_gatherv(struct bench_problem *p)
{
    return lay_out(p, 0, 1);
}

static int lay_out_scatter(struct bench_problem *p)
{
    return lay_out(p, 1, 0);
}

static int lay_out_scatterv(struct bench_problem *p)
{
    return lay_out(p, 0, 0);
}

/* Both ways, a rank sends or gets the stream of its number. */
static void fill_own(const struct bench_problem *p, uint64_t generation)
{
    bench_pattern_fill(p->send, p->send_bytes, bench_pattern_stream(p->shape->rank, generation));
}

static void fill_all(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; at_root(p) && r < p->shape->ranks; r++)
        bench_pattern_fill(p->send + p->offsets[r], (size_t)p->counts[r],
                           bench_pattern_stream(r, generation));
}

static size_t check_own(const struct bench_problem *p, uint64_t generation)
{
    return bench_pattern_check(p->recv, p->recv_bytes,
                               bench_pattern_stream(p->shape->rank, generation));
}

static size_t check_all(const struct bench_problem *p, uint64_t generation)
{
    for (int r = 0; at_root(p) && r < p->shape->ranks; r++) {
        size_t wrong = bench_pattern_check(p->recv + p->offsets[r], (size_t)p->counts[r],
                                           bench_pattern_stream(r, generation));

        if (wrong != BENCH_PATTERN_RIGHT)
            return p->offsets[r] + wrong;
    }
    return BENCH_PATTERN_RIGHT;
}

static int call_gather(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Gather(p->send, p->counts[0], MPI_BYTE, p->recv, p->counts[0], MPI_BYTE, ROOT,
                       comm);
}

static int call_gatherv(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Gatherv(p->send, (int)p->send_bytes, MPI_BYTE, p->recv, p->counts, p->displs,
                        MPI_BYTE, ROOT, comm);
}

static int call_scatter(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Scatter(p->send, p->counts[0], MPI_BYTE, p->recv, p->counts[0], MPI_BYTE, ROOT,
                        comm);
}

static int call_scatterv(const struct bench_problem *p, const struct bench_mpi *mpi, MPI_Comm comm)
{
    return mpi->Scatterv(p->send, p->counts, p->displs, MPI_BYTE, p->recv, (int)p->recv_bytes,
                         MPI_BYTE, ROOT, comm);
}

/* Bytes that cross the border of a node, either way. */
static double crosses(const struct bench_problem *p, int node)
{
    double own = 0;

    for (int r = 0; r < p->shape->ranks; r++) {
        if (p->shape->node_of[r] == node)
            own += p->counts[r];
    }
    return node == p->shape->node_of[ROOT] ? (double)p->total_bytes - own : own;
}

static void traffic_to_root(const struct bench_problem *p, int node, double *in, double *out)
{
    int here = node == p->shape->node_of[ROOT];

    *in = here ? crosses(p, node) : 0;
    *out = here ? 0 : crosses(p, node);
}

static void traffic_from_root(const struct bench_problem *p, int node, double *in, double *out)
{
    traffic_to_root(p, node, out, in);
}

#define FORMULA_TO                                                                                 \
    "max of (bytes of all other nodes' blocks / measured rate into the root's node), "             \
    "(bytes of a node's blocks / rate out of it)"
#define FORMULA_FROM                                                                               \
    "max of (bytes of all other nodes' blocks / measured rate out of the root's node), "           \
    "(bytes of a node's blocks / rate into it)"

static const struct bench_knob gather_knobs[] = {
    {"coll_tuned_gather_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"MPIR_CVAR_GATHER_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob gatherv_knobs[] = {
    {"MPIR_CVAR_GATHERV_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob scatter_knobs[] = {
    {"coll_tuned_scatter_algorithm", NULL, 0, 0, NULL, 0},
    {"coll_han_priority", "han", 90, 2, NULL, 0},
    {"MPIR_CVAR_SCATTER_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

static const struct bench_knob scatterv_knobs[] = {
    {"MPIR_CVAR_SCATTERV_INTRA_ALGORITHM", NULL, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, NULL, 0},
};

const struct bench_collective bench_gather = {
    .name = "gather",
    .summary = "a block of this size from every rank to rank 0",
    .formula = FORMULA_TO,
    .knobs = gather_knobs,
    .lay_out = lay_out_gather,
    .fill = fill_own,
    .call = call_gather,
    .check = check_all,
    .traffic = traffic_to_root,
};

const struct bench_collective bench_gatherv = {
    .name = "gatherv",
    .summary = "to rank 0, blocks of 0.5, 1.5, 1, 0 and 2 times this size, in turn over the ranks",
    .formula = FORMULA_TO,
    .knobs = gatherv_knobs,
    .lay_out = lay_out_gatherv,
    .fill = fill_own,
    .call = call_gatherv,
    .check = check_all,
    .traffic = traffic_to_root,
};

const struct bench_collective bench_scatter = {
    .name = "scatter",
    .summary = "a block of this size from rank 0 to every rank",
    .formula = FORMULA_FROM,
    .knobs = scatter_knobs,
    .lay_out = lay_out_scatter,
    .fill = fill_all,
    .call = call_scatter,
    .check = check_own,
    .traffic = traffic_from_root,
};

const struct bench_collective bench_scatterv = {
    .name = "scatterv",
    .summary =
        "from rank 0, blocks of 0.5, 1.5, 1, 0 and 2 times this size, in turn over the ranks",
    .formula = FORMULA_FROM,
    .knobs = scatterv_knobs,
    .lay_out = lay_out_scatterv,
    .fill = fill_all,
    .call = call_scatterv,
    .check = check_own,
    .traffic = traffic_from_root,
};
