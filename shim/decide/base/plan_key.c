/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/base/plan_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_size(const struct plan_request *q)
{
    return (size_t)q->topo->nranks * sizeof *q->bytes;
}

static size_t demand_size(const struct plan_request *q)
{
    return (size_t)q->topo->nranks * (size_t)q->topo->nranks * sizeof *q->demand;
}

/* NULL: as from, or *rc = -ENOMEM. */
static void *copy_of(const void *from, size_t size, int *rc)
{
    void *copy = from ? malloc(size) : NULL;

    if (copy)
        memcpy(copy, from, size);
    else if (from)
        *rc = -ENOMEM;
    return copy;
}

int plan_key_set(struct plan_key *k, const struct plan_request *q, const struct plan_algorithm *a,
                 uint64_t beside)
{
    int rc = 0;

    *k = (struct plan_key){.algorithm = a, .request = *q, .beside = beside};
    k->request.recipe = copy_of(q->recipe, q->recipe ? strlen(q->recipe) + 1 : 0, &rc);
    k->request.bytes = copy_of(q->bytes, q->bytes ? bytes_size(q) : 0, &rc);
    k->request.demand = copy_of(q->demand, q->demand ? demand_size(q) : 0, &rc);
    if (rc)
        plan_key_clear(k);
    return rc;
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

int plan_key_is(const struct plan_key *k, const struct plan_request *q,
                const struct plan_algorithm *a, uint64_t beside)
{
    const struct plan_request *r = &k->request;

    if (k->algorithm != a || k->beside != beside || r->collective != q->collective ||
        r->in_place != q->in_place || r->root != q->root || r->grain != q->grain ||
        r->chunk_bytes != q->chunk_bytes || r->memory != q->memory ||
        !same_text(r->recipe, q->recipe) || !r->bytes != !q->bytes || !r->demand != !q->demand)
        return 0;
    if (q->demand && memcmp(r->demand, q->demand, demand_size(q)) != 0)
        return 0;
    return q->bytes ? !memcmp(r->bytes, q->bytes, bytes_size(q)) : r->nbytes == q->nbytes;
}

int plan_key_is_near(const struct plan_key *k, const struct plan_request *q,
                     const struct plan_algorithm *a)
{
    const struct plan_request *r = &k->request;

    return k->algorithm == a && r->collective == q->collective &&
           r->chunk_bytes == q->chunk_bytes && same_text(r->recipe, q->recipe) &&
           __builtin_clzll(r->nbytes | 1) == __builtin_clzll(q->nbytes | 1);
}

void plan_key_clear(struct plan_key *k)
{
    free((size_t *)(uintptr_t)k->request.bytes);
    free((uint64_t *)(uintptr_t)k->request.demand);
    free((char *)(uintptr_t)k->request.recipe);
    *k = (struct plan_key){0};
}
