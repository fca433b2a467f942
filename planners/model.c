/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulation. Time goes from event to event: a chunk has left its sender, or is there. Events
 * at the same time (but for rounding) are taken together, and only then are rates found anew: in
 * a schedule as regular as a collective hundreds of chunks end together, and most are followed
 * by the next of their queue, which changes no rate at all.
 */
#include "planners/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/model_events.h"
#include "planners/model_fair.h"
#include "planners/model_links.h"
#include "planners/model_streams.h"

#define TOGETHER 1e-11 /* relative distance of times that are the same */

/* A chunk that has started and is not done. */
struct flight {
    uint32_t op[2]; /* of each side */
    uint64_t end;
    double there;
};

/* How far a stream is. */
struct state {
    struct flight flight[MODEL_WINDOW]; /* number i at i % MODEL_WINDOW */
    uint64_t from;                      /* the next chunk begins here in its operation */
    uint64_t started, arrived, done;    /* chunks; arrived == done but where they are combined */
    double left;                        /* bytes of the chunk under way */
    double since;                       /* when `left` was right */
    double latency_s;
    uint8_t moving; /* a chunk is under way */
    uint8_t listed; /* in `again` */
};

/* A side that waits for an operation of its rank to get on. Numbered stream * 2 + side. */
struct waiter {
    uint64_t need; /* bytes of the operation */
    uint32_t next; /* waiter for the same operation */
    uint8_t waits;
};

struct model {
    const struct plan *const *plan;
    struct model_links links;
    struct model_streams streams;
    struct fair fair;       /* flow i is stream i */
    struct events events;   /* stream * 2: leaves its sender; stream * 2 + 1: is there */
    struct state *state;    /* [streams] owned */
    struct waiter *waiter;  /* [2 * streams] owned */
    uint32_t *first_op;     /* [nranks] owned: where a rank's operations begin in the next two */
    uint64_t *bytes_done;   /* owned */
    uint32_t *first_waiter; /* owned */
    uint32_t *again;        /* [nagain] owned: streams that may start a chunk or stop */
    uint32_t nagain;
    double *before;  /* [streams] owned: for fair_settle */
    double *carried; /* [links] owned: bytes */
    uint64_t chunk;
    double now;
};

static void look_again(struct model *m, uint32_t stream)
{
    if (m->state[stream].listed)
        return;
    m->state[stream].listed = 1;
    m->again[m->nagain++] = stream;
}

/* Bytes up to `end` of an operation are done: wake who waits for them. */
static void finish(struct model *m, int rank, uint32_t op, uint64_t end)
{
    uint32_t at = m->first_op[rank] + op, next = m->first_waiter[at];

    m->bytes_done[at] = end;
    m->first_waiter[at] = MODEL_NONE;
    while (next != MODEL_NONE) {
        uint32_t w = next;

        next = m->waiter[w].next;
        if (m->waiter[w].need > end) {
            m->waiter[w].next = m->first_waiter[at];
            m->first_waiter[at] = w;
            continue;
        }
        m->waiter[w].waits = 0;
        look_again(m, w / 2);
    }
}

/* Are the dependencies of a side's next chunk done? If not, it is woken when the first one is. */
static int ready(struct model *m, uint32_t stream, int s, uint64_t end)
{
    struct model_side *side = &m->streams.stream[stream].side[s];
    const struct plan *p = m->plan[side->rank];
    const struct plan_op *op = &p->ops[side->op];
    struct waiter *w = &m->waiter[2 * stream + (uint32_t)s];

    if (w->waits)
        return 0;
    for (uint32_t d = 0; !side->ready && d < op->ndeps; d++) {
        uint32_t dep = p->deps[op->first_dep + d], at = m->first_op[side->rank] + dep;

        if (m->bytes_done[at] == p->ops[dep].length)
            continue;
        uint64_t need = plan_dep_need(op, end, &p->ops[dep]);
        if (m->bytes_done[at] >= need)
            continue;
        *w = (struct waiter){.need = need, .next = m->first_waiter[at], .waits = 1};
        m->first_waiter[at] = 2 * stream + (uint32_t)s;
        return 0;
    }
    side->ready = 1;
    return 1;
}

static uint64_t chunk_end(const struct model *m, uint32_t stream)
{
    const struct model_side *side = &m->streams.stream[stream].side[0];
    uint64_t end = m->state[stream].from + m->chunk;
    uint64_t length = m->plan[side->rank]->ops[side->op].length;

    return end < length ? end : length;
}

