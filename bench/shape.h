/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The placement of ranks. A node is a set of ranks that share memory, by
 * MPI_Comm_split_type(SHARED). Rejected: hostnames, because two namespaces of one machine may carry
 * the same one. Nodes are numbered by their lowest rank, ranks inside a node by their rank.
 */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include "mpi_table.h"

#include <stdio.h>

struct bench_shape {
    int ranks, rank; /* of the communicator the shape was made from, and this process in it */
    int nodes;
    int *node_of;                          /* [ranks]; owned */
    int *local_of;                         /* [ranks], index inside the node; owned */
    int *on_node;                          /* [nodes], ranks there; owned */
    char (*names)[MPI_MAX_PROCESSOR_NAME]; /* [nodes], on rank 0 and elsewhere alike; owned */
};

/* Collective over comm. Returns 0 or -ENOMEM; the caller frees with bench_shape_free(). */
int bench_shape_make(const struct bench_mpi *mpi, MPI_Comm comm, struct bench_shape *shape);
void bench_shape_free(struct bench_shape *shape);

/* The rank with this local index on this node. */
int bench_shape_rank(const struct bench_shape *shape, int node, int local);

/* One line per node: its name and its ranks. */
void bench_shape_print(const struct bench_shape *shape, FILE *out);

#endif
