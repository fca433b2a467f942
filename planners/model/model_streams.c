/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/model/model_streams.h"

#include <errno.h>
#include <stdlib.h>

/* A receive queue of a rank, to be found by the sender and the tag. */
struct receiver {
    int peer;
    uint16_t tag;
    uint32_t queue;
};

static int by_sender(const void *a, const void *b)
{
    const struct receiver *x = a, *y = b;

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static struct model_side side(const struct plan *p, uint32_t queue)
{
    const struct plan_queue *q = &p->queues[queue];

    return (struct model_side){
        .rank = p->rank, .queue = queue, .op = q->first_op, .last = q->first_op + q->nops};
}

static int same_lengths(const struct plan *a, const struct plan_queue *p, const struct plan *b,
                        const struct plan_queue *q)
{
    if (p->nops != q->nops)
        return 0;
    for (uint32_t i = 0; i < p->nops; i++)
        if (a->ops[p->first_op + i].length != b->ops[q->first_op + i].length)
            return 0;
    return 1;
}

/* The receivers of all ranks: rank r's are found[first[r] .. first[r+1]), in order. */
struct receivers {
    struct receiver *found;
    uint32_t *first;
};

static int collect(const struct plan *const *plan, int nranks, struct receivers *all)
{
    uint32_t n = 0;

    all->first = malloc(((size_t)nranks + 1) * sizeof *all->first);
    for (int r = 0; r < nranks; r++)
        n += plan[r]->nqueues;
    all->found = malloc((n + 1u) * sizeof *all->found);
    if (!all->first || !all->found)
        return -ENOMEM;
    n = 0;
    for (int r = 0; r < nranks; r++) {
        all->first[r] = n;
        for (uint32_t q = 0; q < plan[r]->nqueues; q++)
            if (plan_receives(plan[r]->queues[q].kind))
                all->found[n++] =
                    (struct receiver){plan[r]->queues[q].peer, plan[r]->queues[q].tag, q};
        qsort(all->found + all->first[r], n - all->first[r], sizeof *all->found, by_sender);
    }
    all->first[nranks] = n;
    return 0;
}

/* Add what one queue is the origin of; receives come with the send that meets them. */
static int add(struct model_streams *s, const struct plan *const *plan, const struct model_fold *f,
               int rank, uint32_t queue, const struct receivers *all)
{
    const struct plan *p = plan[rank];
    const struct plan_queue *q = &p->queues[queue];
    struct model_stream *now = &s->stream[s->n];

    if (plan_receives(q->kind))
        return 0;
    *now = (struct model_stream){
        .side = {side(p, queue)}, .nsides = 1, .to = -1, .feeds = MODEL_NONE, .fed_by = MODEL_NONE};
    s->n++;
    if (q->kind != PLAN_SEND)
        return 0;
    int to = model_fold_rank(f, q->peer);
    const struct plan *peer = plan[to];
    struct receiver key = {model_fold_sender(f, rank, q->peer), q->tag, 0};
    const struct receiver *r = bsearch(&key, all->found + all->first[to],
                                       all->first[to + 1] - all->first[to], sizeof key, by_sender);
    if (!r || !same_lengths(p, q, peer, &peer->queues[r->queue]))
        return -EDEADLK;
    now->to = q->peer;
    if (peer->queues[r->queue].kind == PLAN_RECV) {
        now->side[now->nsides++] = side(peer, r->queue);
        return 0;
    }
    now->feeds = s->n;
    s->stream[s->n] = (struct model_stream){.side = {side(peer, r->queue)},
                                            .nsides = 1,
                                            .to = -1,
                                            .feeds = MODEL_NONE,
                                            .fed_by = s->n - 1};
    s->n++;
    return 0;
}

int model_streams_open(const struct plan *const *plan, int nranks, const struct model_fold *f,
                       struct model_streams *s)
{
    struct receivers all = {0};
    uint32_t nqueues = 0, sends = 0, receives = 0;
    int rc = collect(plan, nranks, &all);

    *s = (struct model_streams){0};
    for (int r = 0; r < nranks; r++)
        nqueues += plan[r]->nqueues;
    if (!rc && !(s->stream = malloc((nqueues + 1u) * sizeof *s->stream)))
        rc = -ENOMEM;
    for (int r = 0; !rc && r < nranks; r++)
        for (uint32_t q = 0; !rc && q < plan[r]->nqueues; q++) {
            sends += plan[r]->queues[q].kind == PLAN_SEND;
            receives += plan_receives(plan[r]->queues[q].kind);
            rc = add(s, plan, f, r, q, &all);
        }
    if (!rc && sends != receives)
        rc = -EDEADLK;
    free(all.found);
    free(all.first);
    if (rc)
        model_streams_close(s);
    return rc;
}

void model_streams_close(struct model_streams *s)
{
    free(s->stream);
    *s = (struct model_streams){0};
}

uint64_t model_streams_chunks(const struct model_streams *s, const struct plan *const *plan,
                              uint64_t chunk)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct model_side *a = &s->stream[i].side[0];

        for (uint32_t op = a->op; op < a->last; op++)
            n += (plan[a->rank]->ops[op].length - 1) / chunk + 1;
    }
    return n;
}
