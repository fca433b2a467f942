/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/load.h"

#include <errno.h>
#include <stdlib.h>

int load_open(const struct topo *t, struct load *l)
{
    *l = (struct load){.nnodes = t->nnodes, .nrails = t->nrails, .known = load_rates_known(t)};
    l->rail = calloc((size_t)t->nnodes * (size_t)t->nrails, sizeof *l->rail);
    l->local = calloc((size_t)t->nnodes, sizeof *l->local);
    if (l->rail && l->local)
        return 0;
    load_free(l);
    return -ENOMEM;
}

void load_free(struct load *l)
{
    free(l->rail);
    free(l->local);
    *l = (struct load){0};
}

int load_rates_known(const struct topo *t)
{
    for (int r = 0; r < t->nrails; r++)
        if (t->rail[r].bw_bytes_per_s <= 0)
            return 0;
    for (size_t i = 0; t->rate && i < 2 * (size_t)t->nnodes * (size_t)t->nrails; i++)
        if (t->rate[i] <= 0)
            return 0;
    return 1;
}

/* One rail among unknown ones would be worth nothing or everything: then all count alike. */
static double rate(const struct load *l, const struct topo *t, int node, int rail,
                   enum topo_way way)
{
    return l->known ? topo_rail_rate(t, node, rail, way) : 1;
}

/* Can the rank use the rail, and which share of the rank's traffic goes there? */
static double share(const struct load *l, const struct topo *t, int rank, int rail,
                    enum topo_way way)
{
    int node = t->rank[rank].node;
    double all = 0;

    if (t->rank[rank].rail >= 0)
        return t->rank[rank].rail == rail;
    for (int r = 0; r < t->nrails; r++)
        all += rate(l, t, node, r, way);
    return rate(l, t, node, rail, way) / all;
}

void load_add(struct load *l, const struct topo *t, const struct plan *p)
{
    int from = t->rank[p->rank].node;

    for (uint32_t q = 0; q < p->nqueues; q++) {
        const struct plan_queue *queue = &p->queues[q];
        double bytes = 0;

        if (queue->kind != PLAN_SEND)
            continue;
        for (uint32_t i = 0; i < queue->nops; i++)
            bytes += (double)p->ops[queue->first_op + i].length;
        int to = t->rank[queue->peer].node;
        if (to == from) {
            l->local[from] += bytes;
            continue;
        }
        for (int r = 0; r < l->nrails; r++) {
            l->rail[from * l->nrails + r].out += bytes * share(l, t, p->rank, r, TOPO_OUT);
            l->rail[to * l->nrails + r].in += bytes * share(l, t, queue->peer, r, TOPO_IN);
        }
    }
}

struct load_link load_crossing(const struct topo *t, const struct plan *p)
{
    struct load_link sum = {0};

    for (uint32_t q = 0; q < p->nqueues; q++) {
        const struct plan_queue *queue = &p->queues[q];
        double *way = queue->kind == PLAN_SEND ? &sum.out : &sum.in;

        if (queue->peer < 0 || t->rank[queue->peer].node == t->rank[p->rank].node)
            continue;
        for (uint32_t i = 0; i < queue->nops; i++)
            *way += (double)p->ops[queue->first_op + i].length;
    }
    return sum;
}

double load_time(const struct load *l, const struct topo *t)
{
    double worst = 0;

    for (int i = 0; i < l->nnodes * l->nrails; i++) {
        int node = i / l->nrails, rail = i % l->nrails;
        double in = l->rail[i].in / rate(l, t, node, rail, TOPO_IN);
        double out = l->rail[i].out / rate(l, t, node, rail, TOPO_OUT);

        worst = in > worst ? in : worst;
        worst = out > worst ? out : worst;
    }
    return worst;
}

/* The sums of the rates, each way, of the rails that a node's ranks can use. */
static struct load_link node_rates(const struct topo *t, int known, int node)
{
    const struct load l = {.known = known};
    struct load_link sum = {0};

    for (int r = 0; r < t->nrails; r++)
        for (int local = 0; local < topo_node_size(t, node); local++) {
            int rail = t->rank[topo_node_rank(t, node, local)].rail;

            if (rail >= 0 && rail != r)
                continue;
            sum.in += rate(&l, t, node, r, TOPO_IN);
            sum.out += rate(&l, t, node, r, TOPO_OUT);
            break;
        }
    return sum;
}

/* The time of the slower way. */
static double slower_way(double in, double out, struct load_link rates)
{
    return in / rates.in > out / rates.out ? in / rates.in : out / rates.out;
}

/* Bytes that must cross a node's boundary in one direction. */
enum amount { NONE, OWN, OTHERS, VECTOR, PAIRS, BEFORE, AFTER };

struct crossing {
    uint8_t in, out;
};

