/* SPDX-License-Identifier: BSD-3-Clause */
/* Which messages move in a round. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/rounds/rounds_state.h"

enum { SLIVER = 8 /* a part of a chunk that is no message of its own */ };

int rounds_may(const struct rounds_side *s, uint32_t q, uint64_t bytes)
{
    const struct plan_op *op = op_of(s, q);
    uint64_t end = op ? s->head[q].at + bytes : 0;

    if (!op)
        return 0;
    for (uint32_t d = op->first_dep; d < op->first_dep + op->ndeps; d++) {
        uint32_t dep = s->plan->deps[d];

        if (s->done[dep] < plan_dep_need(op, end, &s->plan->ops[dep]))
            return 0;
    }
    return 1;
}

/* A contribution goes to its own place first, so it waits for that place only. */
static int is_ready(const struct rounds_side *s, uint32_t q)
{
    if (s->plan->queues[q].kind == PLAN_RECV_REDUCE)
        return op_of(s, q) && !s->head[q].staged;
    return op_of(s, q) && rounds_may(s, q, piece_of(s, q));
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* All messages that both ends are ready for. Returns how many, or -EINVAL if two do not fit. */
static int find_ready(struct rounds_work *w)
{
    int n = 0;

    for (int r = 0; r < w->nranks; r++) {
        const struct rounds_side *s = &w->side[r];

        for (uint32_t q = 0; q < s->plan->nqueues; q++) {
            const struct plan_queue *queue = &s->plan->queues[q];

            if (queue->kind != PLAN_SEND)
                continue;
            const struct rounds_side *peer = &w->side[queue->peer];
            uint32_t meet = (uint32_t)s->head[q].meet;
            int reach = reach_of(w, r, queue->peer);

            if (!is_ready(s, q) || !is_ready(peer, meet))
                continue;
            if (piece_of(s, q) != piece_of(peer, meet))
                return -EINVAL;
            w->ready[n++] = (struct rounds_ready){r, queue->peer, q, meet,
                                                  most(s->left[OUT][reach] / s->most[reach],
                                                       peer->left[IN][reach] / peer->most[reach])};
        }
    }
    return n;
}

static int more_urgent(const void *a, const void *b)
{
    const struct rounds_ready *x = a, *y = b;

    if (x->urgency != y->urgency)
        return x->urgency < y->urgency ? 1 : -1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->send < y->send ? -1 : x->send > y->send;
}

/* Is it one message too many for the round of one end? */
static int is_full(const struct rounds_work *w, const struct rounds_ready *m)
{
    uint32_t limit = w->links->most_messages;

    return limit && (w->side[m->from].messages >= limit || w->side[m->to].messages >= limit);
}

/* Is there room for it in this round on both ends' links, or for a part that is worth a message? */
static int has_room(struct rounds_work *w, const struct rounds_ready *m)
{
    struct rounds_side *from = &w->side[m->from], *to = &w->side[m->to];
    int reach = reach_of(w, m->from, m->to);
    uint64_t used = most(from->used[OUT][reach], to->used[IN][reach]);
    uint64_t room = from->most[reach] - least(used, from->most[reach]);
    uint64_t bytes = piece_of(from, m->send);

    if (bytes <= room || !used)
        return 1;
    bytes = room / ROUNDS_ALIGNED * ROUNDS_ALIGNED;
    if (bytes < from->plan->chunk_bytes / SLIVER || !bytes)
        return 0;
    from->head[m->send].piece = to->head[m->recv].piece = bytes;
    return 1;
}

static void take_room(struct rounds_work *w, const struct rounds_ready *m)
{
    struct rounds_side *from = &w->side[m->from], *to = &w->side[m->to];
    int reach = reach_of(w, m->from, m->to);
    uint64_t bytes = piece_of(from, m->send);

    from->used[OUT][reach] += bytes;
    to->used[IN][reach] += bytes;
    from->left[OUT][reach] -= bytes;
    to->left[IN][reach] -= bytes;
    from->head[m->send].moves = to->head[m->recv].moves = 1;
    from->messages++;
    to->messages++;
}

/* Other links are idle before the first piece of an operation has come, and behind its last one:
   these pieces may be smaller. If links are shared, they are not idle. */
static uint64_t next_piece(const struct rounds_work *w, const struct rounds_side *s, uint32_t q)
{
    const struct head *h = &s->head[q];
    const struct plan_op *op = op_of(s, q);
    uint64_t left = op ? op->length - h->at : 0;
    uint64_t end = s->plan->chunk_bytes / w->links->taper / ROUNDS_ALIGNED * ROUNDS_ALIGNED;

    if (w->links->shared || !end || left <= end || op->length <= h->whole)
        return h->whole;
    return h->at ? least(h->whole, left - end) : end;
}

int rounds_choose(struct rounds_work *w)
{
    int n;

    for (int r = 0; r < w->nranks; r++) {
        struct rounds_side *s = &w->side[r];

        memset(s->used, 0, sizeof s->used);
        s->messages = 0;
        for (uint32_t q = 0; q < s->plan->nqueues; q++) {
            s->head[q].piece = next_piece(w, s, q);
            s->head[q].moves = 0;
        }
    }
    n = find_ready(w);
    if (n <= 0)
        return -EINVAL;
    if (w->links->shared)
        qsort(w->ready, (size_t)n, sizeof *w->ready, more_urgent);
    for (int i = 0; i < n; i++)
        if (!is_full(w, &w->ready[i]) && (!w->links->shared || has_room(w, &w->ready[i])))
            take_room(w, &w->ready[i]);
    return 0;
}
