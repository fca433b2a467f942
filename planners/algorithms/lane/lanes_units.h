/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units around a node, and how the shares of them are traded between nodes: what allgather and
 * reduce-scatter by lanes have in common, for one is the other with all arrows turned round.
 *
 * Units are counted from the own node on: unit j is that of the j-th node behind it. Scratch begins
 * with the own shares of units 0, 1, 2 ...
 */
#ifndef COLLSHIM_PLANNERS_LANES_UNITS_H
#define COLLSHIM_PLANNERS_LANES_UNITS_H

#include "planners/algorithms/lane/lanes_stage.h"

struct lane_units {
    struct lane_work *w;
    struct shares s;
    uint64_t *own;  /* [nodes + 1] owned: where the own share of unit j begins in scratch */
    uint64_t *from; /* [nranks] owned: where blocks begin, if they are not equal */
    int nodes;
};

/* The units of w->q. 0 or -ENOMEM; close in either case. */
int lane_units_open(struct lane_units *u, struct lane_work *w);
void lane_units_close(struct lane_units *u);

/* The node of unit j. */
static inline int lane_unit(const struct lane_units *u, int j)
{
    return (u->s.node + j) % u->nodes;
}

/* A local rank's share of unit j. The second: bytes of its shares of units first .. nodes - 1. */
struct share lane_units_share(struct lane_units *u, int j, int local);
uint64_t lane_units_bytes(struct lane_units *u, int local, int first);

/* Send the own shares of units first .. first + count - 1 to a node, or receive them from it, on
   LANES_COMBINE to combine them with what is there. With a node that is cut alike this is one
   message. 0 or -ENOMEM. */
int lane_units_trade(struct lane_units *u, int node, enum lanes_tag tag, int sending, int first,
                     int count);

#endif
