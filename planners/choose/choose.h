/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules worth trying when the user forces none: rows of the registry, with a chunk each. Pure
 * functions of values that are the same on all ranks: collective, topology, sizes, root, grain,
 * memory, recipe, never rank and in_place. So all ranks choose alike without a message.
 */
#ifndef COLLSHIM_PLANNERS_CHOOSE_H
#define COLLSHIM_PLANNERS_CHOOSE_H

#include "planners/choose/registry.h"

enum { PLAN_ROWS = 3, PLAN_CANDIDATES = PLAN_ROWS + 1 };

/* A row predicted to take that many times as long as the best is not worth a trial. Predictions are
   good to about this factor. */
enum { PLAN_WORTH_TIMES = 2 };

struct plan_candidate {
    const struct plan_algorithm *algorithm;
    size_t chunk_bytes;
    const char *recipe; /* borrowed from the request; NULL: the row's own way */
    double seconds;     /* as the row predicts; infinite if it does not */
    int ppg;            /* processes per rank that carry a slice each; 1: it is not cut */
};

/*
 * The candidates for q, the best predicted first; returns how many, at most PLAN_CANDIDATES and
 * max. Up to PLAN_ROWS rows with their own recipes come first, then one that only a measurement can
 * judge. 0: no row may gain. Rows are left out if their pays() gives a reason, if they are
 * predicted far behind the best one (PLAN_WORTH_TIMES), or far behind any library. q->chunk_bytes
 * 0: chunks are chosen; otherwise all have that one. If q->ppg is more than 1, rows may come with
 * that many processes, or half as many.
 */
int plan_candidates(const struct plan_request *q, struct plan_candidate *c, int max);

/* The same, but every row that serves the collective counts, whether it pays or not. */
int plan_candidates_all(const struct plan_request *q, struct plan_candidate *c, int max);

/*
 * For a library that helpers can call as well, so that it may carry the slices itself: algorithm
 * NULL, ppg more than 1. Candidates are a row with all of q->ppg processes if that is predicted to
 * gain, the library's own with as many, and the row alone. The first of them comes again with half
 * as many processes. If q->ppg is less than 2, the row alone is the candidate. Returns how many.
 * must_pay 0: every row counts.
 */
int plan_candidates_with_library(const struct plan_request *q,
                                 struct plan_candidate c[PLAN_CANDIDATES], int must_pay);

/* Does the choice depend on whether the buffers of all ranks lie on devices? Then q->memory has to
   be known before the functions above are called. */
int plan_memory_matters(const struct plan_request *q);

/* NULL if some row may gain on this shape at any size; otherwise the reason. */
const char *plan_nothing_pays(const struct plan_request *q);

#endif
