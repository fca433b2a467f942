/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exact answer: the least congestion of a demand, as a linear program over the same paths that
 * balancing uses. GLPK solves it, if the build found it. For tests and for people, never in a run:
 * it takes seconds.
 */
#ifndef COLLSHIM_SHIM_CLI_LP_H
#define COLLSHIM_SHIM_CLI_LP_H

#include "planners/algorithms/nimble/balance.h"

/* Messages of split_bytes and less go direct. Returns 0 and *congestion; -ENOSYS if
 * built without GLPK, -E2BIG if it would take too long, or another negative errno code. */
int lp_congestion(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                  double *congestion);

#endif
