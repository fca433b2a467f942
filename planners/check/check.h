/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker: proves, without moving a byte, that the plans of all ranks of one
 * collective are right together. It shows that
 *   - every send meets a receive of the same length, and none is left over;
 *   - the collective ends although every transport buffers nothing and holds one
 *     chunk per queue (more buffering can only let more happen);
 *   - every output byte holds exactly the contributions it must, each once, and in an Allreduce
 *     all ranks' have been combined in the same order;
 *   - nothing is read before it is written, and any two operations of a rank
 *     that touch the same bytes, one of them writing, are ordered by dependencies.
 * The last point makes the result independent of timing, so one run proves all.
 */
#ifndef COLLSHIM_PLANNERS_CHECK_H
#define COLLSHIM_PLANNERS_CHECK_H

#include "planners/plan/algorithm.h"

/*
 * q: the request (its rank is ignored). plan: [nranks], rank r's at index r.
 * Returns 0, or -EINVAL with one line in why (rank, operation, bytes), or -ENOMEM.
 */
int plan_check(const struct plan_request *q, const struct plan *const *plan, char *why,
               size_t why_size);

/* Build the plans of all ranks with one algorithm and check them. Same returns; -ENOTSUP and
   other codes of build are passed on with a line in why. */
int plan_check_algorithm(const struct plan_request *q, const struct plan_algorithm *a, char *why,
                         size_t why_size);

#endif
