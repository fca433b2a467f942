/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel Rings: the registry row. Serves every shape, in place or not.
 * Source: Algorithm 1 of papers/parallel-rings-allgather.txt.
 */
#ifndef COLLSHIM_PLANNERS_RINGS_H
#define COLLSHIM_PLANNERS_RINGS_H

#include "planners/registry.h"

extern const struct plan_algorithm plan_rings;

#endif
