/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that find their dependencies themselves: each is as if all added before it had been
 * done. It waits for the writers of the bytes it reads, and for the writers and readers of the
 * bytes it overwrites. It waits for nothing else. So a planner writes plain steps, and the plan has
 * none. HiCCL calls it the fence (III-C): a step follows another only if their data overlap. An
 * operation costs a binary search in its buffer. If it cuts a piece, it also shifts the pieces
 * behind.
 */
#ifndef COLLSHIM_PLANNERS_TRACKED_H
#define COLLSHIM_PLANNERS_TRACKED_H

#include "planners/plan/plan.h"

/* The state of one piece of a buffer. */
struct tracked_piece {
    uint64_t from; /* it ends where the next one starts, the last one nowhere */
    uint32_t writer;
    uint32_t readers; /* index + 1 of the newest since it was written, or 0 */
};

/* Pieces share the tails of their lists when one is cut in two, so nothing is ever taken out. */
struct tracked_reader {
    uint32_t op, next; /* next: index + 1, or 0 */
};

struct tracked_buffer {
    struct tracked_piece *piece; /* [room] owned, by place; empty until the buffer is used */
    size_t n, room;
};

/* All zero but b at first; ends with tracked_close. */
struct tracked {
    struct plan_builder *b; /* borrowed */
    struct tracked_buffer
        buffer[PLAN_NONE];         /* no operation writes the input, which needs no account */
    struct tracked_reader *reader; /* [room] owned */
    size_t readers, room;
    int failed; /* a dependency could not be noted */
};

/* A place in a buffer. */
struct spot {
    enum plan_buffer buffer;
    uint64_t at;
};

/* All as in plan.h; the operation is returned where others may have to wait for it. */
uint32_t tracked_send(struct tracked *w, int peer, int tag, struct spot src, uint64_t length);
uint32_t tracked_recv(struct tracked *w, int peer, int tag, struct spot dst, uint64_t length);
/* None where both are the same place. */
void tracked_copy(struct tracked *w, int tag, struct spot src, struct spot dst, uint64_t length);
void tracked_reduce(struct tracked *w, int tag, struct spot src, struct spot dst, uint64_t length);
uint32_t tracked_recv_reduce(struct tracked *w, int peer, int tag, struct spot src, struct spot dst,
                             uint64_t length);

/* The operation added last to b itself waits for those that wrote these bytes. It is not noted, and
   so must be the last to touch them and all that it writes. */
void tracked_wait(struct tracked *w, struct spot src, uint64_t length);

/* Frees what w owns. 0, or -ENOMEM if a dependency could not be noted. */
int tracked_close(struct tracked *w);

#endif
