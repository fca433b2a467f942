/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker runs the plans of all ranks symbolically. A chunk crosses when the heads of a send
 * queue and of its receive queue are both ready: a transport that buffers nothing. Readiness only
 * ever grows, so if this run ends, every run with more buffering ends. Hazards are ordered, so
 * every run gives this result.
 */
#include "planners/check/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "planners/check/check_hazard.h"
#include "planners/check/check_meaning.h"
#include "planners/check/check_value.h"

struct cursor {
    uint32_t op;   /* index into the queue's operations */
    uint64_t done; /* bytes of that operation */
};

struct rank_state {
    const struct plan *plan;
    struct cursor *cursor; /* [nqueues] owned */
    uint64_t *done;        /* [nops] owned: bytes of each operation */
    int64_t *partner;      /* [nqueues] owned: a send queue's receive queue at the peer */
    struct check_buffer buffer[PLAN_NONE];
};

/* In a buffer: places and their differences are 64 bits, with a sign. */
#define MOST_BYTES ((uint64_t)1 << 62)

struct checker {
    const struct plan_request *q;
    struct rank_state *rank; /* [nranks] owned */
    struct check_sets sets;
    struct check_buffer moved, mixed; /* the bytes under way */
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int fail(struct checker *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->why, c->why_size, format, args);
    va_end(args);
    return -EINVAL;
}

/* The head of a queue, or NULL when the queue is finished. */
static const struct plan_op *head(const struct rank_state *r, uint32_t queue)
{
    const struct plan_queue *q = &r->plan->queues[queue];

    if (r->cursor[queue].op >= q->nops)
        return NULL;
    return &r->plan->ops[q->first_op + r->cursor[queue].op];
}

static uint64_t chunk_end(const struct rank_state *r, uint32_t queue, const struct plan_op *op)
{
    uint64_t end = r->cursor[queue].done + r->plan->chunk_bytes;

    return end < op->length ? end : op->length;
}

static int ready(const struct rank_state *r, const struct plan_op *op, uint64_t end)
{
    for (uint32_t d = 0; d < op->ndeps; d++) {
        uint32_t dep = r->plan->deps[op->first_dep + d];
        if (r->done[dep] < plan_dep_need(op, end, &r->plan->ops[dep]))
            return 0;
    }
    return 1;
}

static void advance(struct rank_state *r, uint32_t queue, const struct plan_op *op, uint64_t end)
{
    struct cursor *at = &r->cursor[queue];

    r->done[op - r->plan->ops] = end;
    at->done = end;
    if (end == op->length)
        *at = (struct cursor){.op = at->op + 1};
}

/* Read the chunk [from, to) of an operation's source into c->moved. */
static int take(struct checker *c, int rank, const struct plan_op *op, uint64_t from, uint64_t to)
{
    struct rank_state *r = &c->rank[rank];
    uint64_t hole;
    int rc = check_buffer_read(&r->buffer[op->src], op->src_off + from, op->src_off + to, &c->moved,
                               &hole);

    if (rc == -ENODATA)
        return fail(c, "rank %d: operation %u reads byte %llu of %s before it is written", rank,
                    (unsigned)(op - r->plan->ops), (unsigned long long)hole,
                    plan_buffer_name(op->src));
    return rc;
}

/* The own operand of a combining operation: the destination, or a fused receive's source. */
static const struct check_buffer *own_operand(const struct rank_state *r, const struct plan_op *op,
                                              uint64_t *from)
{
    int fused = r->plan->queues[op->queue].kind == PLAN_RECV_REDUCE;

    *from = fused ? op->src_off : op->dst_off;
    return &r->buffer[fused ? op->src : op->dst];
}

/* Combine c->moved, which has the positions of the destination, with the own operand: the new value
   is in c->moved. */
