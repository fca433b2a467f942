/* SPDX-License-Identifier: BSD-3-Clause */
/* The row; staggered_pairwise.c says how it works. */
#ifndef COLLSHIM_PLANNERS_STAGGERED_PAIRWISE_H
#define COLLSHIM_PLANNERS_STAGGERED_PAIRWISE_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_staggered_pairwise;

#endif
