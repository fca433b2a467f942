/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls that take two paths (planners/collaborative/) divide their data: by what the planner
 * computes at first, then by what the paths took. What a call took is agreed on by the next call's
 * message (gpus.h), so it costs none of its own. Where the user says a division, or wants the same
 * bits in every run, it stays as it is.
 *
 * All ranks make the same calls and hear the same times, so all come to the same divisions.
 * Thread rule: as struct comm.
 */
#ifndef COLLSHIM_SHIM_MPI_DIVISION_H
#define COLLSHIM_SHIM_MPI_DIVISION_H

#include <stdint.h>

#include "planners/collaborative/correct.h"
#include "planners/registry.h"

enum { DIVISIONS = 8, DIVISION_TIMES = 2 };

/* Of one power of two of the bytes. */
struct division {
    uint8_t class; /* 0: free */
    struct correction correction;
    char recipe[24];
};

struct divisions {
    struct division of[DIVISIONS];
    struct division *used;       /* by a call whose times are not agreed on yet, or NULL */
    double took[DIVISION_TIMES]; /* seconds of that call here: by the devices, and by the host */
};

/*
 * The recipe with the division of today for a request that is to be carried by a, whose own recipe
 * is q->recipe: that one where it is not divided, or not corrected. Borrowed from d, and changes.
 */
const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a);

/* A call with that recipe has ended; its parts took so long here, in seconds. */
void division_ended(struct divisions *d, const char *recipe, const double took[DIVISION_TIMES]);

/* What this rank tells, and what all have agreed on: the largest of each. */
void divisions_tell(const struct divisions *d, double took[DIVISION_TIMES]);
void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES]);

#endif
