/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a chunk. On the host it is posted, lands, and is done or combined. If the buffers lie
 * on a device, a chunk travels by a cell of pinned memory. For a send, the device moves the chunk
 * there, and then it is posted. A received chunk lands in the cell, and the device moves or
 * combines it to its place. The cell takes a receive before its dependencies are done.
 */
#include "transports/engine/engine_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The chunk's place on one side of its operation. */
static char *place(const struct engine *e, uint8_t which, uint64_t offset, uint64_t from)
{
    return which == PLAN_NONE ? NULL : buffer(e, which) + offset + from;
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
    int host = plan_uses_host(&e->plan->ops[op]);

    e->done[op] = end;
    if (end < e->plan->ops[op].length)
        return;
    e->unfinished--;
    if (!--e->left[host] && e->buffers.part_done)
        e->buffers.part_done(e->buffers.part_context, host);
}

static int is_local(uint8_t kind)
{
    return kind == PLAN_COPY || kind == PLAN_REDUCE;
}

/* Is anything of it in device memory? Where an operation combines, all of it is or nothing. */
static int on_device(const struct engine *e, const struct plan_op *op)
{
    return e->buffers.device && ((op->src != PLAN_HOST && op->src != PLAN_NONE) ||
                                 (op->dst != PLAN_HOST && op->dst != PLAN_NONE));
}

static int is_celled(const struct engine *e, uint32_t q, const struct plan_op *op)
{
    const struct queue_run *run = &e->queue[q];

    if (is_local(e->plan->queues[q].kind))
        return 0;
    if (e->plan->queues[q].kind == PLAN_RECV_REDUCE)
        return run->bounces || on_device(e, op);
    return on_device(e, op) && !run->direct;
}

static char *cell_of(const struct queue_run *run, uint32_t slot)
{
    return run->cell + (slot - run->slot) * run->room;
}

int engine_fail(struct engine *e, int code)
{
    if (e->error)
        return 0;
    e->error = code;
    if (e->buffers.device)
        e->buffers.device->settle(e->buffers.device->state);
    return 0;
}

static int post_send(struct engine *e, uint32_t q, uint32_t slot)
{
    const struct plan_queue *pq = &e->plan->queues[q];
    struct engine_flight *f = &e->flight[slot];
    const struct plan_op *op = &e->plan->ops[f->op];
    const char *from = f->lent     ? f->lent
                       : f->celled ? cell_of(&e->queue[q], slot)
                                   : place(e, op->src, op->src_off, f->from);

    f->stage = STAGE_POSTED;
    if (e->error)
        return e->xport->send(e->xport->state, slot, e->sink, 0, pq->peer, pq->tag);
    return e->xport->send(e->xport->state, slot, from, f->end - f->from, pq->peer, pq->tag);
}

static int post_receive(struct engine *e, uint32_t q, uint32_t slot)
{
    const struct plan_queue *pq = &e->plan->queues[q];
    struct engine_flight *f = &e->flight[slot];
    const struct plan_op *op = &e->plan->ops[f->op];
    char *to = e->error    ? e->sink
               : f->celled ? cell_of(&e->queue[q], slot)
                           : place(e, op->dst, op->dst_off, f->from);

    f->stage = STAGE_POSTED;
    if (f->celled && on_device(e, op) && e->xport->recv_lent)
        return e->xport->recv_lent(e->xport->state, slot, to, f->end - f->from, pq->peer, pq->tag);
    if (e->error || f->celled || pq->kind == PLAN_RECV)
        return e->xport->recv(e->xport->state, slot, to, f->end - f->from, pq->peer, pq->tag);
    return e->xport->recv_reduce(
        e->xport->state, slot,
        &(struct xport_reduce){.combine = e->buffers.combine,
                               .context = e->buffers.combine_context,
                               .grain = e->buffers.grain,
                               .own = place(e, op->src, op->src_off, f->from),
                               .dst = to,
                               .length = f->end - f->from},
        pq->peer, pq->tag);
}

