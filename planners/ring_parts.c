/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/ring_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/shares.h"

/* What a ring's hop from that node to the next carries per second. */
static double hop_rate(const double *through, int nodes, int node)
{
    double next = through[(node + 1) % nodes];

    return through[node] < next ? through[node] : next;
}

/*
 * The hop from node i to the next carries 2 - part[i] - part[i + 1] of the vector in an allreduce:
 * all units twice, but for the last way of each. Find the least parts, from part[first] on, with
 * which each hop needs `time` at most; what a hop asks for goes to its second node, whose next hop
 * gains by it too. Returns their sum.
 */
static double least_parts(const double *hop, int nodes, double time, int first, double start,
                          double *part)
{
    double sum = 0;

    for (int n = 0; n < nodes; n++)
        part[n] = 0;
    part[first] = start;
    for (int k = 0; k < nodes; k++) {
        int i = (first + k) % nodes, next = (i + 1) % nodes;
        double wanted = 2 - time * hop[i] - part[i] - part[next];

        part[next] += wanted > 0 ? wanted : 0;
    }
    for (int n = 0; n < nodes; n++)
        sum += part[n];
    return sum;
}

/* The least parts for that time, whatever the ring's first node takes: where a hop asks for
   nothing the ring can be cut, else the sum is convex in the first part. */
static double fewest_parts(const double *hop, int nodes, double time, double *part)
{
    enum { STEPS = 24 };
    double low = 0, high = 1;

    for (int i = 0; i < nodes; i++)
        if (time * hop[i] >= 2)
            return least_parts(hop, nodes, time, (i + 1) % nodes, 0, part);
    for (int step = 0; step < STEPS; step++) {
        double third = (high - low) / 3, left = low + third, right = high - third;

        if (least_parts(hop, nodes, time, 0, left, part) <=
            least_parts(hop, nodes, time, 0, right, part))
            high = right;
        else
            low = left;
    }
    return least_parts(hop, nodes, time, 0, low, part);
}

/* Bytes/s through each node, and of each hop. Returns the sum over the hops. */
static double find_rates(const struct topo *t, double *through, double *hop)
{
    double all = 0;

    for (int n = 0; n < t->nnodes; n++) {
        through[n] = 0;
        for (int l = 0; l < topo_node_size(t, n); l++)
            through[n] += (double)shares_rail_weight(t, n, l, SHARE_THROUGH);
    }
    for (int n = 0; n < t->nnodes; n++)
        all += hop[n] = hop_rate(through, t->nnodes, n);
    return all;
}

int ring_parts(const struct topo *t, double **part_p)
{
    enum { STEPS = 20 };
    int nodes = t->nnodes;
    double *part = calloc(3 * (size_t)nodes, sizeof *part);

    if (!part)
        return -ENOMEM;
    double *hop = part + 2 * nodes, all = find_rates(t, part + nodes, hop), slowest = all;
    for (int n = 0; n < nodes; n++)
        slowest = hop[n] < slowest ? hop[n] : slowest;
    double low = 2 * (nodes - 1) / all, high = 2 / slowest;
    for (int step = 0; step < STEPS; step++) {
        double middle = (low + high) / 2;

        if (fewest_parts(hop, nodes, middle, part) <= 1)
            high = middle;
        else
            low = middle;
    }
    double rest = (1 - fewest_parts(hop, nodes, high, part)) / nodes;
    for (int n = 0; n < nodes; n++)
        part[n] += rest > 0 ? rest : 0;
    *part_p = part;
    return 0;
}
