/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which schedules are worth trying when nobody forces one: rows of the registry, with a chunk each.
 *
 * Pure functions of values that are the same on all ranks: collective, topology, sizes, root,
 * grain, memory, recipe, never rank and in_place. So all ranks choose alike without a word to each
 * other.
 */
#ifndef COLLSHIM_PLANNERS_CHOOSE_H
#define COLLSHIM_PLANNERS_CHOOSE_H

#include "planners/registry.h"

enum { PLAN_ROWS = 3, PLAN_CANDIDATES = PLAN_ROWS + 1 };

struct plan_candidate {
    const struct plan_algorithm *algorithm;
    size_t chunk_bytes;
    const char *recipe; /* borrowed from the request; NULL: the row's own way */
    double seconds;     /* as the row predicts; infinite if it does not */
    int ppg;            /* processes per rank that carry a slice each; 1: it is not cut */
};

/*
 * The candidates for q, the best predicted first, at most PLAN_CANDIDATES and max of them; returns
 * how many. At most PLAN_ROWS rows with their own recipes; then one that only a measurement can
 * judge. 0: nothing is to be gained. Left out are rows whose pays() says why not, those
 * predicted far behind the best one, and those predicted far behind what any library needs.
 * q->chunk_bytes 0: chunks are chosen; else all have that one. Where q->ppg is more than 1, rows
 * may come with so many processes, or half as many.
 */
int plan_candidates(const struct plan_request *q, struct plan_candidate *c, int max);

/* The same, but every row that serves the collective counts, whether it pays or not. */
int plan_candidates_all(const struct plan_request *q, struct plan_candidate *c, int max);

/*
 * For a library that helpers can call as well, so that slices may be its own: algorithm NULL, ppg
 * more than 1. A row with all of q->ppg processes if that is predicted to gain, the library's own
 * with as many, the row alone, and the first of them with half as many processes; where q->ppg is
 * less than 2, the row alone. Returns how many. must_pay 0: every row counts.
 */
int plan_candidates_with_library(const struct plan_request *q,
                                 struct plan_candidate c[PLAN_CANDIDATES], int must_pay);

/* Does it make a difference to what may gain whether the buffers of all ranks lie on devices? Then
   q->memory has to be found out before the others are asked. */
int plan_memory_matters(const struct plan_request *q);

/* NULL if some row may gain on this shape, whatever the size; else why none does. */
const char *plan_nothing_pays(const struct plan_request *q);

/* Put c among the n that are there, the fastest first; the last one falls off where there are max.
   Returns how many there are then. */
int plan_candidates_insert(struct plan_candidate *list, int n, int max, struct plan_candidate c);

#endif
