/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An algorithm: what a row of the registry has.
 *
 * A planner is a pure function of the request: no MPI, no environment, no clock,
 * no state between calls. All ranks that ask with equal requests (but for rank and
 * in_place) get plans that fit together.
 */
#ifndef COLLSHIM_PLANNERS_ALGORITHM_H
#define COLLSHIM_PLANNERS_ALGORITHM_H

#include "planners/plan/chunks.h"
#include "planners/plan/collective.h"
#include "planners/plan/plan.h"

struct plan_algorithm {
    const char *name;        /* as in COLLSHIM_ALGORITHM */
    unsigned collectives;    /* bit mask of 1u << enum plan_collective */
    const char *description; /* one line */
    const char *source;      /* paper or standard it follows */
    /* Why the shape gains nothing, as a constant text, or NULL if it may gain. Never consulted
       when the user forces the algorithm or sets COLLSHIM_MIN_BYTES=0. */
    const char *(*pays)(const struct plan_request *q);
    /* Seconds that the request takes, roughly: messages that wait for each other times latency, and
       bytes over the busiest link. A function of uniform values only, never rank or in_place;
       cost.h has its terms. NULL: not known; the row comes after all rows that have one. */
    double (*cost)(const struct plan_request *q);
    /* Can q->recipe be built for this shape? 0, or -EINVAL with one line in why: the wrong part and
       the right values. NULL: the algorithm takes no recipe. */
    int (*accepts)(const struct plan_request *q, char *why, size_t why_size);
    /* Returns 0 and *plan_p (caller frees), -ENOTSUP if it cannot serve this shape, or -ENOMEM.
       On error *plan_p is untouched. Thread-safe. */
    int (*build)(const struct plan_request *q, struct plan **plan_p);
};

/* A pays() for rows that use all rails of a node where a library's algorithm would use one. */
const char *plan_pays_on_idle_rails(const struct plan_request *q);

/* A pays() for rows that exist for comparison: never chosen unless the user names them. */
const char *plan_pays_by_name(const struct plan_request *q);

#endif