static void start(struct model *m, uint32_t stream, uint64_t end)
{
    struct model_stream *s = &m->streams.stream[stream];
    struct state *now = &m->state[stream];
    struct flight *f = &now->flight[now->started++ % MODEL_WINDOW];
    uint64_t length = m->plan[s->side[0].rank]->ops[s->side[0].op].length;

    now->left = (double)(end - now->from);
    now->since = m->now;
    now->moving = 1;
    now->from = end < length ? end : 0;
    *f = (struct flight){.end = end};
    for (int i = 0; i < s->nsides; i++) {
        f->op[i] = s->side[i].op;
        s->side[i].op += end == length;
        s->side[i].ready = 0;
    }
}

/* Start the stream's next chunk if it can. */
static void try_start(struct model *m, uint32_t stream)
{
    struct model_stream *s = &m->streams.stream[stream];
    struct state *now = &m->state[stream];

    if (now->moving || s->side[0].op == s->side[0].last || now->started - now->done >= MODEL_WINDOW)
        return;
    if (s->fed_by != MODEL_NONE && now->started == m->state[s->fed_by].arrived)
        return;
    uint64_t end = chunk_end(m, stream);
    int all = 1;
    for (int i = 0; i < s->nsides; i++)
        all &= ready(m, stream, i, end);
    if (all)
        start(m, stream, end);
}

/* The chunk under way has left. */
static void leave(struct model *m, uint32_t stream)
{
    struct state *now = &m->state[stream];

    now->moving = 0;
    now->flight[(now->started - 1) % MODEL_WINDOW].there = m->now + now->latency_s;
    if (now->started - now->arrived == 1)
        events_set(&m->events, 2 * stream + 1, m->now + now->latency_s);
    look_again(m, stream);
}

/* The oldest chunk is there. What feeds a combining stream is done only when that is. */
static void arrive(struct model *m, uint32_t stream)
{
    struct model_stream *s = &m->streams.stream[stream];
    struct state *now = &m->state[stream];
    const struct flight *f = &now->flight[now->arrived++ % MODEL_WINDOW];

    for (int i = 0; i < s->nsides; i++)
        finish(m, s->side[i].rank, f->op[i], f->end);
    if (s->feeds != MODEL_NONE)
        look_again(m, s->feeds);
    else
        now->done = now->arrived;
    if (s->fed_by != MODEL_NONE) {
        m->state[s->fed_by].done++;
        look_again(m, s->fed_by);
    }
    if (now->started - now->arrived > (uint64_t)now->moving)
        events_set(&m->events, 2 * stream + 1, now->flight[now->arrived % MODEL_WINDOW].there);
    look_again(m, stream);
}

/* Bring the set of flows up to date, and the time at which each chunk leaves. */
static void settle(struct model *m)
{
    for (uint32_t i = 0; i < m->nagain; i++) {
        uint32_t stream = m->again[i];
        struct state *now = &m->state[stream];

        now->listed = 0;
        try_start(m, stream);
        if (now->moving && m->fair.flow[stream].on) {
            if (now->since >= m->now) /* follows right behind, at the same rate */
                events_set(&m->events, 2 * stream, m->now + now->left / m->fair.flow[stream].rate);
        } else if (now->moving)
            fair_start(&m->fair, stream);
        else if (m->fair.flow[stream].on)
            fair_stop(&m->fair, stream);
    }
    m->nagain = 0;
    fair_settle(&m->fair, m->before);
    for (uint32_t i = 0; i < m->fair.nchanged; i++) {
        uint32_t stream = m->fair.changed[i];
        struct state *now = &m->state[stream];
        double rate = m->fair.flow[stream].rate;

        if (rate <= m->before[i] && rate >= m->before[i])
            continue;
        now->left -= m->before[i] * (m->now - now->since);
        if (now->left < 0)
            now->left = 0;
        now->since = m->now;
        events_set(&m->events, 2 * stream, m->now + now->left / rate);
    }
}

/* Take all events of the next moment; 0 when there are none. */
static int step(struct model *m)
{
    if (!m->events.used)
        return 0;
    double upto = events_next(&m->events) * (1 + TOGETHER);
    while (m->events.used && events_next(&m->events) <= upto) {
        double when = events_next(&m->events);
        uint32_t event = events_take(&m->events);

        if (when > m->now)
            m->now = when;
        if (event % 2)
            arrive(m, event / 2);
        else
            leave(m, event / 2);
    }
    settle(m);
    return 1;
}

static void simulate(struct model *m)
{
    for (uint32_t i = 0; i < m->streams.n; i++)
        look_again(m, i);
    settle(m);
    while (step(m))
        ;
}

