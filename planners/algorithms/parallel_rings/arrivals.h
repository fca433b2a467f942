/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of operations by bytes: those that wrote the bytes, or those that still read them. A
 * planner notes operations as it adds them and makes later ones wait for those they meet.
 */
#ifndef COLLSHIM_PLANNERS_ARRIVALS_H
#define COLLSHIM_PLANNERS_ARRIVALS_H

#include "planners/links/shares.h"
#include "planners/plan/plan.h"

/* An operation that leaves these bytes of the current unit where others find them. */
struct arrival {
    struct share at;
    uint32_t op;
};

/* A list of them; all zero is an empty one. */
struct arrivals {
    struct arrival *list; /* [room] owned */
    size_t n, room;
    int failed; /* an entry is missing, because there was no memory */
};

void arrivals_close(struct arrivals *a);
/* PLAN_NO_OP is not noted. */
void arrivals_note(struct arrivals *a, struct share at, uint32_t op);
/* The operation added last to b waits for everything in a that meets `at`. */
void arrivals_wait(const struct arrivals *a, struct plan_builder *b, struct share at);

/* Bytes below `upto` are in new use, and all earlier users have ended. */
void arrivals_forget(struct arrivals *a, uint64_t upto);

#endif
