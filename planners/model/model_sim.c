/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulation. Time goes from event to event: a chunk has left its sender, or is there. Events
 * at the same time (but for rounding) are taken together, and only then are rates found anew. In a
 * schedule as regular as a collective, hundreds of chunks end together. The next of its queue
 * follows most of them, which changes no rate. So 64 nodes of 8 take 0.6 s of one core (Allgather,
 * 1 MiB per rank: a million chunks).
 */
#include "planners/model/model_sim.h"

#include <errno.h>

#define TOGETHER 1e-11 /* relative distance of times that are the same */

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
    struct model_state *now = &m->state[stream];
    struct model_flight *f = &now->flight[now->started++ % MODEL_DEPTH];
    uint64_t length = m->plan[s->side[0].rank]->ops[s->side[0].op].length;

    now->left = (double)(end - now->from) * now->scale + now->lead;
    now->since = m->now;
    now->moving = 1;
    now->from = end < length ? end : 0;
    *f = (struct model_flight){.end = end};
    for (int i = 0; i < s->nsides; i++) {
        f->op[i] = s->side[i].op;
        s->side[i].op += end == length;
        s->side[i].ready = 0;
    }
}

/* Is it not the stream's turn on its engine? */
static int is_behind(const struct model *m, uint32_t stream)
{
    uint32_t other = m->state[stream].turn;

    while (other != stream && !m->state[other].moving)
        other = m->state[other].turn;
    return other != stream;
}

/* Start the stream's next chunk if it can. */
static void try_start(struct model *m, uint32_t stream)
{
    struct model_stream *s = &m->streams.stream[stream];
    struct model_state *now = &m->state[stream];

    if (now->moving || s->side[0].op == s->side[0].last ||
        now->started - now->done >= MODEL_DEPTH || is_behind(m, stream))
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
    struct model_state *now = &m->state[stream];

    now->moving = 0;
    now->flight[(now->started - 1) % MODEL_DEPTH].there = m->now + now->latency_s;
    if (now->started - now->arrived == 1)
        events_set(&m->events, 2 * stream + 1, m->now + now->latency_s);
    for (uint32_t other = now->turn; other != stream; other = m->state[other].turn)
        look_again(m, other);
    look_again(m, stream);
}

/* The oldest chunk is there. A stream that feeds a combining one is done only when that is. */
static void arrive(struct model *m, uint32_t stream)
{
    struct model_stream *s = &m->streams.stream[stream];
    struct model_state *now = &m->state[stream];
    const struct model_flight *f = &now->flight[now->arrived++ % MODEL_DEPTH];

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
        events_set(&m->events, 2 * stream + 1, now->flight[now->arrived % MODEL_DEPTH].there);
    look_again(m, stream);
}

/* Bring the set of flows up to date, and the time at which each chunk leaves. */
static void settle(struct model *m)
{
    for (uint32_t i = 0; i < m->nagain; i++) {
        uint32_t stream = m->again[i];
        struct model_state *now = &m->state[stream];

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
        struct model_state *now = &m->state[stream];
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

static int unfinished(const struct model *m)
{
    for (uint32_t i = 0; i < m->streams.n; i++)
        if (m->streams.stream[i].side[0].op < m->streams.stream[i].side[0].last)
            return 1;
    return 0;
}

int model_simulate(struct model *m)
{
    for (uint32_t i = 0; i < m->streams.n; i++)
        look_again(m, i);
    settle(m);
    while (step(m))
        if (m->now > m->most_s)
            return -ETIME;
    return unfinished(m) ? -EDEADLK : 0;
}
