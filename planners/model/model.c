/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting a simulation up, choosing its chunk, and reading its result. */
#include "planners/model/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planners/model/model_flows.h"
#include "planners/model/model_sim.h"

/* Bytes that a stream moves in all. */
static double stream_bytes(const struct model *m, const struct model_side *side)
{
    double bytes = 0;

    for (uint32_t op = side->op; op < side->last; op++)
        bytes += (double)m->plan[side->rank]->ops[op].length;
    return bytes;
}

/* Copies across a rank's bus in one direction take turns; all others are their own ring. */
static void take_turns(struct model *m, uint32_t stream, uint32_t link)
{
    enum model_link_kind kind = model_links_get(&m->links, link).kind;
    struct model_state *now = &m->state[stream];

    if (kind != MODEL_BUS_OUT && kind != MODEL_BUS_IN)
        return;
    now->link = link;
    now->lead = now->latency_s * model_links_get(&m->links, link).bw_bytes_per_s;
    now->latency_s = 0;
    for (uint32_t i = stream; i-- > 0;)
        if (m->state[i].link == link) {
            now->turn = m->state[i].turn;
            m->state[i].turn = stream;
            return;
        }
}

/*
 * A flow for every stream. Where chunks are simulated larger than they are, a flow gets a link of
 * its own as well. That is as fast as MODEL_DEPTH real ones are on an empty path. Where connections
 * are capped, all flows between the same two ranks share one more link.
 */
static void add_flows(struct model *m, const struct topo *t, struct model_flows *flows,
                      struct model_use *use)
{
    double capped = t->link[TOPO_LINK_FLOW].bw_bytes_per_s;
    uint32_t next_link = m->links.n;
    uint64_t real = m->plan[0]->chunk_bytes;

    for (uint32_t i = 0; i < m->links.n; i++)
        fair_set_capacity(&m->fair, i, model_links_get(&m->links, i).bw_bytes_per_s);
    for (uint32_t i = 0; i < m->streams.n; i++) {
        const struct model_stream *s = &m->streams.stream[i];
        const struct plan_op *op = &m->plan[s->side[0].rank]->ops[s->side[0].op];
        double bytes = stream_bytes(m, &s->side[0]), path = 0;
        uint32_t n = 1;

        m->state[i].scale = 1;
        m->state[i].turn = i;
        m->state[i].link = MODEL_NONE;
        if (s->to < 0) {
            use[0] = model_links_local(&m->links, s->side[0].rank, op->src, op->dst,
                                       &m->state[i].latency_s);
            take_turns(m, i, use[0].link);
        } else
            n = model_links_route(&m->links, s->side[0].rank, s->to, op->src == PLAN_HOST, use,
                                  &m->state[i].latency_s);
        for (uint32_t k = 0; k < n; k++) {
            double full = use[k].weight / model_links_get(&m->links, use[k].link).bw_bytes_per_s;

            m->carried[use[k].link] += bytes * use[k].weight;
            if (full > path)
                path = full;
        }
        if (s->to < 0) { /* it takes its share of the link's time, however much that moves */
            m->state[i].scale = use[0].weight;
            use[0].weight = 1;
        }
        if (s->to >= 0 && m->chunk > real) {
            double in_flight = MODEL_DEPTH * (double)real;
            fair_set_capacity(&m->fair, next_link,
                              in_flight / (m->state[i].latency_s + (double)real * path));
            use[n++] = (struct model_use){next_link++, 1};
        }
        if (capped > 0 && s->to >= 0 && t->rank[s->to].node != t->rank[s->side[0].rank].node) {
            uint32_t link = model_flows_number(flows, s->side[0].rank, s->to, next_link);

            fair_set_capacity(&m->fair, link, capped);
            next_link += link == next_link;
            use[n++] = (struct model_use){link, 1};
        }
        fair_add(&m->fair, use, n);
    }
}

static void close_model(struct model *m)
{
    model_links_close(&m->links);
    model_streams_close(&m->streams);
    fair_close(&m->fair);
    events_close(&m->events);
    free(m->state);
    free(m->waiter);
    free(m->first_op);
    free(m->bytes_done);
    free(m->first_waiter);
    free(m->again);
    free(m->before);
    free(m->carried);
}