static int unfinished(const struct model *m)
{
    for (uint32_t i = 0; i < m->streams.n; i++)
        if (m->streams.stream[i].side[0].op < m->streams.stream[i].side[0].last)
            return 1;
    return 0;
}

/* Bytes that a stream moves in all. */
static double stream_bytes(const struct model *m, const struct model_side *side)
{
    double bytes = 0;

    for (uint32_t op = side->op; op < side->last; op++)
        bytes += (double)m->plan[side->rank]->ops[op].length;
    return bytes;
}

/*
 * A flow for every stream. Where chunks are simulated larger than they are, a flow gets a
 * link of its own as well, as fast as a window of real ones is on an empty path.
 */
static void add_flows(struct model *m, struct model_use *use)
{
    uint32_t window_link = m->links.n;
    uint64_t real = m->plan[0]->chunk_bytes;

    for (uint32_t i = 0; i < m->links.n; i++)
        fair_set_capacity(&m->fair, i, model_links_get(&m->links, i).bw_bytes_per_s);
    for (uint32_t i = 0; i < m->streams.n; i++) {
        const struct model_stream *s = &m->streams.stream[i];
        double bytes = stream_bytes(m, &s->side[0]), path = 0;
        uint32_t n = 1;

        if (s->to < 0)
            use[0] = model_links_memory(&m->links, s->side[0].rank);
        else
            n = model_links_route(&m->links, s->side[0].rank, s->to, use, &m->state[i].latency_s);
        for (uint32_t k = 0; k < n; k++) {
            double full = use[k].weight / model_links_get(&m->links, use[k].link).bw_bytes_per_s;

            m->carried[use[k].link] += bytes * use[k].weight;
            if (full > path)
                path = full;
        }
        if (s->to >= 0 && m->chunk > real) {
            double window = MODEL_WINDOW * (double)real;
            fair_set_capacity(&m->fair, window_link,
                              window / (m->state[i].latency_s + (double)real * path));
            use[n++] = (struct model_use){window_link++, 1};
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

static int open_model(struct model *m, const struct topo *t, const struct model_rates *rates)
{
    uint32_t nops = 0;
    int rc = model_links_open(t, rates, &m->links);

    if (!rc)
        rc = model_streams_open(m->plan, t->nranks, &m->streams);
    if (rc)
        return rc;
    uint32_t n = m->streams.n, most = model_links_most(&m->links) + 1;
    struct model_use *use = malloc(most * sizeof *use);
    m->first_op = malloc((size_t)t->nranks * sizeof *m->first_op);
    for (int r = 0; m->first_op && r < t->nranks; r++) {
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
        fair_open(&m->fair, n, m->links.n + n, n * most) || events_open(&m->events, 2 * n))
        rc = -ENOMEM;
    else {
        memset(m->first_waiter, 0xff, nops * sizeof *m->first_waiter); /* MODEL_NONE */
        add_flows(m, use);
    }
    free(use);
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

/* One simulation with chunks of that size. */
static int attempt(const struct topo *t, const struct plan *const *plan,
                   const struct model_rates *rates, uint64_t chunk, struct model_result *result)
{
    struct model m = {.plan = plan, .chunk = chunk};
    int rc = open_model(&m, t, rates);

    if (!rc) {
        simulate(&m);
        rc = unfinished(&m) ? -EDEADLK : report(&m, result);
    }
    close_model(&m);
    return rc;
}

/* The chunk to simulate: the plans' own, doubled while there are too many and it makes fewer. */
static int choose_chunk(const struct plan *const *plan, int nranks, uint64_t *chunk)
{
    struct model_streams s;
    int rc = model_streams_open(plan, nranks, &s);

    if (rc)
        return rc;
    uint64_t least = model_streams_chunks(&s, plan, UINT64_MAX);
    *chunk = plan[0]->chunk_bytes;
    while (*chunk < UINT64_MAX / 2) {
        uint64_t n = model_streams_chunks(&s, plan, *chunk);
        if (n <= MODEL_CHUNKS || n == least)
            break;
        *chunk *= 2;
    }
    model_streams_close(&s);
    return least > MODEL_MOST_CHUNKS ? -E2BIG : 0;
}

int model_run(const struct topo *t, const struct plan *const *plan, const struct model_rates *rates,
              struct model_result *m)
{
    uint64_t chunk;
    int rc = choose_chunk(plan, t->nranks, &chunk);

    if (rc)
        return rc;
    while ((rc = attempt(t, plan, rates, chunk, m)) == -EDEADLK && chunk > plan[0]->chunk_bytes)
        chunk /= 2;
    return rc;
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
