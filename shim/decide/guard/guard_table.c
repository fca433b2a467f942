/* SPDX-License-Identifier: BSD-3-Clause */
/* Which entry of the guard a call belongs to. */
#include <string.h>

#include "shim/decide/guard/guard.h"

void guard_open(struct guard *g, int deferred, double (*now)(void))
{
    memset(g, 0, sizeof *g);
    g->deferred = deferred != 0;
    g->now = now;
}

static uint32_t key_of(enum plan_collective c, unsigned kind, uint64_t total)
{
    unsigned class = total ? 63u - (unsigned)__builtin_clzll(total) : 0;

    return 1 + (kind * COLL_COUNT + (unsigned)c) * GUARD_CLASSES + class;
}

struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total)
{
    uint32_t key = key_of(c, kind, total);
    int oldest = 0;

    g->calls++;
    for (int i = 0; i < GUARD_ENTRIES; i++) {
        if (g->key[i] == key) {
            g->used[i] = g->calls;
            return &g->entry[i];
        }
        if (!g->key[i]) {
            oldest = i;
            break;
        }
        if (g->calls - g->used[i] > g->calls - g->used[oldest])
            oldest = i;
    }
    if (g->key[oldest] && g->calls - g->used[oldest] < GUARD_IDLE)
        return NULL;
    g->key[oldest] = key;
    g->used[oldest] = g->calls;
    g->entry[oldest] = (struct guard_entry){.clock.deferred = g->deferred};
    return &g->entry[oldest];
}

const struct guard_entry *guard_known(const struct guard *g, enum plan_collective c, unsigned kind,
                                      uint64_t total)
{
    uint32_t key = key_of(c, kind, total);

    for (int i = 0; i < GUARD_ENTRIES && g->key[i]; i++)
        if (g->key[i] == key)
            return g->entry[i].verdict.known ? &g->entry[i] : NULL;
    return NULL;
}

const struct guard_entry *guard_favours(const struct guard *g, enum plan_collective c)
{
    for (int i = 0; i < GUARD_ENTRIES && g->key[i]; i++) {
        const struct guard_entry *e = &g->entry[i];

        if ((g->key[i] - 1) / GUARD_CLASSES % COLL_COUNT == (unsigned)c && e->verdict.known &&
            e->best != GUARD_NATIVE)
            return e;
    }
    return NULL;
}
