/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that find their dependencies themselves: each is as if all added before it had been
 * done. It waits for those that wrote what it reads, and for those that wrote or still read what
 * it overwrites, and for nothing else; so a planner may write its schedule as plain steps and
 * gets one without steps. Costs a look through what touches the same buffer, so it is for plans
 * of some hundred operations, not for rings over a thousand nodes.
 */
#ifndef COLLSHIM_PLANNERS_TRACKED_H
#define COLLSHIM_PLANNERS_TRACKED_H

#include "planners/rings/arrivals.h"

struct tracked {
    struct plan_builder *b;           /* borrowed */
    struct arrivals wrote[PLAN_NONE]; /* per buffer: who put there what is there */
    struct arrivals reads[PLAN_NONE]; /* per buffer: who reads it */
};

/* A place in a buffer. */
struct spot {
    enum plan_buffer buffer;
    uint64_t at;
};

/* All as in plan.h; the operation is returned where others may have to wait for it. */
uint32_t tracked_send(struct tracked *w, int peer, int lane, struct spot src, uint64_t length);
void tracked_recv(struct tracked *w, int peer, int lane, struct spot dst, uint64_t length);
void tracked_copy(struct tracked *w, int lane, struct spot src, struct spot dst, uint64_t length);
uint32_t tracked_recv_reduce(struct tracked *w, int peer, int lane, struct spot src,
                             struct spot dst, uint64_t length);

/* Frees what w owns. 0, or -ENOMEM if a dependency could not be noted. */
int tracked_close(struct tracked *w);

#endif
