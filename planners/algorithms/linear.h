/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear: every rank exchanges with every other directly, one hop, no rank in between. This is the
 * schedule for the ranks of one node: any two of them have equal links, and a received byte costs
 * one copy from any sender. Serves every shape, in place or not. Source: the linear exchange of
 * Parallel Rings (intra-node), and the reduce-scatter and allgather composition of allreduce.
 */
#ifndef COLLSHIM_PLANNERS_LINEAR_H
#define COLLSHIM_PLANNERS_LINEAR_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_linear;

#endif
