/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/cost.h"

#include <limits.h>
#include <math.h>

#include "planners/links/load.h"

static double or_else(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

double cost_rail_latency(const struct topo *t)
{
    double worst = 0;

    for (int r = 0; r < t->nrails; r++)
        if (t->rail[r].latency_ns > worst)
            worst = t->rail[r].latency_ns;
    return or_else(worst, rates_assumed.rail.latency_ns) * 1e-9;
}

static double flow_rate(const struct topo *t)
{
    return t->link[TOPO_LINK_FLOW].bw_bytes_per_s;
}

/* The mean of a node's rails each way, since shares follow the rates; 0: not known. */
static double usual_rate(const struct topo *t, int node)
{
    double out = 0, in = 0;

    for (int r = 0; r < t->nrails; r++) {
        out += topo_rail_rate(t, node, r, TOPO_OUT);
        in += topo_rail_rate(t, node, r, TOPO_IN);
    }
    return (out < in ? out : in) / t->nrails;
}

double cost_rail_rate(const struct topo *t)
{
    double least = usual_rate(t, 0);

    for (int n = 1; t->rate && n < t->nnodes; n++)
        if (usual_rate(t, n) < least)
            least = usual_rate(t, n);
    least = or_else(least, rates_assumed.rail.bw_bytes_per_s);
    return flow_rate(t) > 0 && flow_rate(t) < least ? flow_rate(t) : least;
}

/* The rate of one process of each rank of a node over the rails of these ranks, as a part of the
   rails' rate; 0: not known. */
static double reach(const struct topo *t)
{
    int ranks = cost_largest_node(t), striped = t->rank[0].rail < 0;
    double rails = 0, flows = flow_rate(t) * ranks * (striped ? t->nrails : 1);

    if (flows <= 0 || !load_rates_known(t))
        return 0;
    for (int r = 0; r < t->nrails && (striped || r < ranks); r++)
        rails += t->rail[r].bw_bytes_per_s;
    return flows / rails;
}

int cost_processes(const struct topo *t)
{
    double share = reach(t);

    return share <= 0 ? INT_MAX : share >= 1 ? 1 : (int)ceil(1 / share);
}

/* Do ranks of one node sit on different sockets? */
static int crosses_sockets(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].socket != t->rank[topo_node_rank(t, t->rank[r].node, 0)].socket)
            return 1;
    return 0;
}

double cost_local_latency(const struct topo *t)
{
    const struct topo_link *socket = &t->link[TOPO_LINK_SOCKET];
    double ns = t->link[TOPO_LINK_SHM].latency_ns;

    if (socket->latency_ns > ns && crosses_sockets(t))
        ns = socket->latency_ns;
    return or_else(ns, rates_assumed.link[TOPO_LINK_SHM].latency_ns) * 1e-9;
}

double cost_inside_rate(const struct plan_request *q, double links)
{
    return q->inside_bytes_per_s > 0 && q->inside_bytes_per_s < links ? q->inside_bytes_per_s
                                                                      : links;
}

double cost_local_rate(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double socket = topo_link_least(t, TOPO_LINK_SOCKET);
    int on_device = q->memory == PLAN_ON_DEVICE;
    double rate = rates_least(t, on_device ? TOPO_LINK_NVLINK : TOPO_LINK_SHM).bw_bytes_per_s;

    if (socket > 0 && socket < rate && crosses_sockets(t))
        rate = socket;
    return cost_inside_rate(q, rate);
}

double cost_crossing(const struct plan_request *q)
{
    double bound = load_bound(q), share = reach(q->topo);
    int processes = q->ppg > 1 ? q->ppg : 1;

    if (share > 0) /* slices fill the rails together, and so share them */
        bound *= processes / (share * processes < 1 ? share * processes : 1);
    return load_rates_known(q->topo) ? bound : bound / rates_assumed.rail.bw_bytes_per_s;
}

int cost_largest_node(const struct topo *t)
{
    int most = 0;

    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > most)
            most = topo_node_size(t, n);
    return most;
}

int cost_log2(int n)
{
    int steps = 0;

    while (steps < 31 && 1ll << steps < n)
        steps++;
    return steps;
}

int cost_passes(const struct plan_request *q)
{
    return q->collective == COLL_ALLREDUCE ? 2 : 1;
}

double cost_inside(const struct plan_request *q)
{
    int g = cost_largest_node(q->topo);
    double bytes = (double)plan_total_bytes(q) * (g - 1) / g;

    return cost_passes(q) * bytes / cost_local_rate(q);
}

double cost_messages(const struct plan_request *q)
{
    double share = (double)plan_total_bytes(q) / q->topo->nranks;
    double chunk = share < (double)q->chunk_bytes ? share : (double)q->chunk_bytes;

    return chunk > 0 ? cost_passes(q) * (double)plan_total_bytes(q) / chunk * COST_MESSAGE_S : 0;
}

double cost_least(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double crossing = cost_crossing(q), inside = cost_inside(q);
    double latency = cost_log2(t->nnodes) * cost_rail_latency(t) +
                     cost_log2(cost_largest_node(t)) * cost_local_latency(t);

    return cost_passes(q) * latency + (crossing > inside ? crossing : inside);
}
