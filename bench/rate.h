/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rails' real rate, measured in the same run as the collectives, and the bound that follows.
 * Rejected: the rated speed, because headers take 4 to 5 percent of it and a busy core more. A
 * fraction of a number out of reach says nothing.
 */
#ifndef BENCH_RATE_H
#define BENCH_RATE_H

#include "collective.h"

/* How ranks use their node's rails. */
enum bench_rails {
    BENCH_RAILS_AFFINE,  /* each rank is bound to one: a node's rate is the sum of its ranks' */
    BENCH_RAILS_STRIPED, /* each rank uses all: a node's rate is its bytes / its slowest flow */
};

struct bench_rates {
    int nodes;
    double *in, *out; /* [nodes] bytes per second into and out of each; owned */
    double flow_min, flow_median, flow_max; /* bytes per second of one rank-to-rank flow */
    size_t flow_bytes;                      /* length of one measured flow */
};

/*
 * Measure by a ring of all nodes at once, one direction at a time. Takes a few seconds.
 * Collective over comm. Returns 0, -ENOTSUP if there is one node only, or -ENOMEM, the same on
 * all ranks. The caller frees with bench_rates_free().
 */
int bench_rates_measure(const struct bench_mpi *mpi, MPI_Comm comm, const struct bench_shape *shape,
                        enum bench_rails rails, struct bench_rates *rates);
void bench_rates_free(struct bench_rates *rates);

/* Least time, in microseconds, in which the problem's unavoidable traffic passes the rails: each
   node's, and all nodes' together. */
double bench_rates_bound_us(const struct bench_rates *rates, const struct bench_collective *row,
                            const struct bench_problem *problem);

#endif
