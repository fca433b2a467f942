/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "planners/rounds/rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/rounds/rounds_state.h"

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ROUNDS_ALIGNED - 1) / ROUNDS_ALIGNED * ROUNDS_ALIGNED;
}

static int add(struct rounds_work *w, const struct round_step *step)
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

/* The kind of a queue's next piece on this rank: a message, or local work. */
static struct round_step step_of(const struct rounds_side *s, uint32_t q, int local)
{
    const struct plan_op *op = op_of(s, q);
    const struct head *h = &s->head[q];
    uint8_t kind = s->plan->queues[q].kind;
    struct round_step step = {.peer = s->plan->queues[q].peer,
                              .src = {op->src_off + h->at, op->src},
                              .dst = {op->dst_off + h->at, op->dst},
                              .length = piece_of(s, q)};

    step.kind = kind == PLAN_SEND ? ROUND_SEND : kind == PLAN_COPY ? ROUND_COPY : ROUND_RECV;
    if (kind == PLAN_RECV_REDUCE && !local)
        step.dst = (struct round_place){h->stage, PLAN_SCRATCH};
    if (kind == PLAN_RECV_REDUCE && local) {
        step.kind = ROUND_REDUCE;
        step.with = (struct round_place){h->stage, PLAN_SCRATCH};
        step.length = h->staged;
    }
    if (kind == PLAN_REDUCE) {
        step.kind = ROUND_REDUCE;
        step.with = step.src;
        step.src = step.dst;
    }
    return step;
}

static int add_message(struct rounds_work *w, const struct rounds_side *s, uint32_t q)
{
    struct round_step step = step_of(s, q, 0);

    step.opens = !w->in_group;
    w->in_group = 1;
    return add(w, &step);
}

static void close_group(struct rounds_work *w)
{
    if (w->in_group)
        w->step[w->nsteps - 1].closes = 1;
    w->ngroups += (uint32_t)w->in_group;
    w->in_group = 0;
}

static void advance(struct rounds_work *w, struct rounds_side *s, uint32_t q, uint64_t bytes)
{
    struct head *h = &s->head[q];

    h->at += bytes;
    h->staged = 0;
    w->left -= bytes;
    s->done[h->op] = h->at;
    if (h->at == s->plan->ops[h->op].length) {
        h->op++;
        h->at = 0;
    }
}

static int same_place(const struct round_place *a, const struct round_place *b)
{
    return a->offset == b->offset && a->buffer == b->buffer;
}

/* Does it add to what that pass combines? */
static int goes_on(const struct rounds_pass *pass, const struct round_step *step)
{
    return pass->length == step->length && same_place(&step->src, &pass->dst) &&
           same_place(&step->dst, &pass->dst) && pass->sources < ROUND_SOURCES;
}

static int meet(const struct round_place *a, uint64_t a_bytes, const struct round_place *b,
                uint64_t b_bytes)
{
    return a->buffer == b->buffer && a->offset < b->offset + b_bytes &&
           b->offset < a->offset + a_bytes;
}

/* May both be done in any order? Plans have one name for each place in memory. */
static int are_free(const struct rounds_pass *pass, const struct round_step *step)
{
    uint64_t n = pass->length, m = step->length;

    for (uint32_t i = 0; i < pass->sources; i++)
        if (meet(&pass->src[i], n, &step->dst, m))
            return 0;
    return !meet(&pass->dst, n, &step->dst, m) && !meet(&pass->dst, n, &step->src, m) &&
           !meet(&pass->dst, n, &step->with, m);
}

/* The place of a combining step: in the last pass, or a new pass of this launch or of the next one.
 */
enum fit { SAME_PASS, SAME_LAUNCH, NEXT_LAUNCH };

static enum fit fit_of(const struct rounds_side *s, const struct round_step *step)
{
    uint32_t others = s->passes;
    int on = others && goes_on(&s->pass[others - 1], step);

    others -= (uint32_t)on;
    for (uint32_t i = 0; i < others; i++)
        if (!are_free(&s->pass[i], step))
            return NEXT_LAUNCH;
    return on ? SAME_PASS : others && others < ROUND_PASSES ? SAME_LAUNCH : NEXT_LAUNCH;
}

static void add_to_pass(struct rounds_side *s, enum fit fit, const struct round_step *step)
{
    struct rounds_pass *pass;

    if (fit == NEXT_LAUNCH)
        s->passes = 0;
    if (fit != SAME_PASS)
        s->pass[s->passes++] =
            (struct rounds_pass){step->dst, {step->src}, .length = step->length, .sources = 1};
    pass = &s->pass[s->passes - 1];
    pass->src[pass->sources++] = step->with;
}

/* Is it what follows the copy before it? Not within one buffer, where it may copy what that one has
 * written. */