static const struct {
    struct crossing root, other; /* nodes without the root; equal where there is none */
} crossings[COLL_COUNT] = {
    [COLL_ALLGATHER... COLL_ALLGATHERV] = {{OTHERS, OWN}, {OTHERS, OWN}},
    [COLL_ALLREDUCE] = {{VECTOR, VECTOR}, {VECTOR, VECTOR}},
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = {{OWN, OTHERS}, {OWN, OTHERS}},
    [COLL_SCAN... COLL_EXSCAN] = {{BEFORE, AFTER}, {BEFORE, AFTER}},
    [COLL_BCAST] = {{NONE, VECTOR}, {VECTOR, NONE}},
    [COLL_REDUCE] = {{VECTOR, NONE}, {NONE, VECTOR}},
    [COLL_GATHER... COLL_GATHERV] = {{OTHERS, NONE}, {NONE, OWN}},
    [COLL_SCATTER... COLL_SCATTERV] = {{NONE, OTHERS}, {OWN, NONE}},
    [COLL_ALLTOALL] = {{PAIRS, PAIRS}, {PAIRS, PAIRS}},
};

/* Ranks of the node next to which, in that direction, comes one of another node. */
static int borders(const struct topo *t, int node, int direction)
{
    int n = 0;

    for (int l = 0; l < topo_node_size(t, node); l++) {
        int next = topo_node_rank(t, node, l) + direction;

        n += next >= 0 && next < t->nranks && t->rank[next].node != node;
    }
    return n;
}

static double amount_bytes(const struct plan_request *q, int node, uint8_t amount)
{
    int ranks = topo_node_size(q->topo, node);
    double own = 0;

    for (int l = 0; l < ranks; l++)
        own += (double)plan_block_bytes(q, topo_node_rank(q->topo, node, l));
    switch ((enum amount)amount) {
    case NONE:
        return 0;
    case OWN:
        return own;
    case OTHERS:
        return (double)plan_total_bytes(q) - own;
    case VECTOR:
        return (double)q->nbytes;
    case PAIRS:
        return (double)q->nbytes * ranks * (q->topo->nranks - ranks);
    case BEFORE:
        return (double)q->nbytes * borders(q->topo, node, -1);
    case AFTER:
        return (double)q->nbytes * borders(q->topo, node, 1);
    }
    return 0;
}

/* Bytes between rank r and the ranks of other nodes. */
static void add_foreign(const struct plan_request *q, int r, double *in, double *out)
{
    size_t n = (size_t)q->topo->nranks, own = (size_t)r;

    for (size_t peer = 0; peer < n; peer++)
        if (q->topo->rank[peer].node != q->topo->rank[r].node) {
            *out += (double)q->demand[own * n + peer];
            *in += (double)q->demand[peer * n + own];
        }
}

/* All bytes that leave or enter a node pass its rails. */
static double demand_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    int known = load_rates_known(t);
    double bound = 0;

    for (int n = 0; n < t->nnodes; n++) {
        double in = 0, out = 0;

        for (int l = 0; l < topo_node_size(t, n); l++)
            add_foreign(q, topo_node_rank(t, n, l), &in, &out);
        double most = slower_way(in, out, node_rates(t, known, n));
        bound = most > bound ? most : bound;
    }
    return bound;
}

double load_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    struct load_link all = {0};
    int known = load_rates_known(t);
    double bound = 0;

    if (t->nnodes < 2)
        return 0;
    if (plan_has_demand(q->collective))
        return q->demand ? demand_bound(q) : 0;
    for (int n = 0; n < t->nnodes; n++) {
        struct crossing c = n == t->rank[q->root].node ? crossings[q->collective].root
                                                       : crossings[q->collective].other;
        struct load_link rates = node_rates(t, known, n);
        double least = slower_way(amount_bytes(q, n, c.in), amount_bytes(q, n, c.out), rates);

        all.in += rates.in;
        all.out += rates.out;
        bound = least > bound ? least : bound;
    }
    double twice = 2 * (double)q->nbytes * (t->nnodes - 1);
    if (q->collective == COLL_ALLREDUCE && slower_way(twice, twice, all) > bound)
        bound = slower_way(twice, twice, all);
    return bound;
}

/* The bound takes a look at each node: 90 us with 1,024 of them. */
static double crossing_of(const struct plan_request *q, struct load_crossed *c)
{
    if (load_rates_known(q->topo))
        return 0;
    if (q->bytes || q->demand)
        return load_bound(q);
    if (!(c->last > 0) || c->nbytes != q->nbytes || c->root != q->root ||
        c->collective != q->collective) {
        c->last = load_bound(q);
        c->nbytes = q->nbytes;
        c->root = q->root;
        c->collective = q->collective;
    }
    return c->last;
}

enum load_worth load_worth_measuring(const struct plan_request *q, double share,
                                     struct load_crossed *c)
{
    const double full = 2.6 * (1 << 20), brief = .8 * (1 << 20), glance = 96 << 10;
    double bytes = crossing_of(q, c), paid = c->bytes * share;

    c->bytes += bytes;
    return !(bytes > 0)     ? LOAD_WORTH_NOTHING
           : paid >= full   ? LOAD_WORTH_FULL
           : paid >= brief  ? LOAD_WORTH_BRIEF
           : paid >= glance ? LOAD_WORTH_GLANCE
                            : LOAD_WORTH_NOTHING;
}
