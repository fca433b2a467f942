/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/lanes_cut.h"

#include <errno.h>
#include <stdlib.h>

/* The places inside the own slice where some node cuts. */
struct cuts {
    uint64_t *at; /* owned */
    size_t n, room;
};

static int note_cut(struct cuts *c, uint64_t at)
{
    if (c->n == c->room) {
        size_t room = c->room ? 2 * c->room : 8;
        uint64_t *larger = realloc(c->at, room * sizeof *larger);

        if (!larger)
            return -ENOMEM;
        c->at = larger;
        c->room = room;
    }
    c->at[c->n++] = at;
    return 0;
}

static int note_node(const struct lanes *l, int node, struct cuts *c)
{
    struct cutter other;
    int rc = cutter_open(&other, l->t, node, SHARE_THROUGH);

    if (rc)
        return rc;
    for (int i = 1; i < other.size && !rc && !cutters_alike(&other, &l->here); i++) {
        uint64_t at = cut_at(&other, l->total, l->grain, i);

        if (at > l->mine.from && at < l->mine.to)
            rc = note_cut(c, at);
    }
    free(other.weight);
    return rc;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int cut_lanes(struct lanes *l, struct cuts *c)
{
    uint64_t from = l->mine.from;

    if (c->n)
        qsort(c->at, c->n, sizeof *c->at, by_place);
    l->lane = malloc((c->n + 1) * sizeof *l->lane);
    if (!l->lane)
        return -ENOMEM;
    for (size_t i = 0; i <= c->n; i++) {
        uint64_t to = i < c->n ? c->at[i] : l->mine.to;

        if (from < to)
            l->lane[l->nlanes++] = (struct share){from, to};
        from = to;
    }
    return 0;
}

int lanes_open(struct lanes *l, const struct topo *t, int rank, uint64_t total, size_t grain)
{
    struct cuts c = {0};
    int rc;

    *l = (struct lanes){.t = t,
                        .node = t->rank[rank].node,
                        .local = t->rank[rank].local,
                        .total = total,
                        .grain = grain};
    rc = cutter_open(&l->here, t, l->node, SHARE_THROUGH);
    if (rc)
        return rc;
    for (int i = 0; i <= l->here.size; i++)
        l->here.cut[i] = cut_at(&l->here, total, grain, i);
    l->mine = share_of(&l->here, l->local);
    for (int node = 0; node < t->nnodes && !rc; node++)
        rc = note_node(l, node, &c);
    if (!rc)
        rc = cut_lanes(l, &c);
    free(c.at);
    return rc;
}

void lanes_close(struct lanes *l)
{
    free(l->here.weight);
    free(l->lane);
    *l = (struct lanes){0};
}

int lanes_rank(const struct lanes *l, struct share lane, int node)
{
    struct cutter other;
    int local = 0;

    if (cutter_open(&other, l->t, node, SHARE_THROUGH) < 0)
        return -ENOMEM;
    while (local + 1 < other.size && cut_at(&other, l->total, l->grain, local + 1) <= lane.from)
        local++;
    free(other.weight);
    return topo_node_rank(l->t, node, local);
}
