/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology as rings and lanes use it, where nodes have unequal rails. What passes on from node to
 * node pairs off better if all nodes cut it alike: a rank that cuts elsewhere than the one before
 * it gets the bytes for its fast and its slow successors in turn, and each waits for the other's.
 * So the k-th fastest ranks of all nodes form a lane, as fast as the slowest of them. On the
 * slowest node, which decides how long a ring takes, that mostly gives nothing away.
 */
#ifndef COLLSHIM_PLANNERS_ALIGNED_H
#define COLLSHIM_PLANNERS_ALIGNED_H

#include "config/topo.h"

/*
 * direct: for an allreduce in which each node combines a part of each lane, as its rail allows; a
 * lane then gets by with less of a slow rail than a ring does.
 *
 * A copy of t in which local index k of each node is of lane k, on rail k, with the lane's rate;
 * NULL where t is better used as it is: nodes are alike, or hold different numbers of ranks, or
 * lanes would be far slower than the slowest node. 0 and *aligned_p (topo_free), or -ENOMEM.
 */
int aligned_open(const struct topo *t, int direct, struct topo **aligned_p);

#endif
