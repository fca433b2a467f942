/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/load.h"

#include <errno.h>
#include <stdlib.h>

int load_open(const struct topo *t, struct load *l)
{
    *l = (struct load){.nnodes = t->nnodes, .nrails = t->nrails};
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
    return 1;
}

/* One rail among unknown ones would be worth nothing or everything: then all count alike. */
static double rate(const struct topo *t, int rail)
{
    return load_rates_known(t) ? t->rail[rail].bw_bytes_per_s : 1;
}

/* Can the rank use the rail, and what share of the rank's traffic goes there? */
static double share(const struct topo *t, int rank, int rail)
{
    double all = 0;

    if (t->rank[rank].rail >= 0)
        return t->rank[rank].rail == rail;
    for (int r = 0; r < t->nrails; r++)
        all += rate(t, r);
    return rate(t, rail) / all;
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
            l->rail[from * l->nrails + r].out += bytes * share(t, p->rank, r);
            l->rail[to * l->nrails + r].in += bytes * share(t, queue->peer, r);
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
        double most = l->rail[i].in > l->rail[i].out ? l->rail[i].in : l->rail[i].out;
        if (most / rate(t, i % l->nrails) > worst)
            worst = most / rate(t, i % l->nrails);
    }
    return worst;
}

/* The sum of the rates of the rails that a node's ranks can use. */
static double node_rate(const struct topo *t, int node)
{
    double sum = 0;

    for (int r = 0; r < t->nrails; r++)
        for (int l = 0; l < topo_node_size(t, node); l++)
            if (share(t, topo_node_rank(t, node, l), r) > 0) {
                sum += rate(t, r);
                break;
            }
    return sum;
}

/* What must cross a node's boundary in one direction. */
enum amount { NONE, OWN, OTHERS, VECTOR, PAIRS };

struct crossing {
    uint8_t in, out;
};

static const struct {
    struct crossing root, other; /* nodes without the root; equal where there is none */
} crossings[COLL_COUNT] = {
    [COLL_ALLGATHER... COLL_ALLGATHERV] = {{OTHERS, OWN}, {OTHERS, OWN}},
    [COLL_ALLREDUCE] = {{VECTOR, VECTOR}, {VECTOR, VECTOR}},
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = {{OWN, OTHERS}, {OWN, OTHERS}},
    [COLL_BCAST] = {{NONE, VECTOR}, {VECTOR, NONE}},
    [COLL_REDUCE] = {{VECTOR, NONE}, {NONE, VECTOR}},
    [COLL_GATHER... COLL_GATHERV] = {{OTHERS, NONE}, {NONE, OWN}},
    [COLL_SCATTER... COLL_SCATTERV] = {{NONE, OTHERS}, {OWN, NONE}},
    [COLL_ALLTOALL] = {{PAIRS, PAIRS}, {PAIRS, PAIRS}},
};

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
    }
    return 0;
}

/* What rank r and the ranks of other nodes have for each other. */
static void add_foreign(const struct plan_request *q, int r, double *in, double *out)
{
    size_t n = (size_t)q->topo->nranks, own = (size_t)r;

    for (size_t peer = 0; peer < n; peer++)
        if (q->topo->rank[peer].node != q->topo->rank[r].node) {
            *out += (double)q->demand[own * n + peer];
            *in += (double)q->demand[peer * n + own];
        }
}

/* What leaves or enters a node must pass its rails. */
static double demand_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double bound = 0;

    for (int n = 0; n < t->nnodes; n++) {
        double in = 0, out = 0;

        for (int l = 0; l < topo_node_size(t, n); l++)
            add_foreign(q, topo_node_rank(t, n, l), &in, &out);
        double most = (in > out ? in : out) / node_rate(t, n);
        bound = most > bound ? most : bound;
    }
    return bound;
}

double load_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double rates = 0, bound = 0;

    if (t->nnodes < 2)
        return 0;
    if (q->collective == COLL_ALLTOALLV)
        return q->demand ? demand_bound(q) : 0;
    for (int n = 0; n < t->nnodes; n++) {
        struct crossing c = n == t->rank[q->root].node ? crossings[q->collective].root
                                                       : crossings[q->collective].other;
        double in = amount_bytes(q, n, c.in), out = amount_bytes(q, n, c.out), r = node_rate(t, n);

        rates += r;
        if ((in > out ? in : out) / r > bound)
            bound = (in > out ? in : out) / r;
    }
    if (q->collective == COLL_ALLREDUCE && 2 * (double)q->nbytes * (t->nnodes - 1) / rates > bound)
        bound = 2 * (double)q->nbytes * (t->nnodes - 1) / rates;
    return bound;
}

int load_worth_measuring(const struct plan_request *q)
{
    const double worth = 768 << 10; /* bytes of one rail */

    return !load_rates_known(q->topo) && load_bound(q) >= worth;
}
