/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine keeps, per queue, a small window of chunks in flight, and per operation
 * how many bytes from its start are done. That number is all that dependencies look at,
 * so completions that arrive out of order inside a window are held back until the ones
 * before them are in.
 *
 * Receives have the wider window: a message that finds its receive posted is written to
 * its place at once, and a send window of a few chunks already keeps a link busy.
 *
 * A receive that combines is posted into a bounce buffer of the engine's, ahead of its
 * dependencies like any other, and combined once it has landed and they are done. Where the
 * transport combines by itself, it is posted when they are done.
 */
#include "transports/engine.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SEND_WINDOW = 4, RECV_WINDOW = 8, BOUNCE_WINDOW = 4 };

/* A chunk in flight. */
struct flight {
    uint32_t op;
    int landed;
    uint64_t from;
    uint64_t end; /* bytes of the operation that are done once this has landed */
};

struct queue_run {
    uint32_t next_op; /* to be posted next, index into the plan's operations */
    uint32_t last_op; /* one past the queue's last */
    uint64_t posted;  /* bytes of next_op that have been posted */
    uint32_t first;   /* oldest flight, counted on and on; its place is first % window */
    uint32_t flying;
    uint32_t window;
    uint32_t slot;      /* the queue's first slot */
    size_t bounce_room; /* bytes of a chunk that lands in a bounce buffer, or 0 */
    char *bounce;       /* [window * bounce_room] inside the engine's */
};

struct engine {
    const struct plan *plan; /* borrowed */
    struct xport *xport;     /* borrowed */
    struct engine_buffers buffers;
    struct queue_run *queue; /* [nqueues] owned */
    uint32_t *busy;          /* [nbusy] owned: queues with something left to post */
    uint64_t *done;          /* [nops] owned: bytes done of each operation */
    struct flight *flight;   /* [nslots] owned */
    uint32_t *queue_of;      /* [nslots] owned: the queue of a slot */
    char *bounce;            /* [bounce_bytes] owned during a call */
    size_t bounce_bytes;
    unsigned *completed; /* [nslots] owned: what the transport reports */
    uint32_t nbusy, nslots;
    uint32_t unfinished; /* operations */
};

static uint32_t window_of(enum plan_kind kind)
{
    static const uint32_t window[PLAN_KINDS] = {[PLAN_SEND] = SEND_WINDOW,
                                                [PLAN_RECV] = RECV_WINDOW,
                                                [PLAN_COPY] = 0,
                                                [PLAN_REDUCE] = 0,
                                                [PLAN_RECV_REDUCE] = BOUNCE_WINDOW};

    return window[kind];
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    free(e->queue);
    free(e->busy);
    free(e->done);
    free(e->flight);
    free(e->queue_of);
    free(e->completed);
    free(e->bounce);
    free(e);
}

/* Bytes of the largest chunk of a queue. */
static size_t largest_chunk(const struct plan *p, const struct plan_queue *q)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < q->nops; i++)
        if (p->ops[q->first_op + i].length > most)
            most = p->ops[q->first_op + i].length;
    return most < p->chunk_bytes ? most : p->chunk_bytes;
}

/* Does the queue need bounce buffers, and of what size? */
static size_t bounce_room(const struct engine *e, const struct plan_queue *q)
{
    const struct xport *x = e->xport;

    if (q->kind != PLAN_RECV_REDUCE || (x->reduces && x->reduces(x->state, q->peer, q->lane)))
        return 0;
    return (largest_chunk(e->plan, q) + 63) & ~(size_t)63;
}

