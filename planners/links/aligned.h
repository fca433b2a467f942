/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology as rings and lanes use it, where nodes have unequal rails. Data that passes from node
 * to node flows better if all nodes cut it alike. If a rank cuts elsewhere than the one before it,
 * the bytes for its fast and its slow successors come in turn, and each successor waits for the
 * other's. So the k-th fastest ranks of all nodes form a lane, as fast as the slowest of them. The
 * slowest node decides how long a ring takes, and there this usually costs nothing.
 */
#ifndef COLLSHIM_PLANNERS_ALIGNED_H
#define COLLSHIM_PLANNERS_ALIGNED_H

#include "config/topo/topo.h"

/*
 * A copy of t in which local index k of each node is of lane k, on rail k, with the lane's rate;
 * NULL if t is better used as it is. That is so if nodes are alike, or hold different numbers of
 * ranks, or lanes would be far slower than the slowest node. 0 and *aligned_p (topo_free), or
 * -ENOMEM.
 */
int aligned_open(const struct topo *t, struct topo **aligned_p);

/*
 * For a schedule in which each node cuts by its own rails: a copy of t in which rails that are far
 * slower than the fastest one carry nothing; NULL where rates are alike or not known. 0 and *used_p
 * (topo_free), or -ENOMEM.
 */
int aligned_by_node(const struct topo *t, struct topo **used_p);

#endif
