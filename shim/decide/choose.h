/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By what a call that passed the gate may be rerouted: what COLLSHIM_ALGORITHM names, else the row
 * of the tuning profile, else what the model thinks of (planners/choose.h); and whether the guard
 * is to measure them. Pure functions of the settings and of the request, so all ranks choose alike.
 */
#ifndef COLLSHIM_SHIM_DECIDE_CHOOSE_H
#define COLLSHIM_SHIM_DECIDE_CHOOSE_H

#include "planners/choose.h"
#include "shim/decide/reasons.h"
#include "shim/decide/settings.h"

/* Is measuring wanted, and not overruled by a wish for one algorithm? */
int choose_is_guarded(enum plan_collective c);

/* The row of the profile for a request of so many bytes, unless COLLSHIM_ALGORITHM overrules it; or
   NULL. Its algorithm may be NULL: native. */
const struct tuning_row *choose_row(const struct plan_request *q, uint64_t total);

/* Fill in what COLLSHIM_ALGORITHM names, or the row (may be NULL). Returns 0 if nobody names
   anything. chunk_bytes: 0 if COLLSHIM_CHUNK_BYTES or nobody says it; ppg: q's, or the row's. */
int choose_named(const struct plan_request *q, const struct tuning_row *row,
                 struct plan_candidate *named);

/* Why the model knows of nothing for the request. */
enum reason choose_why_nothing(const struct plan_request *q);

/* What COLLSHIM_MODE does with a call that is rerouted. turn: counts such calls, for mode ab. */
enum choose_way { CHOOSE_REROUTED, CHOOSE_NATIVE, CHOOSE_BOTH };
enum choose_way choose_way(unsigned *turn);

#endif
