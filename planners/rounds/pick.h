/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which schedule is likeliest to win, by what its rounds take: the planners' own predictions order
 * rows for messages that go one by one, and know nothing of groups and launches. A trial is dear,
 * so the guard tries the best one alone; without the guard it is what runs.
 */
#ifndef COLLSHIM_PLANNERS_PICK_H
#define COLLSHIM_PLANNERS_PICK_H

#include "planners/choose.h"

enum { PICKS = 32 };

/* What was found before. */
struct picks {
    struct pick {
        uint32_t key; /* 0: none */
        struct plan_candidate way;
    } entry[PICKS];
    unsigned n;
};

/*
 * Replace the row and the recipe of *way, which the planners think best for the request, by those
 * of the candidate whose rounds are the fastest. One answer for all requests of a collective and
 * size class, as the guard has one verdict, and the same on all ranks; but a rank without memory
 * keeps the planners' choice (nccl_comm_rounds() finds out). Takes some ms the first time.
 * must_pay: as for plan_candidates_with_library(). Thread rule: the caller's, for *picks.
 */
void pick_row(struct picks *picks, const struct plan_request *q, int must_pay,
              struct plan_candidate *way);

#endif
