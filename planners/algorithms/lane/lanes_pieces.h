/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks that combine the parts of a vector if nodes and rails are unequal. It is for an
 * allreduce in which each node combines a part of the vector and sends it to all others.
 *
 * Node i that combines a part u of the vector sends and receives 1 + (n - 2) u of it, so parts can
 * suit the nodes' rates. All rails are then busy for the time of the bound (load.h), unless a node
 * is too slow for that. Inside a node, local rank l has the l-th slice. The bytes of its slice that
 * a slow rail cannot carry go to ranks of the node with free rate. Its node combines none of that
 * slice, and more of others.
 *
 * A piece is a run of bytes that one rank has on each node. Most ranks have one piece, and pieces
 * of a slice are about as wide. Rejected: nodes that each cut the vector by their own rails. Pieces
 * are then of all widths, and share a rail badly: 0.84 of the bound instead of 0.92 (modelled, 4 x
 * 4, one rail at a quarter). Rejected: each node combines the same part of every piece, so that
 * slow rails send and receive alike. At 1 MiB that is 0.86 instead of 0.83 (modelled, the same
 * machine) and no difference emulated; at 16 MiB it is 0.90 instead of 0.92 with two slow rails.
 */
#ifndef COLLSHIM_PLANNERS_LANES_PIECES_H
#define COLLSHIM_PLANNERS_LANES_PIECES_H

#include "planners/links/shares.h"
#include "planners/plan/plan.h"

struct lane_piece {
    double from, to;    /* of 1 */
    const double *part; /* [nnodes + 1]: where each node's part of it begins, of 1 */
    int *local;         /* [nnodes]: the rank that has it on each node */
};

struct lane_pieces {
    const struct topo *t; /* borrowed */
    int n;
    struct lane_piece *piece; /* [n] owned, in order; all else is behind it */
    double *numbers;          /* owned */
    int *locals;              /* owned */
};

/* 0 or -ENOMEM; close in either case. */
int lane_pieces_open(struct lane_pieces *p, const struct topo *t);
void lane_pieces_close(struct lane_pieces *p);

/* Elements [from, to) of `elements` that are the part of a node, or all of a run of pieces. */
struct share lane_piece_part(const struct lane_pieces *p, int k, int node, uint64_t elements);
struct share lane_piece_run(const struct lane_pieces *p, int k, int end, uint64_t elements);

static inline int lane_piece_rank(const struct lane_pieces *p, int k, int node)
{
    return topo_node_rank(p->t, node, p->piece[k].local[node]);
}

#endif
