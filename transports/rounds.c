/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "transports/rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNED = 256, /* where a place in scratch begins, and a message is cut */
    SLIVER = 8     /* a part of a chunk that is no message of its own */
};

/* Where a queue is. */
struct head {
    uint32_t op;  /* its index in the plan; past the last one: nothing is left */
    uint64_t at;  /* bytes of it that are done */
    int32_t meet; /* the queue at the peer that this one's messages meet */
};

enum { OUT, IN, WAYS };
enum { NEAR, FAR, REACHES };

struct side { /* one rank */
    const struct plan *plan;
    struct head *head; /* [nqueues] owned */
    uint64_t *done;    /* [nops] owned: bytes from its start, as others may count on */
    uint32_t *order;   /* [nqueues] owned: by peer and lane */
    uint64_t *whole;   /* [nqueues] owned: bytes that move in one round at most */
    uint64_t *piece;   /* [nqueues] owned: in this one */
    uint64_t largest;  /* of whole */
    uint64_t left[WAYS][REACHES], used[WAYS][REACHES]; /* bytes in all, and in this round */
    uint64_t most[REACHES];                            /* in a round */
};

/* A message that both ends are ready for. */
struct ready {
    int32_t from, to;
    uint32_t send, recv; /* queues */
    uint64_t urgency;
};

