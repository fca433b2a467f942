/* SPDX-License-Identifier: BSD-3-Clause */
/* The row; prefix_chain.c says how it works. */
#ifndef COLLSHIM_PLANNERS_PREFIX_CHAIN_H
#define COLLSHIM_PLANNERS_PREFIX_CHAIN_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_prefix_chain;

#endif