/* Have the device do the part of a chunk that is its own. Returns its code. */
static int start_job(struct engine *e, uint32_t q, uint32_t slot)
{
    struct device *d = e->buffers.device;
    struct engine_flight *f = &e->flight[slot];
    const struct plan_op *op = &e->plan->ops[f->op];
    char *src = place(e, op->src, op->src_off, f->from), *cell = NULL;
    char *dst = place(e, op->dst, op->dst_off, f->from);
    size_t n = f->end - f->from;

    f->stage = STAGE_MOVING;
    if (f->celled)
        cell = f->lent ? (char *)(uintptr_t)f->lent : cell_of(&e->queue[q], slot);
    switch ((enum plan_kind)e->plan->queues[q].kind) {
    case PLAN_SEND:
        return d->copy(d->state, cell, src, n, &f->job);
    case PLAN_RECV:
        return d->copy(d->state, dst, cell, n, &f->job);
    case PLAN_COPY:
        return d->copy(d->state, dst, src, n, &f->job);
    case PLAN_REDUCE:
        return d->combine(d->state, dst, src, dst, n, &f->job);
    case PLAN_RECV_REDUCE:
        return d->combine(d->state, src, cell, dst, n, &f->job);
    case PLAN_KINDS:
        break;
    }
    return -EINVAL;
}

static void combine(struct engine *e, const char *own, const char *other, char *dst, size_t bytes)
{
    e->buffers.combine(e->buffers.combine_context, own, other, dst, bytes);
}

static void work_locally(struct engine *e, uint8_t kind, const struct engine_flight *f)
{
    const struct plan_op *op = &e->plan->ops[f->op];
    char *src = place(e, op->src, op->src_off, f->from);
    char *dst = place(e, op->dst, op->dst_off, f->from);

    if (kind == PLAN_REDUCE)
        combine(e, dst, src, dst, f->end - f->from);
    else if (src != dst)
        memcpy(dst, src, f->end - f->from);
}

/* The slot's place in the device's window, if the peer's device can read it there; else NULL. */
static const char *lend(const struct engine *e, uint32_t q, uint32_t slot, size_t bytes)
{
    const struct plan_queue *pq = &e->plan->queues[q];
    const struct queue_run *run = &e->queue[q];
    size_t at = run->lent_at + (slot - run->slot) * run->room;

    if (!e->window || at + bytes > e->window_bytes || !e->xport->lends ||
        !e->xport->lends(e->xport->state, pq->peer, pq->tag))
        return NULL;
    return e->window + at;
}

/* Start chunk [from, end) of an operation. */
static int start(struct engine *e, uint32_t q, uint32_t op_index, uint64_t from, uint64_t end)
{
    uint8_t kind = e->plan->queues[q].kind;
    const struct plan_op *op = &e->plan->ops[op_index];
    struct queue_run *run = &e->queue[q];
    uint32_t slot = run->slot + (run->first + run->flying) % run->depth;
    struct engine_flight *f = &e->flight[slot];

    *f = (struct engine_flight){
        .op = op_index, .from = from, .end = end, .celled = is_celled(e, q, op)};
    if (is_local(kind) && (e->error || !on_device(e, op))) {
        if (!e->error)
            work_locally(e, kind, f);
        finish(e, op_index, end);
        return 0;
    }
    run->flying++;
    if (kind == PLAN_SEND && f->celled)
        f->lent = lend(e, q, slot, end - from);
    if (plan_receives(kind))
        return post_receive(e, q, slot);
    if (e->error || (kind == PLAN_SEND && !f->celled))
        return post_send(e, q, slot);
    int rc = start_job(e, q, slot);
    return rc ? engine_fail(e, rc) : 0;
}

/* Local work of a queue is done in order; a device promises that only within one direction. Once
   the call has failed, the order does not matter. */
static int may_follow(const struct engine *e, struct queue_run *run, const struct plan_op *op)
{
    int way = !e->buffers.device ? 0 : (op->src == PLAN_HOST) << 1 | (op->dst == PLAN_HOST);

    if (run->flying && (e->error || way != run->way))
        return 0;
    run->way = way;
    return 1;
}

