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

static double rate(const struct topo *t, int rail)
{
    return t->rail[rail].bw_bytes_per_s > 0 ? t->rail[rail].bw_bytes_per_s : 1;
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

/* What must enter node n (allgather) or leave it (reduce-scatter): all blocks but its own. */
static double foreign_blocks(const struct plan_request *q, int node)
{
    double bytes = (double)plan_total_bytes(q);

    for (int l = 0; l < topo_node_size(q->topo, node); l++)
        bytes -= (double)plan_block_bytes(q, topo_node_rank(q->topo, node, l));
    return bytes;
}

/* What leaves or enters a node must pass its rails. */
static double demand_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double bound = 0;

    for (int n = 0; n < t->nnodes; n++) {
        double in = 0, out = 0;
        for (int from = 0; from < t->nranks; from++)
            for (int to = 0; to < t->nranks; to++) {
                double bytes = (double)q->demand[(size_t)from * (size_t)t->nranks + (size_t)to];
                int leaves = t->rank[from].node == n, enters = t->rank[to].node == n;
                out += leaves && !enters ? bytes : 0;
                in += enters && !leaves ? bytes : 0;
            }
        double most = (in > out ? in : out) / node_rate(t, n);
        bound = most > bound ? most : bound;
    }
    return bound;
}

double load_bound(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    int blocks = q->collective != COLL_ALLREDUCE && q->collective != COLL_BCAST &&
                 q->collective != COLL_REDUCE;
    double rates = 0, bound = 0;

    if (t->nnodes < 2)
        return 0;
    if (q->collective == COLL_ALLTOALLV)
        return q->demand ? demand_bound(q) : 0;
    for (int n = 0; n < t->nnodes; n++) {
        double bytes = blocks ? foreign_blocks(q, n) : (double)q->nbytes;

        rates += node_rate(t, n);
        if (q->collective != COLL_ALLREDUCE && bytes / node_rate(t, n) > bound)
            bound = bytes / node_rate(t, n);
    }
    if (q->collective == COLL_ALLREDUCE)
        bound = 2 * (double)q->nbytes * (t->nnodes - 1) / rates;
    return bound;
}
