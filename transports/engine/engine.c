/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Per queue the engine keeps a few chunks in flight. Per operation it knows how many bytes from its
 * start are done. That number is all that dependencies look at, so completions that arrive out of
 * order are held back until the ones before them are in.
 *
 * The depth is how many chunks of a queue are in flight. Receives have the larger depth: a message
 * that finds its receive posted is written to its place at once. A few chunks of a send queue
 * already keep a link busy. Chunks that travel by cells need a depth of three: one moves, one is on
 * the link, one is between.
 *
 * A receive that combines is posted into a cell, ahead of its dependencies like any other, and
 * combined once it has landed and they are done. Where the transport combines by itself, it is
 * posted when they are done.
 *
 * A rank whose device fails, or that has failed before the call, must not leave the others waiting:
 * it goes through its schedule to the end without moving data, and sends empty messages. A rank
 * that receives one has failed too. So has a rank that receives a message of another length than
 * its plan says: the ranks' calls differ in their sizes.
 */
#include "transports/engine/engine.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "transports/engine/engine_state.h"
#include "transports/engine/sink.h"

enum { SEND_DEPTH = 4, RECV_DEPTH = 8, BOUNCE_DEPTH = 4, LOCAL_DEPTH = 4, DEVICE_DEPTH = 3 };

static uint32_t slots_of(enum plan_kind kind)
{
    static const uint32_t depth[PLAN_KINDS] = {[PLAN_SEND] = SEND_DEPTH,
                                               [PLAN_RECV] = RECV_DEPTH,
                                               [PLAN_COPY] = LOCAL_DEPTH,
                                               [PLAN_REDUCE] = LOCAL_DEPTH,
                                               [PLAN_RECV_REDUCE] = BOUNCE_DEPTH};

    return depth[kind];
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

static int is_host_alone(const struct plan *p, const struct plan_queue *q)
{
    for (uint32_t i = 0; i < q->nops; i++)
        if (!plan_uses_host(&p->ops[q->first_op + i]))
            return 0;
    return 1;
}

static void set_up_queue(struct engine *e, uint32_t q, uint32_t slot)
{
    const struct plan_queue *pq = &e->plan->queues[q];
    const struct xport *x = e->xport;
    struct queue_run *run = &e->queue[q];

    run->slot = slot;
    run->room = (largest_chunk(e->plan, pq) + 63) & ~(size_t)63;
    run->host_alone = is_host_alone(e->plan, pq);
    run->bounces =
        pq->kind == PLAN_RECV_REDUCE && !(x->reduces && x->reduces(x->state, pq->peer, pq->tag));
    run->direct = pq->peer >= 0 && x->moves_device && x->moves_device(x->state, pq->peer, pq->tag);
    for (uint32_t i = 0; i < slots_of(pq->kind); i++)
        e->queue_of[slot + i] = q;
}

int engine_create(const struct plan *plan, struct xport *xport, struct engine **engine_p)
{
    struct engine *e = calloc(1, sizeof *e);

    if (!e)
        return -ENOMEM;
    e->plan = plan;
    e->xport = xport;
    for (uint32_t q = 0; q < plan->nqueues; q++)
        e->nslots += slots_of(plan->queues[q].kind);
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
        set_up_queue(e, q, slot);
        slot += slots_of(plan->queues[q].kind);
    }
    size_t most = 1;
    for (uint32_t q = 0; q < plan->nqueues; q++)
        if (e->queue[q].room > most)
            most = e->queue[q].room;
    e->sink = sink_get(most);
    if (!e->sink) {
        engine_free(e);
        return -ENOMEM;
    }
    for (uint32_t op = 0; op < plan->nops; op++)
        e->parts[plan_uses_host(&plan->ops[op])]++;
    *engine_p = e;
    return 0;
}

/* The depth of each queue, and the bytes of all cells. */
static size_t set_depths(struct engine *e)
{
    size_t total = 0;

    for (uint32_t q = 0; q < e->plan->nqueues; q++) {
        uint8_t kind = e->plan->queues[q].kind;
        struct queue_run *run = &e->queue[q];
        int local = kind == PLAN_COPY || kind == PLAN_REDUCE, on_device = !!e->buffers.device;

        run->attended = run->bounces || on_device;
        run->depth = local && !on_device                                    ? 1
                     : !local && on_device && slots_of(kind) > DEVICE_DEPTH ? DEVICE_DEPTH
                                                                            : slots_of(kind);
        run->cell = NULL;
        run->celled = !local && (run->bounces || (on_device && !run->host_alone));
        if (run->celled)
            total += run->depth * run->room;
    }
    return total;
}

/* Host memory for the cells. */
static int reserve_cells(struct engine *e, size_t bytes)
{
    if (bytes && !e->bounce)
        e->bounce = aligned_alloc(64, bytes);
    return bytes && !e->bounce ? -ENOMEM : 0;
}