struct work {
    struct side *side; /* [nranks] owned */
    int nranks, rank;
    struct round_step *step; /* owned until the end */
    uint32_t nsteps, room, ngroups;
    int in_group, shared;
    struct ready *ready; /* [all queues] owned */
    const int32_t *group;
    uint64_t left; /* bytes of all ranks' operations that are not done */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int is_local(uint8_t kind)
{
    return kind == PLAN_COPY || kind == PLAN_REDUCE;
}

static const struct plan_op *op_of(const struct side *s, uint32_t q)
{
    const struct plan_queue *queue = &s->plan->queues[q];

    return s->head[q].op < queue->first_op + queue->nops ? &s->plan->ops[s->head[q].op] : NULL;
}

static uint64_t piece_of(const struct side *s, uint32_t q)
{
    return least(s->piece[q], op_of(s, q)->length - s->head[q].at);
}

/* May the next piece of the queue move, by what is done so far on its rank? */
static int is_ready(const struct side *s, uint32_t q)
{
    const struct plan_op *op = op_of(s, q);
    uint64_t end;

    if (!op)
        return 0;
    end = s->head[q].at + piece_of(s, q);
    for (uint32_t d = op->first_dep; d < op->first_dep + op->ndeps; d++) {
        uint32_t dep = s->plan->deps[d];

        if (s->done[dep] < plan_dep_need(op, end, &s->plan->ops[dep]))
            return 0;
    }
    return 1;
}

/* Scratch behind the plan's own: a piece per queue. */
static struct round_place stage_of(const struct side *s, uint32_t q)
{
    uint64_t first = (s->plan->scratch_bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    uint64_t each = (s->largest + ALIGNED - 1) / ALIGNED * ALIGNED;

    return (struct round_place){first + q * each, PLAN_SCRATCH};
}

static int add(struct work *w, const struct round_step *step)
{
    if (w->nsteps == w->room) {
        uint32_t room = w->room ? 2 * w->room : 64;
        struct round_step *more = realloc(w->step, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        w->step = more;
        w->room = room;
    }
    w->step[w->nsteps++] = *step;
    return 0;
}

/* What the next piece of a queue is to this rank: a message, or something local. */
static struct round_step step_of(const struct side *s, uint32_t q, int local)
{
    const struct plan_op *op = op_of(s, q);
    uint64_t at = s->head[q].at;
    uint8_t kind = s->plan->queues[q].kind;
    struct round_step step = {.peer = s->plan->queues[q].peer,
                              .src = {op->src_off + at, op->src},
                              .dst = {op->dst_off + at, op->dst},
                              .length = piece_of(s, q)};

    step.kind = kind == PLAN_SEND ? ROUND_SEND : kind == PLAN_COPY ? ROUND_COPY : ROUND_RECV;
    if (kind == PLAN_RECV_REDUCE && !local)
        step.dst = stage_of(s, q);
    if (kind == PLAN_RECV_REDUCE && local) {
        step.kind = ROUND_REDUCE;
        step.with = stage_of(s, q);
    }
    if (kind == PLAN_REDUCE) {
        step.kind = ROUND_REDUCE;
        step.with = step.src;
        step.src = step.dst;
    }
    return step;
}

static int add_message(struct work *w, const struct side *s, uint32_t q)
{
    struct round_step step = step_of(s, q, 0);

    step.opens = !w->in_group;
    w->in_group = 1;
    return add(w, &step);
}

static void close_group(struct work *w)
{
    if (w->in_group)
        w->step[w->nsteps - 1].closes = 1;
    w->ngroups += (uint32_t)w->in_group;
    w->in_group = 0;
}

static void advance(struct work *w, struct side *s, uint32_t q)
{
    struct head *h = &s->head[q];
    uint64_t piece = piece_of(s, q);

    h->at += piece;
    w->left -= piece;
    s->done[h->op] = h->at;
    if (h->at == s->plan->ops[h->op].length) {
        h->op++;
        h->at = 0;
    }
}

/* Everything local that can be done, until nothing can. */
static int run_local(struct work *w, int rank)
{
    struct side *s = &w->side[rank];
    int rc = 0, moved = 1;

    while (moved && !rc) {
        moved = 0;
        for (uint32_t q = 0; q < s->plan->nqueues && !rc; q++)
            while (!rc && is_local(s->plan->queues[q].kind) && is_ready(s, q)) {
                struct round_step step = step_of(s, q, 1);

                rc = rank == w->rank ? add(w, &step) : 0;
                advance(w, s, q);
                moved = 1;
            }
    }
    return rc;
}

static int reach_of(const struct work *w, int a, int b)
{
    return w->group[a] == w->group[b] ? NEAR : FAR;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* All messages that both ends are ready for. Returns how many, or -EINVAL if two do not fit. */
static int find_ready(struct work *w)
{
    int n = 0;

    for (int r = 0; r < w->nranks; r++) {
        const struct side *s = &w->side[r];

        for (uint32_t q = 0; q < s->plan->nqueues; q++) {
            const struct plan_queue *queue = &s->plan->queues[q];

            if (queue->kind != PLAN_SEND)
                continue;
            const struct side *peer = &w->side[queue->peer];
            uint32_t meet = (uint32_t)s->head[q].meet;
            int reach = reach_of(w, r, queue->peer);

            if (!is_ready(s, q) || !is_ready(peer, meet))
                continue;
            if (piece_of(s, q) != piece_of(peer, meet))
                return -EINVAL;
            w->ready[n++] = (struct ready){r, queue->peer, q, meet,
                                           most(s->left[OUT][reach] / s->most[reach],
                                                peer->left[IN][reach] / peer->most[reach])};
        }
    }
    return n;
}

static int more_urgent(const void *a, const void *b)
{
    const struct ready *x = a, *y = b;

    if (x->urgency != y->urgency)
        return x->urgency < y->urgency ? 1 : -1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->send < y->send ? -1 : x->send > y->send;
}

/* Is there room for it in this round on both ends' links, or for a part that is worth a message? */
static int take_room(struct work *w, const struct ready *m)
{
    struct side *from = &w->side[m->from], *to = &w->side[m->to];
    int reach = reach_of(w, m->from, m->to);
    uint64_t *out = &from->used[OUT][reach], *in = &to->used[IN][reach];
    uint64_t room = from->most[reach] - least(most(*out, *in), from->most[reach]);
    uint64_t bytes = piece_of(from, m->send);

    if (bytes > room && (*out || *in)) {
        bytes = room / ALIGNED * ALIGNED;
        if (bytes < from->plan->chunk_bytes / SLIVER || !bytes)
            return 0;
        from->piece[m->send] = to->piece[m->recv] = bytes;
    }
    *out += bytes;
    *in += bytes;
    from->left[OUT][reach] -= bytes;
    to->left[IN][reach] -= bytes;
    return 1;
}

/* What moves in this round: moving, as of run_round(). Returns 0, or -EINVAL if nothing can. */
static int choose(struct work *w, uint8_t *const *moving)
{
    int n;

    for (int r = 0; r < w->nranks; r++) {
        memset(moving[r], 0, w->side[r].plan->nqueues);
        memset(w->side[r].used, 0, sizeof w->side[r].used);
        memcpy(w->side[r].piece, w->side[r].whole,
               w->side[r].plan->nqueues * sizeof *w->side[r].piece);
    }
    n = find_ready(w);
    if (n <= 0)
        return -EINVAL;
    if (w->shared)
        qsort(w->ready, (size_t)n, sizeof *w->ready, more_urgent);
    for (int i = 0; i < n; i++) {
        const struct ready *m = &w->ready[i];

        if (!w->shared || take_room(w, m))
            moving[m->from][m->send] = moving[m->to][m->recv] = 1;
    }
    return 0;
}

/*
 * One round: first find the messages that move, by the state before the round, then move them all.
 * moving: [nranks][nqueues of each], one flag per queue.
 */
static int run_round(struct work *w, uint8_t *const *moving)
{
    int rc = choose(w, moving);

    if (rc)
        return rc;
    const struct side *mine = &w->side[w->rank];
    for (uint32_t i = 0; i < mine->plan->nqueues && !rc; i++)
        if (moving[w->rank][mine->order[i]])
            rc = add_message(w, mine, mine->order[i]);
    close_group(w);
    for (uint32_t i = 0; i < mine->plan->nqueues && !rc; i++) {
        uint32_t q = mine->order[i];

        if (moving[w->rank][q] && mine->plan->queues[q].kind == PLAN_RECV_REDUCE) {
            struct round_step step = step_of(mine, q, 1);
            rc = add(w, &step);
        }
    }
    for (int r = 0; r < w->nranks; r++)
        for (uint32_t q = 0; q < w->side[r].plan->nqueues; q++)
            if (moving[r][q])
                advance(w, &w->side[r], q);
    return rc;
}

static int by_peer_and_lane(const void *a, const void *b, void *plan)
{
    const struct plan *p = plan;
    const struct plan_queue *x = &p->queues[*(const uint32_t *)a],
                            *y = &p->queues[*(const uint32_t *)b];

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static int open_side(struct work *w, struct side *s, const struct plan *p,
                     const struct rounds_links *links)
{
    s->plan = p;
    s->head = calloc(p->nqueues + 1, sizeof *s->head);
    s->done = calloc(p->nops + 1, sizeof *s->done);
    s->order = calloc(p->nqueues + 1, sizeof *s->order);
    s->whole = calloc(p->nqueues + 1, sizeof *s->whole);
    s->piece = calloc(p->nqueues + 1, sizeof *s->piece);
    if (!s->head || !s->done || !s->order || !s->whole || !s->piece)
        return -ENOMEM;
    for (uint32_t q = 0; q < p->nqueues; q++) {
        s->head[q] = (struct head){.op = p->queues[q].first_op, .meet = -1};
        s->order[q] = q;
        s->whole[q] = p->chunk_bytes;
        if (p->queues[q].peer >= 0 && links->group[p->queues[q].peer] == links->group[p->rank])
            s->whole[q] *= links->fast_chunks;
        s->piece[q] = s->whole[q];
        s->largest = s->whole[q] > s->largest ? s->whole[q] : s->largest;
    }
    for (uint32_t o = 0; o < p->nops; o++)
        w->left += p->ops[o].length;
    qsort_r(s->order, p->nqueues, sizeof *s->order, by_peer_and_lane, (void *)(uintptr_t)p);
    return 0;
}

/* Find for each queue of sends the queue at the peer. */
static int introduce(struct work *w)
{
    for (int r = 0; r < w->nranks; r++) {
        struct side *s = &w->side[r];

        for (uint32_t q = 0; q < s->plan->nqueues; q++) {
            const struct plan_queue *from = &s->plan->queues[q];
            const struct plan *p = from->kind == PLAN_SEND ? w->side[from->peer].plan : NULL;

            for (uint32_t k = 0; p && k < p->nqueues && s->head[q].meet < 0; k++)
                if (plan_receives(p->queues[k].kind) && p->queues[k].peer == r &&
                    p->queues[k].lane == from->lane)
                    s->head[q].meet = (int32_t)k;
            if (p && s->head[q].meet < 0)
                return -EINVAL;
        }
    }
    return 0;
}

/* What each rank's links have to carry, and can in a round. */
static void weigh(struct work *w, uint32_t fast_chunks)
{
    for (int r = 0; r < w->nranks; r++) {
        struct side *s = &w->side[r];
        uint32_t peers = 0;

        for (int p = 0; p < w->nranks; p++)
            peers += p != r && reach_of(w, r, p) == NEAR;
        s->most[FAR] = s->plan->chunk_bytes;
        s->most[NEAR] = s->plan->chunk_bytes * fast_chunks * (peers ? peers : 1);
        for (uint32_t o = 0; o < s->plan->nops; o++) {
            const struct plan_queue *q = &s->plan->queues[s->plan->ops[o].queue];

            if (!is_local(q->kind))
                s->left[q->kind == PLAN_SEND ? OUT : IN][reach_of(w, r, q->peer)] +=
                    s->plan->ops[o].length;
        }
    }
}

static int run(struct work *w, uint32_t fast_chunks)
{
    uint8_t **moving = calloc((size_t)w->nranks, sizeof *moving);
    int rc = moving ? introduce(w) : -ENOMEM;
    size_t queues = 1;

    for (int r = 0; r < w->nranks; r++)
        queues += w->side[r].plan->nqueues;
    w->ready = malloc(queues * sizeof *w->ready);
    rc = w->ready ? rc : -ENOMEM;
    weigh(w, fast_chunks);

    for (int r = 0; r < w->nranks && !rc; r++) {
        moving[r] = calloc(w->side[r].plan->nqueues + 1, 1);
        rc = moving[r] ? run_local(w, r) : -ENOMEM;
    }
    while (!rc && w->left) {
        rc = run_round(w, moving);
        for (int r = 0; r < w->nranks && !rc; r++)
            rc = run_local(w, r);
    }
    for (int r = 0; moving && r < w->nranks; r++)
        free(moving[r]);
    free(moving);
    free(w->ready);
    return rc;
}

int rounds_build(const struct plan *const *plan, int nranks, int rank,
                 const struct rounds_links *links, struct rounds **rounds_p)
{
    struct work w = {
        .nranks = nranks, .rank = rank, .shared = links->shared, .group = links->group};
    struct rounds *made = malloc(sizeof *made);
    int rc = 0;

    w.side = calloc((size_t)nranks, sizeof *w.side);
    if (!made || !w.side)
        rc = -ENOMEM;
    for (int r = 0; r < nranks && !rc; r++)
        rc = open_side(&w, &w.side[r], plan[r], links);
    if (!rc)
        rc = run(&w, links->fast_chunks);
    uint64_t scratch = rc ? 0 : stage_of(&w.side[rank], plan[rank]->nqueues).offset;
    for (int r = 0; w.side && r < nranks; r++) {
        free(w.side[r].head);
        free(w.side[r].done);
        free(w.side[r].order);
        free(w.side[r].whole);
        free(w.side[r].piece);
    }
    free(w.side);
    if (rc) {
        free(w.step);
        free(made);
        return rc;
    }
    *made = (struct rounds){.algorithm = plan[rank]->algorithm,
                            .nsteps = w.nsteps,
                            .ngroups = w.ngroups,
                            .scratch_bytes = scratch,
                            .step = w.step};
    *rounds_p = made;
    return 0;
}

void rounds_free(struct rounds *r)
{
    if (!r)
        return;
    free((struct round_step *)(uintptr_t)r->step);
    free(r);
}