static int follows(const struct rounds_side *s, const struct round_step *step)
{
    const struct round_step *last = &s->last;

    return last->length && last->kind == ROUND_COPY && step->kind == ROUND_COPY &&
           last->src.buffer != last->dst.buffer &&
           same_place(&step->src,
                      &(struct round_place){last->src.offset + last->length, last->src.buffer}) &&
           same_place(&step->dst,
                      &(struct round_place){last->dst.offset + last->length, last->dst.buffer});
}

static int add_local(struct rounds_work *w, int rank, struct round_step step)
{
    struct rounds_side *s = &w->side[rank];
    enum fit fit = NEXT_LAUNCH;

    if (follows(s, &step)) {
        s->last.length += step.length;
        if (rank == w->rank)
            w->step[w->nsteps - 1].length = s->last.length;
        return 0;
    }
    if (step.kind == ROUND_REDUCE) {
        fit = fit_of(s, &step);
        add_to_pass(s, fit, &step);
    } else {
        s->passes = 0;
    }
    s->launches += fit == NEXT_LAUNCH;
    s->last = step;
    if (rank != w->rank)
        return 0;
    if (fit != NEXT_LAUNCH)
        w->step[w->nsteps - 1].closes = 0;
    step.opens = fit == NEXT_LAUNCH;
    step.begins = fit != SAME_PASS;
    step.closes = 1;
    return add(w, &step);
}

/* Can the queue's next piece be done without a message? How many bytes does it have? */
static uint64_t local_bytes(const struct rounds_side *s, uint32_t q)
{
    uint8_t kind = s->plan->queues[q].kind;
    uint64_t bytes = 0;

    if (kind == PLAN_RECV_REDUCE)
        bytes = s->head[q].staged;
    else if ((kind == PLAN_COPY || kind == PLAN_REDUCE) && op_of(s, q))
        bytes = piece_of(s, q);
    return bytes && rounds_may(s, q, bytes) ? bytes : 0;
}

/* Everything local that can be done, until nothing can. */
static int run_local(struct rounds_work *w, int rank)
{
    struct rounds_side *s = &w->side[rank];
    int rc = 0, moved = 1;
    uint64_t bytes;

    s->last.length = 0;
    s->passes = s->launches = 0;
    while (moved && !rc) {
        moved = 0;
        for (uint32_t q = 0; q < s->plan->nqueues && !rc; q++)
            while (!rc && (bytes = local_bytes(s, q)) > 0) {
                rc = add_local(w, rank, step_of(s, q, 1));
                advance(w, s, q, bytes);
                moved = 1;
            }
    }
    return rc;
}

static void end_message(struct rounds_work *w, struct rounds_side *s, uint32_t q)
{
    struct head *h = &s->head[q];

    if (s->plan->queues[q].kind == PLAN_RECV_REDUCE)
        h->staged = piece_of(s, q);
    else
        advance(w, s, q, piece_of(s, q));
}

/* One round: first find the messages that move, by the state before the round, then move them all.
 */
static int run_round(struct rounds_work *w)
{
    const struct rounds_side *mine = &w->side[w->rank];
    int rc = rounds_choose(w);

    for (uint32_t i = 0; i < mine->plan->nqueues && !rc; i++)
        if (mine->head[mine->order[i]].moves)
            rc = add_message(w, mine, mine->order[i]);
    close_group(w);
    for (int r = 0; r < w->nranks && !rc; r++)
        for (uint32_t q = 0; q < w->side[r].plan->nqueues; q++)
            if (w->side[r].head[q].moves)
                end_message(w, &w->side[r], q);
    return rc;
}

/* The local work of all ranks, and the time of the round with it: the slowest rank's. */
static int end_round(struct rounds_work *w, double messages_s)
{
    uint32_t launches = 0;
    int rc = 0;

    for (int r = 0; r < w->nranks && !rc; r++) {
        rc = run_local(w, r);
        launches = w->side[r].launches > launches ? w->side[r].launches : launches;
    }
    w->launch_s += launches * ROUND_LAUNCH_S + (messages_s > 0 ? ROUND_GROUP_S : 0);
    w->seconds += messages_s;
    return rc;
}

/* Bytes of the messages of the round that was chosen last. */
static double messages_seconds(const struct rounds_work *w)
{
    double longest = 0;

    for (int r = 0; r < w->nranks; r++)
        for (int way = 0; way < WAYS; way++)
            for (int reach = 0; reach < REACHES; reach++) {
                double s = (double)w->side[r].used[way][reach] / w->links->bytes_per_s[reach];

                longest = s > longest ? s : longest;
            }
    return longest;
}