static int open_model(struct model *m, const struct topo *t)
{
    uint32_t nops = 0;
    int rc = model_links_open(t, &m->links);

    if (!rc)
        rc = model_streams_open(m->plan, m->nplans, m->fold, &m->streams);
    if (rc)
        return rc;
    m->links.folded = m->fold != NULL;
    uint32_t n = m->streams.n, most = model_links_most(&m->links) + 2;
    struct model_flows flows = {0};
    if ((uint64_t)n * most > UINT32_MAX)
        return -E2BIG;
    struct model_use *use = malloc(most * sizeof *use);
    m->first_op = malloc((size_t)m->nplans * sizeof *m->first_op);
    for (int r = 0; m->first_op && r < m->nplans; r++) {
        m->first_op[r] = nops;
        nops += m->plan[r]->nops;
    }
    m->state = calloc(n + 1u, sizeof *m->state);
    m->waiter = calloc(2u * n + 1u, sizeof *m->waiter);
    m->bytes_done = calloc(nops + 1u, sizeof *m->bytes_done);
    m->first_waiter = malloc((nops + 1u) * sizeof *m->first_waiter);
    m->again = malloc((n + 1u) * sizeof *m->again);
    m->before = malloc((n + 1u) * sizeof *m->before);
    m->carried = calloc(m->links.n + 1u, sizeof *m->carried);
    if (!use || !m->first_op || !m->state || !m->waiter || !m->bytes_done || !m->first_waiter ||
        !m->again || !m->before || !m->carried ||
        fair_open(&m->fair, n, m->links.n + 2 * n, n * most) || model_flows_open(&flows, n) ||
        events_open(&m->events, 2 * n))
        rc = -ENOMEM;
    else {
        memset(m->first_waiter, 0xff, nops * sizeof *m->first_waiter); /* MODEL_NONE */
        add_flows(m, t, &flows, use);
    }
    free(use);
    model_flows_close(&flows);
    return rc;
}

/* The busiest first, then in the order of their numbers (kind, node, place). */
static int by_time(const void *a, const void *b)
{
    const struct model_link *x = a, *y = b;
    double left = x->bytes / x->bw_bytes_per_s, right = y->bytes / y->bw_bytes_per_s;

    if (left < right || left > right)
        return left < right ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to - y->to;
}

static int report(const struct model *m, struct model_result *result)
{
    struct model_link *link = malloc((m->links.n + 1u) * sizeof *link);
    int n = 0;

    if (!link)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->links.n; i++)
        if (m->carried[i] > 0) {
            link[n] = model_links_get(&m->links, i);
            link[n++].bytes = m->carried[i];
        }
    qsort(link, (size_t)n, sizeof *link, by_time);
    *result = (struct model_result){
        .seconds = m->now, .chunk_bytes = m->chunk, .nlinks = n, .link = link};
    for (uint32_t i = 0; i < m->streams.n; i++)
        result->chunks += m->state[i].done;
    return 0;
}

/* One simulation with chunks of m's size. */
static int attempt(const struct topo *t, struct model m, struct model_result *result)
{
    int rc = open_model(&m, t);

    if (!rc) {
        rc = model_simulate(&m);
        if (!rc)
            rc = report(&m, result);
    }
    close_model(&m);
    return rc;
}

/* The chunk to simulate: the plans' own, doubled while there are too many and it makes fewer. */
static int choose_chunk(struct model *m, uint64_t most)
{
    struct model_streams s;
    int rc = model_streams_open(m->plan, m->nplans, m->fold, &s);

    if (rc)
        return rc;
    uint64_t least = model_streams_chunks(&s, m->plan, UINT64_MAX);
    m->chunk = m->plan[0]->chunk_bytes;
    while (m->chunk < UINT64_MAX / 2) {
        uint64_t n = model_streams_chunks(&s, m->plan, m->chunk);
        if (n <= most || n == least)
            break;
        m->chunk *= 2;
    }
    model_streams_close(&s);
    return least > MODEL_MOST_CHUNKS ? -E2BIG : 0;
}

static int run(const struct topo *t, struct model m, uint64_t chunks, struct model_result *result)
{
    int rc = choose_chunk(&m, chunks);

    if (rc)
        return rc;
    while ((rc = attempt(t, m, result)) == -EDEADLK && m.chunk > m.plan[0]->chunk_bytes)
        m.chunk /= 2;
    return rc;
}

int model_run_within(const struct topo *t, const struct plan *const *plan, uint64_t chunks,
                     double seconds, struct model_result *m)
{
    return run(t, (struct model){.plan = plan, .nplans = t->nranks, .most_s = seconds}, chunks, m);
}

int model_run_folded(const struct topo *t, const struct plan *const *plan, unsigned by,
                     struct model_result *m)
{
    struct model_fold fold = {t, by};
    struct model one = {
        .plan = plan, .nplans = topo_node_size(t, 0), .fold = &fold, .most_s = (double)INFINITY};

    return run(t, one, MODEL_CHUNKS, m);
}

int model_run(const struct topo *t, const struct plan *const *plan, struct model_result *m)
{
    return model_run_within(t, plan, MODEL_CHUNKS, (double)INFINITY, m);
}

double model_link_busy(const struct model_result *m, const struct model_link *l)
{
    return m->seconds > 0 ? l->bytes / l->bw_bytes_per_s / m->seconds : 0;
}

void model_free(struct model_result *m)
{
    free(m->link);
    *m = (struct model_result){0};
}
