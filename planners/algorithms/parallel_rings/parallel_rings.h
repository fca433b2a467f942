/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel Rings: the registry rows. They serve every shape, in place or not, and differ in the
 * exchange inside a node. Source: Algorithms 1 and 2 of Parallel Rings.
 */
#ifndef COLLSHIM_PLANNERS_PARALLEL_RINGS_H
#define COLLSHIM_PLANNERS_PARALLEL_RINGS_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_parallel_rings; /* (intra=..., k=...) */
extern const struct plan_algorithm plan_binomial_doubling, plan_binomial_halving,
    plan_knomial /* (k=4) */, plan_recursive_doubling;

#endif
