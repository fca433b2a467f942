/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls that take two paths (planners/collaborative/) divide their data: at first by what the
 * planner computes, or if nobody has told the links' rates next to nothing goes through the host,
 * so that no guess costs anything; then by what the paths took. What comes out of that is logged as
 * a row for the tuning profile, and a division that the profile names is where correcting goes on.
 * What a call took is agreed on by the next call's message (gpus.h), so it costs none of its own.
 * Where the user says a division, or wants the same bits in every run, it stays as it is; for the
 * latter, nothing goes through the host if neither a division nor the rates are known.
 *
 * All ranks make the same calls and hear the same times, so all come to the same divisions.
 * Thread rule: the communicator's: one thread at a time.
 */
#ifndef COLLSHIM_SHIM_DECIDE_DIVISION_H
#define COLLSHIM_SHIM_DECIDE_DIVISION_H

#include <stdint.h>

#include "planners/collaborative/correct.h"
#include "planners/registry.h"

enum { DIVISIONS = 48, DIVISION_TIMES = 2 };

/* Of one power of two of the bytes. */
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
 * The recipe with the division of today for a request that is to be carried by a, whose own recipe
 * is q->recipe: that one where it is not divided, or not corrected. Borrowed from d, and changes.
 */
const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a);

/* A call with that recipe begins. Is it a division's, so that d->took is wanted when it has ended?
   A time that stays 0, as of a rank without its part, is the others' to tell. */
int division_used(struct divisions *d, const char *recipe);

/* What this rank tells, and what all have agreed on, so many on one node: the largest of each. */
void divisions_tell(const struct divisions *d, double took[DIVISION_TIMES]);
void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES], int ranks);

#endif
