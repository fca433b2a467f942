/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/nimble/demand.h"

#include <string.h>

static const char *const kinds[DEMAND_COUNT] = {
#define KIND(id, text) text,
    DEMAND_KINDS(KIND)
#undef KIND
};

const struct demand demand_defaults = {
    .kind = DEMAND_SKEW, .hot = 0.7, .every = 4, .bytes = 4 << 20, .seed = 1};

const char *demand_kind_name(enum demand_kind kind)
{
    return kinds[kind];
}

int demand_kind_find(const char *name)
{
    for (int k = 0; k < DEMAND_COUNT; k++)
        if (!strcmp(name, kinds[k]))
            return k;
    return -1;
}

/* 0 .. 1 */
static double chance(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 40) / (double)(1 << 24);
}

/* The part of its bytes that a rank sends to another, before scaling. */
static double to_hot(const struct demand *d, const struct topo *t, int from, int to, int hot)
{
    if (from == hot)
        return 1.0 / t->nranks;
    return to == hot ? d->hot : (1 - d->hot) / t->nranks;
}

static double stencil(const struct demand *d, const struct topo *t, int from, int to)
{
    if (to != (from + 1) % t->nranks && from != (to + 1) % t->nranks)
        return 0;
    return t->rank[from].node == t->rank[to].node || d->hot >= 1 ? 0.5 : 0.5 / (1 - d->hot);
}

/* The top expert takes `hot`, the next ones each that share of what is left. */
static double expert(const struct demand *d, const struct topo *t, int from, int to)
{
    double left = 1;

    for (int e = d->peer; e % t->nranks != to; e++)
        left *= 1 - d->hot;
    return left * d->hot + (from == to ? 0 : 0.2 / t->nranks);
}

static double local_skew(const struct demand *d, const struct topo *t, int from, int to)
{
    const struct topo_rank *a = &t->rank[from], *b = &t->rank[to];
    int size = topo_node_size(t, a->node);

    if (a->node == b->node && b->local == (a->local + 1) % size)
        return d->hot;
    return (1 - d->hot) / t->nranks;
}

static double weight(const struct demand *d, const struct topo *t, int from, int to,
                     uint64_t *state)
{
    int peer = d->peer % t->nranks, opposite = (peer + t->nranks / 2) % t->nranks;

    switch (d->kind) {
    case DEMAND_UNIFORM:
        return 1.0 / t->nranks;
    case DEMAND_SKEW:
        return to_hot(d, t, from, to, peer) * (0.8 + 0.4 * chance(state));
    case DEMAND_TWO:
        return (to_hot(d, t, from, to, peer) + to_hot(d, t, from, to, opposite)) / 2 *
               (0.8 + 0.4 * chance(state));
    case DEMAND_FEW:
        return to % d->every == peer % d->every ? (double)d->every / t->nranks : 0;
    case DEMAND_STENCIL:
        return stencil(d, t, from, to);
    case DEMAND_MOE:
        return expert(d, t, from, to) * (0.5 + chance(state));
    case DEMAND_LOCAL:
        return local_skew(d, t, from, to) * (0.8 + 0.4 * chance(state));
    case DEMAND_RANDOM:
        return (chance(state) < 1.0 / 3 ? 0 : 2 * chance(state)) / t->nranks;
    case DEMAND_COUNT:
        break;
    }
    return 0;
}

void demand_fill(const struct demand *d, const struct topo *t, uint64_t *matrix)
{
    uint64_t state = d->seed * 0x9e3779b97f4a7c15ull + 1;

    for (int from = 0; from < t->nranks; from++)
        for (int to = 0; to < t->nranks; to++)
            matrix[(size_t)from * (size_t)t->nranks + (size_t)to] =
                from == to ? 0 : (uint64_t)((double)d->bytes * weight(d, t, from, to, &state));
}
