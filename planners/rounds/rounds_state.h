/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State for making rounds: the position of each rank's queues, and the next messages. For rounds.c
 * and rounds_ready.c alone.
 */
#ifndef COLLSHIM_PLANNERS_ROUNDS_STATE_H
#define COLLSHIM_PLANNERS_ROUNDS_STATE_H

#include "planners/plan/plan.h"
#include "planners/rounds/rounds_step.h"

enum { ROUNDS_ALIGNED = 256 /* where a place in scratch begins, and a message is cut */ };

/* The position of a queue. */
struct head {
    uint32_t op;     /* its index in the plan; past the last one: nothing is left */
    uint64_t at;     /* bytes of it that are done */
    uint64_t staged; /* behind these: bytes that have come and are not combined yet */
    uint64_t whole;  /* bytes that move in one round at most */
    uint64_t piece;  /* in this one */
    uint64_t stage;  /* the place in scratch where contributions wait */
    int32_t meet;    /* the queue at the peer that this one's messages meet */
    int moves;       /* in this round */
};

enum { OUT, IN, WAYS };
enum { NEAR, FAR, REACHES };

/* The bytes that one pass writes, and all that it reads. */
struct rounds_pass {
    struct round_place dst, src[ROUND_SOURCES];
    uint64_t length;
    uint32_t sources;
};

struct rounds_side { /* one rank */
    const struct plan *plan;
    struct head *head; /* [nqueues] owned */
    uint64_t *done;    /* [nops] owned: bytes from its start, as others may count on */
    uint32_t *order;   /* [nqueues] owned: by peer and tag */
    uint64_t left[WAYS][REACHES], used[WAYS][REACHES]; /* bytes in all, and in this round */
    uint64_t most[REACHES];                            /* in a round, where links are shared */
    uint32_t messages;                                 /* in this round */
    uint64_t scratch_bytes;
    struct round_step last;                /* the last local work of this round; length 0: none */
    struct rounds_pass pass[ROUND_PASSES]; /* of the launch that it is in, if it combines */
    uint32_t passes, launches;             /* in this launch, and in this round */
};

/* A message that both ends are ready for. */
struct rounds_ready {
    int32_t from, to;
    uint32_t send, recv; /* queues */
    uint64_t urgency;
};

struct rounds_work {
    struct rounds_side *side; /* [nranks] owned */
    int nranks, rank;
    const struct rounds_links *links;
    struct round_step *step; /* owned until the end */
    uint32_t nsteps, room, ngroups;
    int in_group;
    struct rounds_ready *ready; /* [all queues] owned */
    uint64_t left;              /* bytes of all ranks' operations that are not done */
    uint64_t longest;           /* message, in chunks of its links */
    double seconds, launch_s;
};

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline const struct plan_op *op_of(const struct rounds_side *s, uint32_t q)
{
    const struct plan_queue *queue = &s->plan->queues[q];

    return s->head[q].op < queue->first_op + queue->nops ? &s->plan->ops[s->head[q].op] : NULL;
}

static inline uint64_t piece_of(const struct rounds_side *s, uint32_t q)
{
    return least(s->head[q].piece, op_of(s, q)->length - s->head[q].at);
}

static inline int reach_of(const struct rounds_work *w, int a, int b)
{
    return w->links->group[a] == w->links->group[b] ? NEAR : FAR;
}

/* May the next `bytes` of the queue's operation be done, by what is done so far on its rank? */
int rounds_may(const struct rounds_side *s, uint32_t q, uint64_t bytes);

/* Mark what moves in the next round, by the state before it. Returns 0, -EINVAL if nothing can or
 * two ends do not fit. */
int rounds_choose(struct rounds_work *w);

#endif
