/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hazards are looked for pair by pair among operations whose bytes meet, found by
 * a sweep over the sorted ranges. Only orders inside the rank count: that a peer's
 * answer happens to prove an order would be true, but invisible to a reader.
 */
#include "planners/check/check_hazard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct access {
    uint64_t from, to;
    uint32_t op;
    uint8_t buffer;
    uint8_t writes;
};

struct range {
    uint64_t from, to;
    uint8_t buffer;
};

static int by_place(const void *a, const void *b)
{
    const struct access *x = a, *y = b;

    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The part of r, from its start on, that one side of an operation touches: where it ends, or
 * r.from. */
static uint64_t touched_upto(const struct plan_op *op, struct range r)
{
    uint64_t upto = r.from;

    if (op->src == r.buffer && op->src_off <= r.from && op->src_off + op->length > upto)
        upto = op->src_off + op->length;
    if (op->dst == r.buffer && op->dst_off <= r.from && op->dst_off + op->length > upto)
        upto = op->dst_off + op->length;
    return upto < r.to ? upto : r.to;
}

/*
 * Is `late` ordered after `early` on the bytes of r? Either it names `early`, or its dependencies
 * cover r piece by piece and are themselves ordered after `early`. depth bounds the walk on a
 * faulty plan.
 */
static int after(const struct plan *p, uint32_t early, uint32_t late, struct range r,
                 uint32_t depth)
{
    const struct plan_op *op = &p->ops[late];
    uint8_t kind = p->queues[op->queue].kind;

    if (early < late && op->queue == p->ops[early].queue &&
        (kind == PLAN_COPY || kind == PLAN_REDUCE))
        return 1;
    for (uint32_t d = 0; d < op->ndeps; d++)
        if (p->deps[op->first_dep + d] == early)
            return 1;
    while (depth && r.from < r.to) {
        uint64_t covered = r.from;

        for (uint32_t d = 0; d < op->ndeps && covered == r.from; d++) {
            uint32_t via = p->deps[op->first_dep + d];
            struct range piece = {r.from, touched_upto(&p->ops[via], r), r.buffer};
            if (piece.from < piece.to && after(p, early, via, piece, depth - 1))
                covered = piece.to;
        }
        if (covered == r.from)
            return 0;
        r.from = covered;
    }
    return r.from >= r.to;
}

static uint32_t list_accesses(const struct plan *p, struct access *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_op *op = &p->ops[i];
        if (op->src != PLAN_NONE)
            list[n++] = (struct access){op->src_off, op->src_off + op->length, i, op->src, 0};
        if (op->dst != PLAN_NONE)
            list[n++] = (struct access){op->dst_off, op->dst_off + op->length, i, op->dst, 1};
    }
    return n;
}

static int check_pair(const struct plan *p, const struct access *a, const struct access *b,
                      char *why, size_t why_size)
{
    struct range r = {b->from, a->to < b->to ? a->to : b->to, a->buffer};

    if (a->op == b->op && p->queues[p->ops[a->op].queue].kind == PLAN_RECV_REDUCE &&
        a->from == b->from && a->to == b->to)
        return 0; /* combines in place */
    if (a->op == b->op)
        snprintf(why, why_size,
                 "rank %d: operation %u reads and writes the same %s bytes %llu-%llu", p->rank,
                 a->op, plan_buffer_name(r.buffer), (unsigned long long)r.from,
                 (unsigned long long)r.to - 1);
    else if (after(p, a->op, b->op, r, p->nops) || after(p, b->op, a->op, r, p->nops))
        return 0;
    else
        snprintf(why, why_size,
                 "rank %d: operations %u and %u touch %s bytes %llu-%llu and neither waits for "
                 "the other",
                 p->rank, a->op, b->op, plan_buffer_name(r.buffer), (unsigned long long)r.from,
                 (unsigned long long)r.to - 1);
    return -EINVAL;
}

int check_hazards(const struct plan *p, char *why, size_t why_size)
{
    struct access *list = malloc((2 * (size_t)p->nops + 1) * sizeof *list);
    int rc = 0;

    if (!list)
        return -ENOMEM;
    uint32_t n = list_accesses(p, list);
    qsort(list, n, sizeof *list, by_place);
    for (uint32_t i = 0; !rc && i < n; i++)
        for (uint32_t j = i + 1;
             !rc && j < n && list[j].buffer == list[i].buffer && list[j].from < list[i].to; j++)
            if (list[i].writes || list[j].writes)
                rc = check_pair(p, &list[i], &list[j], why, why_size);
    free(list);
    return rc;
}
