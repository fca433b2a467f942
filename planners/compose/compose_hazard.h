/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependencies found from bytes: given one rank's operations in their order, which earlier ones
 * must each wait for. HiCCL calls it the fence (III-C): a step follows another only where data say
 * so.
 */
#ifndef COLLSHIM_PLANNERS_COMPOSE_HAZARD_H
#define COLLSHIM_PLANNERS_COMPOSE_HAZARD_H

#include "planners/plan.h"

/* An operation to be, and its place in the common order (compose_emit.c). */
struct compose_move {
    int step;
    uint32_t time;
    int root, leaf, stripe;
    uint32_t turn; /* among those equal so far */
    int peer;
    uint8_t kind;     /* enum plan_kind */
    uint8_t src, dst; /* enum plan_buffer */
    uint64_t src_at, dst_at, length;
};

/* A reader of a piece since it was last written. */
struct compose_reader {
    uint32_t op, next; /* next: index + 1, or 0 */
};

/* What is known of one piece of a buffer. */
struct compose_piece {
    uint64_t from; /* it ends where the next one starts */
    uint32_t writer;
    uint32_t readers; /* index + 1 of the newest, or 0 */
};

struct compose_hazards {
    struct compose_piece *piece[PLAN_NONE]; /* [pieces] owned, by place; none for the input */
    size_t pieces[PLAN_NONE];
    struct compose_reader *reader; /* [room] owned */
    size_t readers, room;
};

/* Prepare for these operations. 0 or -ENOMEM; close in either case. */
int compose_hazards_open(struct compose_hazards *h, const struct compose_move *move, size_t moves);
void compose_hazards_close(struct compose_hazards *h);

/* m has been appended to b last, as `op`: make it wait, and note it. In order. 0 or -ENOMEM. */
int compose_hazards_wait(struct compose_hazards *h, struct plan_builder *b,
                         const struct compose_move *m, uint32_t op);

#endif
