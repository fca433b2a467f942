/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: a vector is cut on each node into one slice per local rank, as the rails allow; a lane is
 * a run of bytes that no node cuts. So on each node one rank handles the whole of a lane, and what
 * these ranks do with it is a collective of one rank per node, however uneven the nodes are. With
 * equal nodes the lanes are the slices.
 */
#ifndef COLLSHIM_PLANNERS_LANES_CUT_H
#define COLLSHIM_PLANNERS_LANES_CUT_H

#include "planners/links/shares.h"

struct lanes {
    const struct topo *t; /* borrowed */
    int node, local;
    uint64_t total;
    size_t grain;
    struct cutter here; /* owned: local rank l's slice is share_of(&here, l) */
    struct share mine;  /* this rank's slice */
    int nlanes;
    struct share *lane; /* [nlanes] owned: the slice's lanes in order, none of them empty */
};

/* `total` bytes, a multiple of the grain. 0 or -ENOMEM; close in either case. */
int lanes_open(struct lanes *l, const struct topo *t, int rank, uint64_t total, size_t grain);
void lanes_close(struct lanes *l);

/* The rank of that node which handles the lane, or -ENOMEM. */
int lanes_rank(const struct lanes *l, struct share lane, int node);

#endif
