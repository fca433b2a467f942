/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A unit on its way to the stream, after each of its calls has been judged: all of it natively, or
 * what may be rerouted by schedules; and the guard, which says which.
 */
#ifndef COLLSHIM_SHIM_NCCL_UNIT_H
#define COLLSHIM_SHIM_NCCL_UNIT_H

#include "planners/choose.h"
#include "shim/nccl/schedule.h"

/* One call of a unit and what has been thought of it. */
struct part {
    struct call *call;
    enum reason why;                 /* it runs natively; REASON_NONE: by the candidate */
    struct plan_candidate candidate; /* its algorithm NULL: in slices, each by the library */
};

struct unit {
    struct comm *c;
    struct part *part; /* [n] */
    int n, several_streams;
    int captured;    /* one of its streams is in capture */
    CUstream stream; /* of the first */

    /* If something of it may be rerouted: what stands for all of it, and how it is called. */
    enum plan_collective collective;
    const char *algorithm;
    int merged; /* collectives in it */
    uint64_t total;

    /* If it is an exchange of all ranks by messages: */
    const struct set *set; /* else NULL; borrowed */
    struct plan_candidate set_candidate;
};

/* What the report calls it. */
const char *unit_algorithm(const struct plan_candidate *candidate);

/* By schedules, wherever a part may be. */
ncclResult_t unit_reroute(struct unit *u);

/* None of it; why: of the parts that could have been. */
ncclResult_t unit_native(struct unit *u, enum reason why);

/* Run it on one stream: a group of several waits for all of them, and all of them for it. */
ncclResult_t unit_joined(struct unit *u, ncclResult_t (*run)(struct unit *u));

/* As the guard decides. */
ncclResult_t unit_guarded(struct unit *u);

/* As the guard decided last, of a unit in capture, also while it looks again: in a capture nothing
 * can be measured. */
ncclResult_t unit_settled(struct unit *u);

#endif