static int get_cells(struct engine *e)
{
    size_t bytes = set_depths(e);
    struct device *d = e->buffers.device;
    size_t lent = 0;
    char *cell;

    if (!bytes)
        return 0;
    if (!d && reserve_cells(e, bytes))
        return -ENOMEM;
    cell = d ? d->cells(d->state, bytes) : e->bounce;
    if (!cell)
        return -ENOMEM;
    for (uint32_t q = 0; q < e->plan->nqueues; q++) {
        struct queue_run *run = &e->queue[q];

        if (!run->celled)
            continue;
        run->cell = cell;
        cell += run->depth * run->room;
        run->lent_at = lent;
        if (e->plan->queues[q].kind == PLAN_SEND)
            lent += run->depth * run->room;
    }
    return 0;
}

/* May the peers' devices read what this rank sends? */
static void get_window(struct engine *e)
{
    struct device *d = e->buffers.device;
    struct device_window w;

    e->window = NULL;
    if (!e->xport->use_device)
        return;
    e->xport->use_device(e->xport->state, d);
    if (d && d->window && (e->window = d->window(d->state, &w)))
        e->window_bytes = w.bytes;
}

int engine_begin(struct engine *e, const struct engine_buffers *buffers)
{
    const struct plan *p = e->plan;
    int rc = e->xport->reserve(e->xport->state, e->nslots);

    if (rc)
        return rc;
    e->buffers = *buffers;
    e->unfinished = p->nops;
    memcpy(e->left, e->parts, sizeof e->left);
    e->error = 0;
    memset(e->done, 0, p->nops * sizeof *e->done);
    e->nbusy = 0;
    for (uint32_t q = 0; q < p->nqueues; q++) {
        struct queue_run *run = &e->queue[q];
        run->next_op = p->queues[q].first_op;
        run->last_op = run->next_op + p->queues[q].nops;
        run->posted = 0;
        run->first = run->flying = 0;
        e->busy[e->nbusy++] = q;
    }
    rc = get_cells(e);
    get_window(e);
    if (buffers->failed)
        rc = buffers->failed;
    return rc ? engine_fail(e, rc) : 0;
}

static void tell_landed(const struct engine *e, uint32_t q)
{
    const struct plan_queue *pq = &e->plan->queues[q];

    if (plan_receives(pq->kind))
        e->buffers.landed(e->buffers.landed_context, pq->peer);
}

static int poll_transport(struct engine *e, int *moved)
{
    unsigned ndone = 0;
    int rc = e->xport->poll(e->xport->state, e->completed, &ndone);

    for (unsigned i = 0; i < ndone; i++) {
        uint32_t slot = e->completed[i] & ~XPORT_FLAGS;

        if (!rc && e->completed[i] & XPORT_FAILED)
            rc = engine_fail(e, -EIO);
        if (!rc && e->completed[i] & XPORT_UNEQUAL)
            rc = engine_fail(e, -EMSGSIZE);
        engine_land(e, e->queue_of[slot], slot, (e->completed[i] & XPORT_LENT) != 0);
        if (e->buffers.landed)
            tell_landed(e, e->queue_of[slot]);
    }
    *moved |= ndone > 0;
    return rc;
}

static void end_call(struct engine *e)
{
    if (e->keeps)
        return;
    free(e->bounce);
    e->bounce = NULL;
}

int engine_step(struct engine *e, enum engine_state *state)
{
    int moved = 0, rc = 0;

    for (uint32_t i = 0; !rc && i < e->nbusy;) {
        uint32_t q = e->busy[i];
        struct queue_run *run = &e->queue[q];
        if (run->attended && run->flying)
            rc = engine_attend(e, q, &moved);
        if (!rc)
            rc = engine_pump(e, q, &moved);
        if (run->next_op == run->last_op && !(run->attended && run->flying))
            e->busy[i] = e->busy[--e->nbusy];
        else
            i++;
    }
    if (!rc && e->unfinished)
        rc = poll_transport(e, &moved);
    if (rc)
        e->xport->abandon(e->xport->state);
    *state = rc || !e->unfinished ? ENGINE_DONE : moved ? ENGINE_MOVED : ENGINE_IDLE;
    if (*state == ENGINE_DONE)
        end_call(e);
    return rc || *state != ENGINE_DONE ? rc : e->error;
}

int engine_reserve(struct engine *e, int for_good)
{
    int rc = e->xport->reserve(e->xport->state, e->nslots);

    e->buffers.device = NULL;
    e->keeps |= for_good;
    return rc ? rc : reserve_cells(e, set_depths(e));
}

int engine_run(struct engine *e, const struct engine_buffers *buffers)
{
    enum engine_state state = ENGINE_MOVED;
    unsigned idle = 0;
    int rc = engine_begin(e, buffers);

    while (!rc && state != ENGINE_DONE) {
        idle = state == ENGINE_IDLE ? idle + 1 : 0;
        if (idle > e->xport->patience)
            sched_yield();
        rc = engine_step(e, &state);
    }
    return rc;
}
