/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The candidates for a call that passed the gate, and whether the guard measures them.
 * COLLSHIM_ALGORITHM comes first, then the row of the tuning profile, then the model's choice
 * (planners/choose/choose.h). Pure functions of the settings and of the request, so all ranks
 * choose alike.
 */
#ifndef COLLSHIM_SHIM_DECIDE_CHOOSE_H
#define COLLSHIM_SHIM_DECIDE_CHOOSE_H

#include "planners/choose/choose.h"
#include "shim/decide/base/reasons.h"
#include "shim/decide/base/settings.h"

/* Is measuring wanted, and not overruled by a wish for one algorithm? */
int choose_is_guarded(enum plan_collective c);

/* The row of the profile for a request of so many bytes, unless COLLSHIM_ALGORITHM overrules it; or
   NULL. Its algorithm may be NULL: native. */
const struct tuning_row *choose_row(const struct plan_request *q, uint64_t total);

/* Fill in the algorithm of COLLSHIM_ALGORITHM, or the row (may be NULL). Returns 0 if neither names
   one. chunk_bytes: COLLSHIM_CHUNK_BYTES or the row's, otherwise 0; ppg: q's, or the row's. */
int choose_named(const struct plan_request *q, const struct tuning_row *row,
                 struct plan_candidate *named);

/* The model's reason for having no candidate for the request. */
enum reason choose_why_nothing(const struct plan_request *q);

/* COLLSHIM_MODE's action for a rerouted call. ab_count: counts such calls, for mode ab. */
enum choose_way { CHOOSE_REROUTED, CHOOSE_NATIVE, CHOOSE_BOTH };
enum choose_way choose_way(unsigned *ab_count);

#endif
