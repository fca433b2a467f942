/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/aligned.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/links/load.h"
#include "planners/links/shares.h"

static const double worth_sorting = 1.01; /* times what lanes of local ranks carry */
static const double worth = .75;          /* of what the slowest node carries */
static const uint64_t negligible = 48;    /* times slower than the fastest one: left out, since a
                                             chunk on its way round would be what all wait for */

/* A rank of a node, and what its rail carries through. */
struct place {
    uint64_t weight;
    int local;
};

struct work {
    const struct topo *t;
    int size;            /* ranks of each node */
    struct place *place; /* [nranks]: of each node, by lane */
    uint64_t *lane;      /* [size]: the least weight of each */
    uint64_t *sum;       /* [size + 1] inside lane: sums of one node's weights */
    uint64_t slowest;    /* node's sum */
};

static void weigh(struct work *w)
{
    w->slowest = UINT64_MAX;
    for (int n = 0; n < w->t->nnodes; n++) {
        uint64_t *sum = w->sum;

        shares_sum_weights(w->t, n, SHARE_THROUGH, sum);
        for (int l = 0; l < w->size; l++)
            w->place[n * w->size + l] = (struct place){sum[l + 1] - sum[l], l};
        w->slowest = sum[w->size] < w->slowest ? sum[w->size] : w->slowest;
    }
}

/* A lane's rate: that of its slowest rail. */
static uint64_t lane_weight(const struct work *w, int k)
{
    uint64_t least = UINT64_MAX;

    for (int node = 0; node < w->t->nnodes; node++) {
        uint64_t weight = w->place[node * w->size + k].weight;

        least = weight < least ? weight : least;
    }
    return least;
}

/* The lanes' weights, as places stand. Returns their sum. */
static uint64_t find_lanes(struct work *w)
{
    uint64_t sum = 0;

    for (int k = 0; k < w->size; k++)
        sum += w->lane[k] = lane_weight(w, k);
    return sum;
}

/* The faster first; equal ones stay in order. Insertion suits a few ranks that are almost sorted.
 */
static void sort_places(struct work *w)
{
    for (int n = 0; n < w->t->nnodes; n++) {
        struct place *of = w->place + n * w->size;

        for (int i = 1; i < w->size; i++) {
            struct place p = of[i];
            int at = i;

            for (; at > 0 && of[at - 1].weight < p.weight; at--)
                of[at] = of[at - 1];
            of[at] = p;
        }
    }
}

/* Lanes of local ranks, unless sorted ones carry more. Returns what they carry. */
static uint64_t choose_lanes(struct work *w)
{
    uint64_t as_it_is = find_lanes(w);

    if (as_it_is >= w->slowest)
        return as_it_is;
    sort_places(w);
    uint64_t sorted = find_lanes(w);
    if ((double)sorted >= worth_sorting * (double)as_it_is)
        return sorted;
    weigh(w);
    return find_lanes(w);
}

static int copy_aligned(const struct work *w, struct topo **aligned_p)
{
    const struct topo *t = w->t;
    struct topo *a;
    uint64_t fastest = 0;
    double latency_ns = 0;

    if (topo_copy(t, w->size, &a) < 0)
        return -ENOMEM;
    for (int r = 0; r < t->nrails; r++)
        if (t->rail[r].latency_ns > latency_ns)
            latency_ns = t->rail[r].latency_ns;
    for (int k = 0; k < w->size; k++)
        fastest = w->lane[k] > fastest ? w->lane[k] : fastest;
    for (int k = 0; k < w->size; k++) {
        double rate = w->lane[k] < fastest / negligible ? 1 : (double)w->lane[k];

        a->rail[k] = (struct topo_link){rate, latency_ns};
    }
    for (int i = 0; i < t->nranks; i++) {
        int node = i / w->size, rank = topo_node_rank(t, node, w->place[i].local);

        a->node_ranks[a->node_first[node] + i % w->size] = rank;
        a->rank[rank].local = a->rank[rank].rail = i % w->size;
    }
    *aligned_p = a;
    return 0;
}

int aligned_by_node(const struct topo *t, struct topo **used_p)
{
    size_t cells = 2 * (size_t)t->nnodes * (size_t)t->nrails;
    double fastest = 0;
    struct topo *used;

    *used_p = NULL;
    if (!t->rate || !load_rates_known(t))
        return 0;
    for (int r = 0; r < t->nrails; r++)
        fastest = t->rail[r].bw_bytes_per_s > fastest ? t->rail[r].bw_bytes_per_s : fastest;
    double *rate = malloc(cells * sizeof *rate);
    if (!rate || topo_copy(t, t->nrails, &used) < 0) {
        free(rate);
        return -ENOMEM;
    }
    for (size_t i = 0; i < cells; i++)
        rate[i] = t->rate[i] < fastest / (double)negligible ? 1 : t->rate[i];
    for (int r = 0; r < t->nrails; r++)
        used->rail[r].latency_ns = t->rail[r].latency_ns;
    topo_take_rail_rates(used, rate);
    *used_p = used;
    return 0;
}

int aligned_open(const struct topo *t, struct topo **aligned_p)
{
    struct work w = {.t = t, .size = topo_node_size(t, 0)};
    int rc = 0;

    *aligned_p = NULL;
    for (int n = 1; n < t->nnodes; n++)
        if (topo_node_size(t, n) != w.size)
            return 0;
    if (!t->rate || t->lanes || t->nnodes < 2 || !load_rates_known(t))
        return 0;
    w.place = malloc((size_t)t->nranks * sizeof *w.place);
    w.lane = malloc((size_t)(2 * w.size + 1) * sizeof *w.lane);
    if (w.place && w.lane) {
        w.sum = w.lane + w.size;
        weigh(&w);
        if ((double)choose_lanes(&w) >= worth * (double)w.slowest)
            rc = copy_aligned(&w, aligned_p);
    } else {
        rc = -ENOMEM;
    }
    free(w.place);
    free(w.lane);
    return rc;
}
