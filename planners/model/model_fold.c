/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/model/model_fold.h"

#include "config/base/hash.h"
#include "config/topo/topo.h"

int model_fold_suits(const struct topo *t)
{
    int g = topo_node_size(t, 0);

    if (t->rate || t->nnodes < 2)
        return 0;
    for (int r = 0; r < t->nranks; r++) {
        const struct topo_rank *a = &t->rank[r], *b = &t->rank[r % g];

        if (a->node != r / g || a->local != r % g || a->rail != b->rail || a->socket != b->socket ||
            (a->gpu >= 0) != (b->gpu >= 0))
            return 0;
    }
    return t->nranks == g * t->nnodes;
}

static int distance(const struct topo *t, unsigned by, int from, int to)
{
    return by == MODEL_FOLD_TURNED ? from ^ to : (to - from + t->nnodes) % t->nnodes;
}

/* A queue of the rank, with its peer as seen from the rank's node. */
static uint64_t name_of(const struct topo *t, unsigned by, const struct plan *p, uint32_t queue)
{
    const struct plan_queue *q = &p->queues[queue];
    uint64_t name = (uint64_t)q->tag << 8 | q->kind;

    if (q->peer >= 0)
        name |= (uint64_t)(1 + t->rank[q->peer].local) << 24 |
                (uint64_t)distance(t, by, t->rank[p->rank].node, t->rank[q->peer].node) << 44;
    return name;
}

/*
 * A hash of its operations in any order of the queues: what they move, and for what they wait.
 * Where halves are turned over, the half that goes on arrives first on some nodes and last on
 * others. Node 0's time may then be 0.7 to 1.4 times that of all, so turned plans also wait for the
 * same bytes. Around a ring a vector ends at another turn on each node: node 0's time is 0.75 times
 * that of all or more on 3 nodes, and 0.92 to 1.08 times on 8 and 128. That is allowed, since rings
 * of 16,384 ranks have no other prediction.
 */
static uint64_t seen(const struct topo *t, unsigned by, const struct plan *p)
{
    int turned = by == MODEL_FOLD_TURNED;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_op *op = &p->ops[i];
        uint64_t about[] = {name_of(t, by, p, op->queue), i - p->queues[op->queue].first_op,
                            op->length, 0};

        for (uint32_t d = op->first_dep; d < op->first_dep + op->ndeps; d++) {
            const struct plan_op *other = &p->ops[p->deps[d]];
            uint64_t need[] = {name_of(t, by, p, other->queue),
                               p->deps[d] - p->queues[other->queue].first_op, other->length,
                               turned ? plan_dep_need(op, 1, other) : 0,
                               turned ? plan_dep_need(op, op->length, other) : 0};

            about[3] += hash_bytes(HASH_SEED, need, sizeof need);
        }
        sum += hash_bytes(HASH_SEED, about, sizeof about);
    }
    return sum;
}

unsigned model_fold_by(const struct topo *t, const struct plan *first, const struct plan *plan)
{
    unsigned by = 0;

    for (unsigned one = MODEL_FOLD_SHIFTED; one <= MODEL_FOLD_TURNED; one *= 2)
        if (seen(t, one, first) == seen(t, one, plan))
            by |= one;
    return by;
}

int model_fold_rank(const struct model_fold *f, int rank)
{
    return f ? f->t->rank[rank].local : rank;
}

int model_fold_sender(const struct model_fold *f, int from, int to)
{
    if (!f)
        return from;
    int node = f->t->rank[to].node;

    if (f->by & MODEL_FOLD_SHIFTED)
        node = (f->t->nnodes - node) % f->t->nnodes;
    return topo_node_rank(f->t, node, f->t->rank[from].local);
}
