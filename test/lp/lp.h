/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exact answer: the least congestion of a demand, as a linear program over the same paths that
 * balancing uses, solved by GLPK. For tests and for people, never in a run: it takes seconds.
 */
#ifndef COLLSHIM_TEST_LP_LP_H
#define COLLSHIM_TEST_LP_LP_H

#include "planners/balance.h"

/* Messages of split_bytes and less go direct. Returns 0 and *congestion, or a negative errno code.
 */
int lp_congestion(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                  double *congestion);

#endif
