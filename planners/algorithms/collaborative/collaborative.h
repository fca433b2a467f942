/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collaborative Allreduce on the GPUs of one node: the vector is divided between two paths that run
 * at the same time. The devices combine its first part over their own links. The rest goes through
 * host memory, where the processors combine it. So the idle PCIe and processors add their bandwidth
 * to NVLink's.
 *
 * Both paths are a reduce-scatter and an allgather, piece by piece: rank r combines slice r of each
 * part, in one order, and sends all ranks the result. So for a given division all ranks have the
 * same bits in every run.
 *
 * Source: Collaborative Allreduce. Beyond it: more than two GPUs, and a division that is computed
 * (split.h) and not set by hand.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_collaborative;

/* Bytes of the vector that go through the host, by the recipe or else the best. The recipe must be
   one that the row accepts. */
uint64_t collaborative_host_bytes(const struct plan_request *q);

/* The division in a recipe that names nothing else, of SPLIT_WHOLE (split.h); otherwise -1. */
int collaborative_share(const char *recipe);

#endif