static int mix(struct checker *c, int rank, const struct plan_op *op, uint64_t at)
{
    struct rank_state *r = &c->rank[rank];
    struct check_buffer result = {0};
    uint64_t from;
    const struct check_buffer *own = own_operand(r, op, &from);
    int rc = 0;

    for (uint32_t m = 0; !rc && m < c->moved.count; m++) {
        struct check_span in = c->moved.span[m];
        uint64_t hole;

        rc = check_buffer_read(own, in.from - at + from, in.to - at + from, &c->mixed, &hole);
        if (rc == -ENODATA)
            rc = fail(c, "rank %d: operation %u reduces into byte %llu before it is written", rank,
                      (unsigned)(op - r->plan->ops), (unsigned long long)hole);
        for (uint32_t i = 0; !rc && i < c->mixed.count; i++) {
            struct check_span *there = &c->mixed.span[i];
            there->from += at - from;
            there->to += at - from;
            there->shift += (int64_t)(from - at);
            int64_t joined = check_sets_join(&c->sets, there->set, in.set);
            if (there->shift != in.shift)
                rc = fail(c,
                          "rank %d: operation %u reduces bytes that do not belong together, at "
                          "byte %llu",
                          rank, (unsigned)(op - r->plan->ops),
                          (unsigned long long)(there->from - at));
            else if (joined == -EEXIST)
                rc = fail(c, "rank %d: operation %u adds rank %d's contribution a second time",
                          rank, (unsigned)(op - r->plan->ops),
                          check_sets_shared(&c->sets, there->set, in.set));
            else if (joined < 0)
                rc = (int)joined;
            else {
                there->set = (uint32_t)joined;
                rc = check_buffer_write(&result, there->from, there->to, there, 1);
            }
        }
    }
    check_buffer_free(&c->moved);
    c->moved = result;
    return rc;
}

/* Store c->moved, read from `origin` on, as chunk [from, to) of the operation's destination. */
static int put(struct checker *c, int rank, const struct plan_op *op, uint64_t origin,
               uint64_t from, uint64_t to)
{
    struct rank_state *r = &c->rank[rank];
    uint64_t at = op->dst_off + from;

    for (uint32_t i = 0; i < c->moved.count; i++) {
        struct check_span *s = &c->moved.span[i];
        s->shift += (int64_t)(origin - at);
        s->from += at - origin;
        s->to += at - origin;
    }
    uint8_t kind = r->plan->queues[op->queue].kind;
    if (kind == PLAN_REDUCE || kind == PLAN_RECV_REDUCE) {
        int rc = mix(c, rank, op, op->dst_off);
        if (rc)
            return rc;
    }
    return check_buffer_write(&r->buffer[op->dst], at, op->dst_off + to, c->moved.span,
                              c->moved.count);
}

/* Run one chunk at the head of a queue. 1: moved, 0: cannot yet, or an error. */
static int try_chunk(struct checker *c, int rank, uint32_t queue)
{
    struct rank_state *r = &c->rank[rank];
    const struct plan_queue *q = &r->plan->queues[queue];
    const struct plan_op *op = head(r, queue);

    if (!op || plan_receives(q->kind))
        return 0;
    uint64_t from = r->cursor[queue].done, end = chunk_end(r, queue, op);
    if (!ready(r, op, end))
        return 0;
    if (q->kind != PLAN_SEND) {
        int rc = take(c, rank, op, from, end);
        if (!rc)
            rc = put(c, rank, op, op->src_off + from, from, end);
        if (rc)
            return rc;
        advance(r, queue, op, end);
        return 1;
    }
    struct rank_state *to = &c->rank[q->peer];
    uint32_t there = (uint32_t)r->partner[queue];
    const struct plan_op *receive = head(to, there);
    if (!receive)
        return fail(c, "rank %d sends more to rank %d with tag %d than is received", rank, q->peer,
                    q->tag);
    if (receive->length != op->length)
        return fail(c, "rank %d sends %llu bytes to rank %d with tag %d where %llu are received",
                    rank, (unsigned long long)op->length, q->peer, q->tag,
                    (unsigned long long)receive->length);
    if ((op->src == PLAN_HOST) != (receive->dst == PLAN_HOST))
        return fail(c, "rank %d sends from %s to rank %d with tag %d what is received into %s",
                    rank, plan_buffer_name(op->src), q->peer, q->tag,
                    plan_buffer_name(receive->dst));
    if (!ready(to, receive, end))
        return 0;
    int rc = take(c, rank, op, from, end);
    if (!rc)
        rc = put(c, q->peer, receive, op->src_off + from, from, end);
    if (rc)
        return rc;
    advance(r, queue, op, end);
    advance(to, there, receive, end);
    return 1;
}

