/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key of a cached plan. A communicator keeps its plans, each with such a key; the backend
 * decides the order in which it frees them.
 */
#ifndef COLLSHIM_SHIM_DECIDE_PLAN_KEY_H
#define COLLSHIM_SHIM_DECIDE_PLAN_KEY_H

#include "planners/choose/registry.h"

struct plan_key {
    const struct plan_algorithm *algorithm; /* NULL: of no request */
    struct plan_request request;            /* owned: bytes, demand, recipe */
    uint64_t beside; /* bytes of scratch besides the plan's, for the caller */
};

/* Copies of all that is not the communicator's. Returns 0, or -ENOMEM: then it is of no request. */
int plan_key_set(struct plan_key *k, const struct plan_request *q, const struct plan_algorithm *a,
                 uint64_t beside);

/* Does the plan serve the request? Rank and topology are the communicator's. */
int plan_key_is(const struct plan_key *k, const struct plan_request *q,
                const struct plan_algorithm *a, uint64_t beside);

/* The same but for lengths of one power of two. */
int plan_key_is_near(const struct plan_key *k, const struct plan_request *q,
                     const struct plan_algorithm *a);

void plan_key_clear(struct plan_key *k);

#endif
