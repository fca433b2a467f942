/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows. Among those that serve a collective the first is the default. */
#include "planners/registry.h"

#include <string.h>

#include "planners/rings.h"

const struct plan_algorithm *const plan_algorithms[] = {
    &plan_rings,
};
const int plan_algorithm_count = sizeof plan_algorithms / sizeof *plan_algorithms;

static const char *const collective_names[] = {
#define COLLECTIVE(id, text, mpi) text,
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
};

const char *plan_collective_name(enum plan_collective c)
{
    return collective_names[c];
}

int plan_collective_find(const char *name)
{
    for (int c = 0; c < PLAN_COLLECTIVE_COUNT; c++)
        if (!strcmp(name, collective_names[c]))
            return c;
    return -1;
}

uint64_t plan_total_bytes(const struct plan_request *q)
{
    uint64_t total = 0;

    if (!q->bytes)
        return (uint64_t)q->nbytes * (uint64_t)q->topo->nranks;
    for (int r = 0; r < q->topo->nranks; r++)
        total += q->bytes[r];
    return total;
}

size_t plan_default_chunk(const struct plan_request *q)
{
    uint64_t block = plan_total_bytes(q) / (uint64_t)q->topo->nranks;
    size_t chunk = 8 << 10;

    while (chunk < 512 << 10 && block / 32 > chunk)
        chunk *= 2;
    return chunk;
}

const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c && !strcmp(plan_algorithms[i]->name, name))
            return plan_algorithms[i];
    return NULL;
}

const struct plan_algorithm *plan_algorithm_default(enum plan_collective c)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c)
            return plan_algorithms[i];
    return NULL;
}