static int by_peer_and_tag(const void *a, const void *b, void *plan)
{
    const struct plan *p = plan;
    const struct plan_queue *x = &p->queues[*(const uint32_t *)a],
                            *y = &p->queues[*(const uint32_t *)b];

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static uint64_t longest_op(const struct plan *p, const struct plan_queue *queue)
{
    uint64_t longest = 0;

    for (uint32_t o = queue->first_op; o < queue->first_op + queue->nops; o++)
        longest = p->ops[o].length > longest ? p->ops[o].length : longest;
    return longest;
}

static int open_side(struct rounds_work *w, struct rounds_side *s, const struct plan *p)
{
    s->plan = p;
    s->head = calloc(p->nqueues + 1, sizeof *s->head);
    s->done = calloc(p->nops + 1, sizeof *s->done);
    s->order = calloc(p->nqueues + 1, sizeof *s->order);
    if (!s->head || !s->done || !s->order)
        return -ENOMEM;
    s->scratch_bytes = aligned(p->scratch_bytes);
    for (uint32_t q = 0; q < p->nqueues; q++) {
        const struct plan_queue *queue = &p->queues[q];
        struct head *h = &s->head[q];
        uint64_t longest = longest_op(p, queue);
        uint32_t chunks = queue->peer >= 0 && reach_of(w, queue->peer, p->rank) == NEAR
                              ? w->links->fast_chunks
                              : 1;

        *h = (struct head){
            .op = queue->first_op, .meet = -1, .whole = least(chunks * p->chunk_bytes, longest)};
        h->piece = h->whole;
        s->order[q] = q;
        if (queue->peer >= 0 && longest / chunks > w->longest)
            w->longest = longest / chunks;
        if (queue->kind == PLAN_RECV_REDUCE) {
            h->stage = s->scratch_bytes;
            s->scratch_bytes += aligned(h->whole);
        }
    }
    for (uint32_t o = 0; o < p->nops; o++)
        w->left += p->ops[o].length;
    qsort_r(s->order, p->nqueues, sizeof *s->order, by_peer_and_tag, (void *)(uintptr_t)p);
    return 0;
}

/* Find for each queue of sends the queue at the peer. */
static int introduce(struct rounds_work *w)
{
    for (int r = 0; r < w->nranks; r++) {
        struct rounds_side *s = &w->side[r];

        for (uint32_t q = 0; q < s->plan->nqueues; q++) {
            const struct plan_queue *from = &s->plan->queues[q];
            const struct plan *p = from->kind == PLAN_SEND ? w->side[from->peer].plan : NULL;

            for (uint32_t k = 0; p && k < p->nqueues && s->head[q].meet < 0; k++)
                if (plan_receives(p->queues[k].kind) && p->queues[k].peer == r &&
                    p->queues[k].tag == from->tag)
                    s->head[q].meet = (int32_t)k;
            if (p && s->head[q].meet < 0)
                return -EINVAL;
        }
    }
    return 0;
}

/* The load of each rank's links, and their capacity in a round. */
static void weigh(struct rounds_work *w)
{
    for (int r = 0; r < w->nranks; r++) {
        struct rounds_side *s = &w->side[r];
        uint32_t peers = 0;

        for (int p = 0; p < w->nranks; p++)
            peers += p != r && reach_of(w, r, p) == NEAR;
        s->most[FAR] = s->plan->chunk_bytes;
        s->most[NEAR] = s->plan->chunk_bytes * w->links->fast_chunks * (peers ? peers : 1);
        for (uint32_t o = 0; o < s->plan->nops; o++) {
            const struct plan_queue *q = &s->plan->queues[s->plan->ops[o].queue];

            if (q->peer >= 0)
                s->left[q->kind == PLAN_SEND ? OUT : IN][reach_of(w, r, q->peer)] +=
                    s->plan->ops[o].length;
        }
    }
}

static int run(struct rounds_work *w)
{
    size_t queues = 1;
    int rc = introduce(w);

    for (int r = 0; r < w->nranks; r++)
        queues += w->side[r].plan->nqueues;
    w->ready = malloc(queues * sizeof *w->ready);
    rc = w->ready ? rc : -ENOMEM;
    weigh(w);
    if (!rc)
        rc = end_round(w, 0);
    while (!rc && w->left) {
        rc = run_round(w);
        if (!rc)
            rc = end_round(w, messages_seconds(w));
    }
    free(w->ready);
    return rc;
}

int rounds_build(const struct plan *const *plan, int nranks, int rank,
                 const struct rounds_links *links, struct rounds **rounds_p)
{
    struct rounds_work w = {.nranks = nranks, .rank = rank, .links = links};
    struct rounds *made = malloc(sizeof *made);
    uint64_t scratch = 0;
    int rc = 0;

    w.side = calloc((size_t)nranks, sizeof *w.side);
    if (!made || !w.side)
        rc = -ENOMEM;
    for (int r = 0; r < nranks && !rc; r++)
        rc = open_side(&w, &w.side[r], plan[r]);
    if (!rc)
        rc = run(&w);
    for (int r = 0; w.side && r < nranks; r++) {
        scratch = r == rank ? w.side[r].scratch_bytes : scratch;
        free(w.side[r].head);
        free(w.side[r].done);
        free(w.side[r].order);
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
                            .seconds = w.seconds + w.launch_s,
                            .launch_s = w.launch_s,
                            .whole_bytes = w.longest,
                            .chunk_bytes = plan[rank]->chunk_bytes,
                            .fast_chunks = links->fast_chunks,
                            .taper = links->taper,
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