static int run_all(struct checker *c)
{
    int moved = 1;

    while (moved) {
        moved = 0;
        for (int rank = 0; rank < c->q->topo->nranks; rank++)
            for (uint32_t queue = 0; queue < c->rank[rank].plan->nqueues; queue++) {
                int rc;
                while ((rc = try_chunk(c, rank, queue)) == 1)
                    moved = 1;
                if (rc < 0)
                    return rc;
            }
    }
    for (int rank = 0; rank < c->q->topo->nranks; rank++)
        for (uint32_t queue = 0; queue < c->rank[rank].plan->nqueues; queue++) {
            const struct plan_queue *q = &c->rank[rank].plan->queues[queue];
            const struct plan_op *op = head(&c->rank[rank], queue);
            if (op)
                return fail(c, "rank %d never gets past operation %u (%s, peer %d, tag %d)", rank,
                            (unsigned)(op - c->rank[rank].plan->ops), plan_kind_name(q->kind),
                            q->peer, q->tag);
        }
    return 0;
}

static int fill_buffers(struct checker *c)
{
    int rc = 0;

    for (int rank = 0; !rc && rank < c->q->topo->nranks; rank++)
        rc = check_before(c->q, rank, &c->rank[rank].buffer[PLAN_INPUT],
                          &c->rank[rank].buffer[PLAN_OUTPUT]);
    return rc;
}

/* The sets of the first k ranks, as check_after wants them (caller frees). NULL: out of memory. */
static uint32_t *first_ranks(struct checker *c)
{
    int nranks = c->q->topo->nranks;
    uint32_t *first = calloc((size_t)nranks + 1, sizeof *first);

    for (int rank = 1; first && rank < nranks; rank++) {
        int64_t joined = check_sets_join(&c->sets, first[rank], (uint32_t)rank);

        if (joined < 0) {
            free(first);
            return NULL;
        }
        first[rank + 1] = (uint32_t)joined;
    }
    return first;
}

static int compare_output(struct checker *c, int rank, const struct check_buffer *expected)
{
    uint64_t hole;

    for (uint32_t e = 0; e < expected->count; e++) {
        const struct check_span *want = &expected->span[e];
        int rc = check_buffer_read(&c->rank[rank].buffer[PLAN_OUTPUT], want->from, want->to,
                                   &c->moved, &hole);

        if (rc == -ENODATA)
            return fail(c, "rank %d: output byte %llu is never written", rank,
                        (unsigned long long)hole);
        if (rc)
            return rc;
        for (uint32_t i = 0; i < c->moved.count; i++)
            if (!check_sets_equal(&c->sets, c->moved.span[i].set, want->set) ||
                c->moved.span[i].shift != want->shift)
                return fail(c, "rank %d: output byte %llu holds something else than it should",
                            rank, (unsigned long long)c->moved.span[i].from);
    }
    return 0;
}

/* Where every rank gets the same sum, it is the same to the bit. */
static int compare_ways(struct checker *c, int rank)
{
    const struct check_buffer *mine = &c->rank[rank].buffer[PLAN_OUTPUT],
                              *first = &c->rank[0].buffer[PLAN_OUTPUT];
    uint32_t i = 0;

    if (c->q->collective != COLL_ALLREDUCE)
        return 0;
    while (i < first->count && i < mine->count && mine->span[i].to == first->span[i].to &&
           mine->span[i].set == first->span[i].set)
        i++;
    if (i == first->count)
        return 0;
    return fail(c,
                "rank %d: output byte %llu is combined in another order than on rank 0, so sums "
                "may differ",
                rank, (unsigned long long)first->span[i].from);
}

