/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls on two paths (planners/algorithms/collaborative/) divide their data. The planner
 * computes the first division. If the links' rates are unknown, almost nothing goes through the
 * host, so that a wrong guess costs nothing. Then the paths' times correct the division. The log
 * has the result as a row for the tuning profile; correcting starts from the profile's division.
 * Ranks agree on a call's times in the next call's message (gpus.h), so this needs no message. A
 * division from the user stays, and so does any division if the user wants the same bits in every
 * run. In the latter case, nothing goes through the host if neither a division nor the rates are
 * known.
 *
 * All ranks make the same calls and hear the same times, so all come to the same divisions.
 * Thread rule: the communicator's: one thread at a time.
 */
#ifndef COLLSHIM_SHIM_DECIDE_DIVISION_H
#define COLLSHIM_SHIM_DECIDE_DIVISION_H

#include <stdint.h>

#include "planners/algorithms/collaborative/correct.h"
#include "planners/choose/registry.h"

enum { DIVISIONS = 48, DIVISION_TIMES = 2 };

/* For one power of two of the bytes. */
struct division {
    struct correction correction;
    char recipe[24]; /* "": not begun */
};

struct divisions {
    struct division of[DIVISIONS]; /* by the bytes' highest bit */
    struct division *used;         /* by a call whose times are not agreed on yet, or NULL */
    double took[DIVISION_TIMES];   /* seconds of that call here: by the devices, and by the host */
};

/*
 * The recipe with the current division, for a request that algorithm a carries with the recipe
 * q->recipe. It is q->recipe itself if nothing is divided, or not corrected. Borrowed from d, and
 * changes.
 */
const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a);

/* A call with that recipe begins. Is it a division's, so that d->took is wanted when it has ended?
   A time that stays 0, as of a rank without its part, is the others' to tell. */
int division_used(struct divisions *d, const char *recipe);

/* This rank's values, and those that all have agreed on, with that many ranks on one node: the
   largest of each. */
void divisions_tell(const struct divisions *d, double took[DIVISION_TIMES]);
void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES], int ranks);

#endif
