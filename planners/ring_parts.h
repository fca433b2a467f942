/* SPDX-License-Identifier: BSD-3-Clause */
/* How an allreduce along a ring of nodes divides the vector, where nodes are not equally fast. */
#ifndef COLLSHIM_PLANNERS_RING_PARTS_H
#define COLLSHIM_PLANNERS_RING_PARTS_H

#include "config/topo.h"

/*
 * Each node's part of the vector, all together 1: the ring's hops then end together, as far as
 * parts can bring that about. A node beside a slow hop has more, for its own unit crosses that hop
 * once, where others cross it twice. 0 and *part_p ([nnodes], the caller's to free), or -ENOMEM.
 * The same on all ranks: four operations of IEEE 754 alone.
 */
int ring_parts(const struct topo *t, double **part_p);

#endif