static int compare_outputs(struct checker *c)
{
    uint32_t *first = first_ranks(c);
    int rc = first ? 0 : -ENOMEM;

    for (int rank = 0; !rc && rank < c->q->topo->nranks; rank++) {
        struct check_buffer expected = {0};

        rc = check_after(c->q, rank, first, &expected);
        if (!rc)
            rc = compare_output(c, rank, &expected);
        if (!rc)
            rc = compare_ways(c, rank);
        check_buffer_free(&expected);
    }
    free(first);
    return rc;
}

/* Are q of that rank and another queue the two ends of one tag? */
static int meet(const struct plan_queue *q, int rank, const struct plan_queue *there)
{
    int opposite = q->kind == PLAN_SEND ? plan_receives(there->kind) : there->kind == PLAN_SEND;

    return opposite && there->peer == rank && there->tag == q->tag;
}

/* Every send queue needs a receive queue at its peer, and the other way round. */
static int match_queues(struct checker *c)
{
    int nranks = c->q->topo->nranks;

    for (int rank = 0; rank < nranks; rank++)
        for (uint32_t i = 0; i < c->rank[rank].plan->nqueues; i++) {
            const struct plan_queue *q = &c->rank[rank].plan->queues[i];
            if (q->kind != PLAN_SEND && !plan_receives(q->kind))
                continue;
            if (q->peer < 0 || q->peer >= nranks || q->peer == rank)
                return fail(c, "rank %d: a %s names rank %d as its peer", rank,
                            plan_kind_name(q->kind), q->peer);
            const struct plan *there = c->rank[q->peer].plan;
            uint32_t matches = 0;
            for (uint32_t j = 0; j < there->nqueues; j++)
                if (meet(q, rank, &there->queues[j])) {
                    c->rank[rank].partner[i] = j;
                    matches++;
                }
            if (matches != 1)
                return fail(c, "rank %d: %s at rank %d matches its %s with tag %d", rank,
                            matches ? "more than one queue" : "nothing", q->peer,
                            plan_kind_name(q->kind), q->tag);
        }
    return 0;
}

static int fits(uint64_t off, uint64_t length, uint64_t room)
{
    return length <= room && off <= room - length;
}

/* Offsets inside the buffers, dependencies inside the plan. */
static int check_bounds(struct checker *c, const struct plan *p)
{
    const uint64_t room[] = {p->input_bytes, p->output_bytes, p->scratch_bytes, p->host_bytes,
                             UINT64_MAX};

    for (int b = 0; b < PLAN_NONE; b++)
        if (room[b] > MOST_BYTES)
            return fail(c, "rank %d: its %s has %llu bytes; at most 4 EiB can be checked", p->rank,
                        plan_buffer_name((uint8_t)b), (unsigned long long)room[b]);
    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_op *op = &p->ops[i];
        if (op->src > PLAN_NONE || op->dst > PLAN_NONE || op->dst == PLAN_INPUT || !op->length)
            return fail(c, "rank %d: operation %u is malformed", p->rank, i);
        if (p->queues[op->queue].kind == PLAN_RECV_REDUCE &&
            (op->src == PLAN_NONE || op->dst == PLAN_NONE))
            return fail(c, "rank %d: operation %u combines with nothing", p->rank, i);
        if ((p->queues[op->queue].kind == PLAN_RECV_REDUCE ||
             p->queues[op->queue].kind == PLAN_REDUCE) &&
            (op->src == PLAN_HOST) != (op->dst == PLAN_HOST))
            return fail(c, "rank %d: operation %u combines host memory with other memory", p->rank,
                        i);
        if ((op->src != PLAN_NONE && !fits(op->src_off, op->length, room[op->src])) ||
            (op->dst != PLAN_NONE && !fits(op->dst_off, op->length, room[op->dst])))
            return fail(c, "rank %d: operation %u reaches past the end of its buffer", p->rank, i);
        for (uint32_t d = 0; d < op->ndeps; d++)
            if (p->deps[op->first_dep + d] >= p->nops)
                return fail(c, "rank %d: operation %u waits for one that is not there", p->rank, i);
    }
    return 0;
}