int engine_create(const struct plan *plan, struct xport *xport, struct engine **engine_p)
{
    struct engine *e = calloc(1, sizeof *e);

    if (!e)
        return -ENOMEM;
    e->plan = plan;
    e->xport = xport;
    for (uint32_t q = 0; q < plan->nqueues; q++)
        e->nslots += window_of(plan->queues[q].kind);
    e->queue = calloc(plan->nqueues + 1u, sizeof *e->queue);
    e->busy = calloc(plan->nqueues + 1u, sizeof *e->busy);
    e->done = calloc(plan->nops + 1u, sizeof *e->done);
    e->flight = calloc(e->nslots + 1u, sizeof *e->flight);
    e->queue_of = calloc(e->nslots + 1u, sizeof *e->queue_of);
    e->completed = calloc(e->nslots + 1u, sizeof *e->completed);
    if (!e->queue || !e->busy || !e->done || !e->flight || !e->queue_of || !e->completed) {
        engine_free(e);
        return -ENOMEM;
    }
    uint32_t slot = 0;
    for (uint32_t q = 0; q < plan->nqueues; q++) {
        e->queue[q].window = window_of(plan->queues[q].kind);
        e->queue[q].slot = slot;
        e->queue[q].bounce_room = bounce_room(e, &plan->queues[q]);
        e->bounce_bytes += e->queue[q].window * e->queue[q].bounce_room;
        for (uint32_t i = 0; i < e->queue[q].window; i++)
            e->queue_of[slot++] = q;
    }
    *engine_p = e;
    return 0;
}

int engine_begin(struct engine *e, const struct engine_buffers *buffers)
{
    const struct plan *p = e->plan;
    int rc = e->xport->reserve(e->xport->state, e->nslots);

    if (rc)
        return rc;
    if (e->bounce_bytes && !e->bounce && !(e->bounce = aligned_alloc(64, e->bounce_bytes)))
        return -ENOMEM;
    e->buffers = *buffers;
    e->unfinished = p->nops;
    memset(e->done, 0, p->nops * sizeof *e->done);
    e->nbusy = 0;
    size_t bounce = 0;
    for (uint32_t q = 0; q < p->nqueues; q++) {
        struct queue_run *run = &e->queue[q];
        run->bounce = e->bounce + bounce;
        bounce += run->window * run->bounce_room;
        run->next_op = p->queues[q].first_op;
        run->last_op = run->next_op + p->queues[q].nops;
        run->posted = 0;
        run->first = run->flying = 0;
        e->busy[e->nbusy++] = q;
    }
    return 0;
}

/* Input is only ever read, but shares the type with buffers that are written. */
static char *buffer(const struct engine *e, uint8_t which)
{
    switch ((enum plan_buffer)which) {
    case PLAN_INPUT:
        return (char *)(uintptr_t)e->buffers.input;
    case PLAN_OUTPUT:
        return e->buffers.output;
    case PLAN_SCRATCH:
        return e->buffers.scratch;
    case PLAN_HOST:
        return e->buffers.host;
    case PLAN_NONE:
        break;
    }
    return NULL;
}

static int ready(const struct engine *e, const struct plan_op *op, uint64_t end)
{
    for (uint32_t d = 0; d < op->ndeps; d++) {
        uint32_t dep = e->plan->deps[op->first_dep + d];
        if (e->done[dep] < e->plan->ops[dep].length &&
            e->done[dep] < plan_dep_need(op, end, &e->plan->ops[dep]))
            return 0;
    }
    return 1;
}

/* Bytes [.., end) of an operation are done. */
static void finish(struct engine *e, uint32_t op, uint64_t end)
{
    e->done[op] = end;
    e->unfinished -= end == e->plan->ops[op].length;
}

static void combine(struct engine *e, const char *own, const char *other, char *dst, size_t bytes)
{
    e->buffers.combine(e->buffers.combine_context, own, other, dst, bytes);
}

/* The chunk's place on one side of its operation. */
static char *place(const struct engine *e, uint8_t which, uint64_t offset, uint64_t from)
{
    return which == PLAN_NONE ? NULL : buffer(e, which) + offset + from;
}

/* A chunk is in its bounce buffer: combine it if its dependencies are done. */
static int combine_bounced(struct engine *e, const struct queue_run *run, const struct flight *f)
{
    const struct plan_op *op = &e->plan->ops[f->op];

    if (!ready(e, op, f->end))
        return 0;
    combine(e, place(e, op->src, op->src_off, f->from),
            run->bounce + run->first % run->window * run->bounce_room,
            place(e, op->dst, op->dst_off, f->from), f->end - f->from);
    return 1;
}

/* Let everything land that is complete and has nothing before it in flight. Returns how much. */
static int land(struct engine *e, struct queue_run *run)
{
    int n = 0;

    for (; run->flying; n++) {
        const struct flight *oldest = &e->flight[run->slot + run->first % run->window];
        if (!oldest->landed || (run->bounce_room && !combine_bounced(e, run, oldest)))
            break;
        finish(e, oldest->op, oldest->end);
        run->first++;
        run->flying--;
    }
    return n;
}

