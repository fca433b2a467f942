/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/counts/rail_count.h"

#include "shim/record/counts/count.h"

static const double alike = 0.9; /* measuring differs by so much from one time to the next */

static uint64_t planned; /* there are plans for a known rate */

static void add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void set(uint64_t *value, uint64_t to)
{
    __atomic_store_n(value, to, __ATOMIC_RELAXED);
}

void rail_count_call(const struct load_link *crossing, double seconds)
{
    struct live_rail *r = &counters.live.rail;

    if (crossing->out + crossing->in <= 0)
        return;
    add(&r->calls, 1);
    add(&r->nanoseconds, (uint64_t)(seconds * 1e9));
    add(&r->bytes[LIVE_OUT], (uint64_t)crossing->out);
    add(&r->bytes[LIVE_IN], (uint64_t)crossing->in);
}

void rail_count_number(int rail)
{
    struct live_rail *r = &counters.live.rail;

    set(&r->number, rail < 0 ? LIVE_RAIL_ALL : LIVE_RAIL_FIRST + (uint64_t)rail);
    for (int w = 0; w < LIVE_WAYS && rail < 0; w++)
        set(&r->can[w], 0); /* it was that of one */
}

static int is_change(double was, double now)
{
    return was > 0 && now > 0 && (now < alike * was || was < alike * now);
}

void rail_count_measured(double out, double in)
{
    struct live_rail *r = &counters.live.rail;
    const double now[LIVE_WAYS] = {[LIVE_OUT] = out, [LIVE_IN] = in};

    for (int w = 0; w < LIVE_WAYS && !get(&planned); w++)
        if (now[w] > 0)
            set(&r->can[w], (uint64_t)now[w]);
}

void rail_count_can(double out, double in)
{
    struct live_rail *r = &counters.live.rail;
    const double now[LIVE_WAYS] = {[LIVE_OUT] = out, [LIVE_IN] = in};
    int changed = 0;

    if (out <= 0 && in <= 0)
        return;
    for (int w = 0; w < LIVE_WAYS && get(&planned); w++)
        changed |= is_change((double)get(&r->can[w]), now[w]);
    set(&planned, 1);
    for (int w = 0; w < LIVE_WAYS; w++) {
        if (changed)
            set(&r->could[w], get(&r->can[w]));
        if (now[w] > 0)
            set(&r->can[w], (uint64_t)now[w]);
    }
    if (changed)
        set(&r->changed_at, get(&r->calls));
}

/* A rank without a rail of its own has all of its node's. */
void rail_count_planned(const struct topo *t, int rank)
{
    int own = t->rank[rank].rail, node = t->rank[rank].node;
    double out = 0, in = 0;

    if (t->nnodes < 2)
        return;
    for (int r = 0; r < t->nrails; r++)
        if (own < 0 || r == own) {
            out += topo_rail_rate(t, node, r, TOPO_OUT);
            in += topo_rail_rate(t, node, r, TOPO_IN);
        }
    rail_count_can(out, in);
}
