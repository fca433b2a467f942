/* SPDX-License-Identifier: BSD-3-Clause */
/* The struct itself, whose pointers mean nothing, then operations, queues and dependencies. */
#include "planners/plan/flat.h"

#include <errno.h>
#include <string.h>

static size_t rounded(size_t bytes)
{
    return (bytes + PLAN_FLAT_ALIGN - 1) / PLAN_FLAT_ALIGN * PLAN_FLAT_ALIGN;
}

/* The start of each array; the last one is the end. */
struct places {
    size_t ops, queues, deps, end;
};

static struct places places_of(const struct plan *p)
{
    struct places at = {.ops = rounded(sizeof *p)};

    at.queues = at.ops + rounded(p->nops * sizeof *p->ops);
    at.deps = at.queues + rounded(p->nqueues * sizeof *p->queues);
    at.end = at.deps + rounded(p->ndeps * sizeof *p->deps);
    return at;
}

static void copy_array(char *to, const void *from, size_t bytes)
{
    if (bytes) /* an empty array may be NULL */
        memcpy(to, from, bytes);
}

size_t plan_flat_bytes(const struct plan *p)
{
    return places_of(p).end;
}

void plan_flatten(const struct plan *p, void *to)
{
    struct places at = places_of(p);

    memcpy(to, p, sizeof *p);
    copy_array((char *)to + at.ops, p->ops, p->nops * sizeof *p->ops);
    copy_array((char *)to + at.queues, p->queues, p->nqueues * sizeof *p->queues);
    copy_array((char *)to + at.deps, p->deps, p->ndeps * sizeof *p->deps);
}

int plan_flat_open(const void *from, size_t bytes, struct plan *p)
{
    const char *base = from;
    struct plan opened;

    if (bytes < sizeof opened)
        return -EINVAL;
    memcpy(&opened, base, sizeof opened);
    struct places at = places_of(&opened);
    if (at.end != bytes || opened.chunk_bytes - 1 >= PLAN_MOST_CHUNK)
        return -EINVAL;
    opened.algorithm = "flat";
    opened.ops = (const struct plan_op *)(base + at.ops);
    opened.queues = (const struct plan_queue *)(base + at.queues);
    opened.deps = (const uint32_t *)(base + at.deps);
    *p = opened;
    return 0;
}
