/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collaborative Allreduce on the GPUs of one node: the vector is divided between two paths that run
 * side by side. Its first part is combined by the devices over their own links; the rest goes
 * through host memory, where the processors combine it. So PCIe and processors, idle otherwise, add
 * their bandwidth to NVLink's.
 *
 * Both paths are a reduce-scatter and an allgather, piece by piece: rank r combines slice r of each
 * part, in one order, and gives everybody the result. It is hence the same to the bit on all ranks
 * and in every run, for a given division.
 *
 * Source: Collaborative Allreduce. Beyond it: more than two GPUs, and a division that is computed
 * (split.h) and not set by hand.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_H

#include "planners/registry.h"

extern const struct plan_algorithm plan_collaborative;

/* What a recipe that is a division and nothing else says, of SPLIT_WHOLE (split.h); else -1. */
int collaborative_share(const char *recipe);

#endif