static int open_ranks(struct checker *c, const struct plan *const *plan)
{
    int nranks = c->q->topo->nranks;

    c->rank = calloc((size_t)nranks, sizeof *c->rank);
    if (!c->rank || check_sets_init(&c->sets, nranks) < 0)
        return -ENOMEM;
    for (int rank = 0; rank < nranks; rank++) {
        struct rank_state *r = &c->rank[rank];
        r->plan = plan[rank];
        r->cursor = calloc(r->plan->nqueues + 1u, sizeof *r->cursor);
        r->done = calloc(r->plan->nops + 1u, sizeof *r->done);
        r->partner = calloc(r->plan->nqueues + 1u, sizeof *r->partner);
        if (!r->cursor || !r->done || !r->partner)
            return -ENOMEM;
    }
    return 0;
}

static void close_ranks(struct checker *c)
{
    for (int rank = 0; c->rank && rank < c->q->topo->nranks; rank++) {
        struct rank_state *r = &c->rank[rank];
        free(r->cursor);
        free(r->done);
        free(r->partner);
        for (int b = 0; b < PLAN_NONE; b++)
            check_buffer_free(&r->buffer[b]);
    }
    free(c->rank);
    check_sets_free(&c->sets);
    check_buffer_free(&c->moved);
    check_buffer_free(&c->mixed);
}

int plan_check(const struct plan_request *q, const struct plan *const *plan, char *why,
               size_t why_size)
{
    struct checker c = {.q = q, .why = why, .why_size = why_size};
    int rc = open_ranks(&c, plan);

    for (int rank = 0; !rc && rank < q->topo->nranks; rank++) {
        if (plan[rank]->rank != rank || plan[rank]->nranks != q->topo->nranks)
            rc = fail(&c, "the plan at place %d is rank %d's of %d", rank, plan[rank]->rank,
                      plan[rank]->nranks);
        if (!rc && plan[rank]->chunk_bytes != plan[0]->chunk_bytes)
            rc = fail(&c, "rank %d's chunks differ in size from rank 0's", rank);
        if (!rc)
            rc = check_bounds(&c, plan[rank]);
        if (!rc)
            rc = check_hazards(plan[rank], why, why_size);
    }
    if (!rc)
        rc = match_queues(&c);
    if (!rc)
        rc = fill_buffers(&c);
    if (!rc)
        rc = run_all(&c);
    if (!rc)
        rc = compare_outputs(&c);
    close_ranks(&c);
    return rc;
}

int plan_check_algorithm(const struct plan_request *q, const struct plan_algorithm *a, char *why,
                         size_t why_size)
{
    int nranks = q->topo->nranks, rc = 0;
    struct plan **plan = calloc((size_t)nranks, sizeof(struct plan *));

    if (!plan)
        return -ENOMEM;
    for (int rank = 0; !rc && rank < nranks; rank++) {
        struct plan_request own = *q;
        own.rank = rank;
        rc = a->build(&own, &plan[rank]);
        if (rc)
            snprintf(why, why_size, "%s: rank %d's plan cannot be built: %s", a->name, rank,
                     rc == -ENOMEM ? "out of memory" : "the shape is not supported");
    }
    if (!rc)
        rc = plan_check(q, (const struct plan *const *)plan, why, why_size);
    for (int rank = 0; rank < nranks; rank++)
        plan_free(plan[rank]);
    free(plan);
    return rc;
}
