/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule most likely to win, by the time of its rounds. The planners' own predictions order
 * rows for single messages, and do not count groups and launches. A trial is expensive, so the
 * guard tries the best row alone; without the guard that row runs.
 */
#ifndef COLLSHIM_PLANNERS_PICK_H
#define COLLSHIM_PLANNERS_PICK_H

#include "planners/choose/choose.h"

enum { PICKS = 32 };

/* Results of earlier calls. */
struct picks {
    struct pick {
        uint32_t key; /* 0: none */
        struct plan_candidate way;
    } entry[PICKS];
    unsigned n;
};

/*
 * *way holds the planners' best row and recipe for the request. Replace them by those of the
 * candidate with the fastest rounds. All requests of a collective and size class have one answer,
 * as the guard has one verdict. It is the same on all ranks, but a rank without memory keeps the
 * planners' choice (nccl_comm_rounds() detects that). Takes some ms the first time. must_pay: as
 * for plan_candidates_with_library(). Thread rule: the caller's, for *picks.
 */
void pick_row(struct picks *picks, const struct plan_request *q, int must_pay,
              struct plan_candidate *way);

#endif
