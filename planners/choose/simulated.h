/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice from the model itself: the plans of all ranks by each way, simulated. Costs and model
 * then agree by construction. It takes milliseconds, so one rank does it, once the calls of a class
 * have paid for it; the other ranks are told what it found. Where ranks are many, costs alone
 * choose.
 */
#ifndef COLLSHIM_PLANNERS_SIMULATED_H
#define COLLSHIM_PLANNERS_SIMULATED_H

#include "planners/choose/choose.h"

/*
 * Seconds of q by that row, with q's chunk and recipe: the model's, and what it leaves out, the
 * posting of messages. chunks and most_s as in model_run_within. Returns 0, -EINVAL or -ENOTSUP (it
 * cannot serve the shape), or as model_run_within.
 */
int simulated_seconds(const struct plan_request *q, const struct plan_algorithm *a, uint64_t chunks,
                      double most_s, double *seconds);

/* A simulation's result, as ranks tell it each other: the number of a way that beats the first
   candidate, or 0, and the part of that one's time which it takes. */
enum { SIMULATED_WAY, SIMULATED_PART, SIMULATED };

/* Is there anything to simulate for the n candidates? Not where ranks are too many, rates are
   unknown, or a recipe is set. Uniform. */
int simulated_is_worth_it(const struct plan_request *q, const struct plan_candidate *c, int n);

/* Seconds that simulated_find takes, about, with that first candidate. Uniform. */
double simulated_cost(const struct plan_request *q, const struct plan_candidate *first);

/* Look for a way that clearly beats c[0]. */
void simulated_find(const struct plan_request *q, const struct plan_candidate *c,
                    double found[SIMULATED]);

/* Put that way in front of the n candidates; the last one falls off where there are max. Returns
   how many there are then. */
int simulated_prefer(const double found[SIMULATED], struct plan_candidate *c, int n, int max);

/* All three, for a process that is alone. */
int simulated_candidates(const struct plan_request *q, struct plan_candidate *c, int max);

#endif