int engine_pump(struct engine *e, uint32_t q, int *moved)
{
    struct queue_run *run = &e->queue[q];
    uint8_t kind = e->plan->queues[q].kind;

    while (run->next_op < run->last_op && run->flying < run->depth) {
        const struct plan_op *op = &e->plan->ops[run->next_op];
        uint64_t from = run->posted, end = from + e->plan->chunk_bytes;
        int ahead = plan_receives(kind) && is_celled(e, q, op);

        if (end > op->length)
            end = op->length;
        if ((is_local(kind) && !may_follow(e, run, op)) || (!ahead && !ready(e, op, end)))
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
        if (is_local(kind)) /* a chunk of each queue in turn: on a device too, they share its bus */
            break;
    }
    return 0;
}

/* A chunk is in its cell: bring it to its place once its dependencies are done. */
static int bring_home(struct engine *e, uint32_t q, uint32_t slot, int *moved)
{
    struct engine_flight *f = &e->flight[slot];
    const struct plan_op *op = &e->plan->ops[f->op];

    if (!ready(e, op, f->end))
        return 0;
    *moved = 1;
    if (on_device(e, op)) {
        int rc = start_job(e, q, slot);
        return rc ? engine_fail(e, rc) : 0;
    }
    combine(e, place(e, op->src, op->src_off, f->from), cell_of(&e->queue[q], slot),
            place(e, op->dst, op->dst_off, f->from), f->end - f->from);
    f->stage = STAGE_DONE;
    return 0;
}

/* A received chunk is where it belongs, or will never be. */
static void end_flight(struct engine *e, struct engine_flight *f, uint32_t slot)
{
    f->stage = f->lent ? STAGE_RETURNING : STAGE_DONE;
    if (f->lent)
        e->xport->give_back(e->xport->state, slot);
}

/* Is a chunk's job done? Then the next step follows. */
static int ask(struct engine *e, uint32_t q, uint32_t slot)
{
    struct device *d = e->buffers.device;
    struct engine_flight *f = &e->flight[slot];
    int rc = d->test(d->state, f->job);

    if (rc < 0)
        return engine_fail(e, rc);
    if (rc == 0)
        return 0;
    if (e->plan->queues[q].kind == PLAN_SEND)
        return post_send(e, q, slot);
    end_flight(e, f, slot);
    return 0;
}

/* The call has failed: nothing is moved any more. */
static int give_up(struct engine *e, uint32_t q, uint32_t slot)
{
    struct engine_flight *f = &e->flight[slot];

    if (f->stage == STAGE_MOVING && e->plan->queues[q].kind == PLAN_SEND)
        return post_send(e, q, slot);
    if (f->stage == STAGE_MOVING || f->stage == STAGE_LANDED)
        end_flight(e, f, slot);
    return 0;
}

static void let_go(struct engine *e, struct queue_run *run, int *moved)
{
    for (; run->flying; run->flying--) {
        const struct engine_flight *oldest = &e->flight[run->slot + run->first % run->depth];
        if (oldest->stage != STAGE_DONE)
            break;
        finish(e, oldest->op, oldest->end);
        run->first++;
        *moved = 1;
    }
}

int engine_attend(struct engine *e, uint32_t q, int *moved)
{
    struct queue_run *run = &e->queue[q];
    int rc = 0, behind = 0; /* a job before this one is not done, so neither is it */

    for (uint32_t i = 0; !rc && i < run->flying; i++) {
        uint32_t slot = run->slot + (run->first + i) % run->depth;
        struct engine_flight *f = &e->flight[slot];

        if (!e->error && f->stage == STAGE_LANDED)
            rc = bring_home(e, q, slot, moved);
        if (!rc && !e->error && !behind && f->stage == STAGE_MOVING)
            rc = ask(e, q, slot);
        if (!rc && e->error)
            rc = give_up(e, q, slot);
        behind |= f->stage == STAGE_MOVING;
    }
    if (!rc)
        let_go(e, run, moved);
    return rc;
}

void engine_land(struct engine *e, uint32_t q, uint32_t slot, int lent)
{
    struct engine_flight *f = &e->flight[slot];
    int moved = 0;

    if (lent)
        f->lent = e->xport->lent(e->xport->state, slot);
    if (f->stage == STAGE_POSTED && f->celled && plan_receives(e->plan->queues[q].kind))
        f->stage = STAGE_LANDED;
    else
        f->stage = STAGE_DONE;
    if (!e->queue[q].attended)
        let_go(e, &e->queue[q], &moved);
}