/* Start chunk [from, end) of an operation. */
static int start(struct engine *e, uint32_t q, uint32_t op_index, uint64_t from, uint64_t end)
{
    const struct plan_queue *pq = &e->plan->queues[q];
    const struct plan_op *op = &e->plan->ops[op_index];
    struct queue_run *run = &e->queue[q];
    char *src = place(e, op->src, op->src_off, from), *dst = place(e, op->dst, op->dst_off, from);

    if (!run->window) {
        if (pq->kind == PLAN_REDUCE)
            combine(e, dst, src, dst, end - from);
        else if (src != dst)
            memcpy(dst, src, end - from);
        finish(e, op_index, end);
        return 0;
    }
    uint32_t slot = run->slot + (run->first + run->flying) % run->window;
    e->flight[slot] = (struct flight){.op = op_index, .from = from, .end = end};
    run->flying++;
    if (pq->kind == PLAN_SEND)
        return e->xport->send(e->xport->state, slot, src, end - from, pq->peer, pq->lane);
    if (run->bounce_room)
        dst = run->bounce + (slot - run->slot) * run->bounce_room;
    else if (pq->kind == PLAN_RECV_REDUCE)
        return e->xport->recv_reduce(e->xport->state, slot,
                                     &(struct xport_reduce){.combine = e->buffers.combine,
                                                            .context = e->buffers.combine_context,
                                                            .grain = e->buffers.grain,
                                                            .own = src,
                                                            .dst = dst,
                                                            .length = end - from},
                                     pq->peer, pq->lane);
    return e->xport->recv(e->xport->state, slot, dst, end - from, pq->peer, pq->lane);
}

/*
 * Post what a queue can post now; *moved is set if that was anything. Local work is done a
 * chunk at a time, so that a long copy never keeps the links waiting.
 */
static int pump(struct engine *e, uint32_t q, int *moved)
{
    struct queue_run *run = &e->queue[q];

    while (run->next_op < run->last_op && (!run->window || run->flying < run->window)) {
        const struct plan_op *op = &e->plan->ops[run->next_op];
        uint64_t from = run->posted, end = from + e->plan->chunk_bytes;

        if (end > op->length)
            end = op->length;
        if (!run->bounce_room && !ready(e, op, end))
            break;
        int rc = start(e, q, run->next_op, from, end);
        if (rc)
            return rc;
        *moved = 1;
        run->posted = end;
        if (end == op->length) {
            run->next_op++;
            run->posted = 0;
        }
        if (!run->window)
            break;
    }
    return 0;
}

static int poll_transport(struct engine *e, int *moved)
{
    unsigned ndone = 0;
    int rc = e->xport->poll(e->xport->state, e->completed, &ndone);

    for (unsigned i = 0; i < ndone; i++) {
        e->flight[e->completed[i]].landed = 1;
        land(e, &e->queue[e->queue_of[e->completed[i]]]);
    }
    *moved |= ndone > 0;
    return rc;
}

int engine_step(struct engine *e, enum engine_state *state)
{
    int moved = 0, rc = 0;

    for (uint32_t i = 0; !rc && i < e->nbusy;) {
        uint32_t q = e->busy[i];
        struct queue_run *run = &e->queue[q];
        if (run->bounce_room)
            moved |= land(e, run) > 0;
        rc = pump(e, q, &moved);
        if (run->next_op == run->last_op && !(run->bounce_room && run->flying))
            e->busy[i] = e->busy[--e->nbusy];
        else
            i++;
    }
    if (!rc && e->unfinished)
        rc = poll_transport(e, &moved);
    if (rc)
        e->xport->abandon(e->xport->state);
    *state = rc || !e->unfinished ? ENGINE_DONE : moved ? ENGINE_MOVED : ENGINE_IDLE;
    if (*state == ENGINE_DONE) {
        free(e->bounce);
        e->bounce = NULL;
    }
    return rc;
}

int engine_run(struct engine *e, const struct engine_buffers *buffers)
{
    enum engine_state state = ENGINE_MOVED;
    int rc = engine_begin(e, buffers);

    while (!rc && state != ENGINE_DONE) {
        if (state == ENGINE_IDLE)
            sched_yield();
        rc = engine_step(e, &state);
    }
    return rc;
}
