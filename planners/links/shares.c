/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/links/shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double way_rate(const struct topo *t, int node, int rail, enum share_way way)
{
    return way == SHARE_THROUGH ? topo_rail_through(t, node, rail)
                                : topo_rail_rate(t, node, rail, (enum topo_way)way);
}

/* Ranks of the node that use that rail; -1: all rails. */
static int count_sharing(const struct topo *t, int node, int rail)
{
    int n = 0;

    for (int l = 0; l < topo_node_size(t, node); l++)
        n += t->rank[topo_node_rank(t, node, l)].rail == rail;
    return n;
}

/* sharing: ranks of the node that use the rank's rail; 0: not counted yet. */
static uint64_t rail_weight(const struct topo *t, int node, int local, enum share_way way,
                            int sharing)
{
    int rail = t->rank[topo_node_rank(t, node, local)].rail;
    double rate = 0;

    if (t->lanes && local >= t->lanes)
        return 0;
    if (rail < 0 && !t->rate)
        return 1;
    for (int r = rail < 0 ? 0 : rail; r < (rail < 0 ? t->nrails : rail + 1); r++)
        rate += way_rate(t, node, r, way);
    if (rate < 1)
        return 1;
    return (uint64_t)rate / (uint64_t)(sharing ? sharing : count_sharing(t, node, rail)) + 1;
}

uint64_t shares_rail_weight(const struct topo *t, int node, int local, enum share_way way)
{
    return rail_weight(t, node, local, way, 0);
}

/* Has each rank of the node a rail to itself, in the usual order? */
static int one_rail_each(const struct topo *t, int node)
{
    int size = topo_node_size(t, node), l = 0;

    while (l < size && t->rank[topo_node_rank(t, node, l)].rail == l)
        l++;
    return l == size;
}

void shares_sum_weights(const struct topo *t, int node, enum share_way way, uint64_t *weight)
{
    int sharing = one_rail_each(t, node);

    weight[0] = 0;
    for (int l = 0; l < topo_node_size(t, node); l++)
        weight[l + 1] = weight[l] + rail_weight(t, node, l, way, sharing);
}

int cutter_open(struct cutter *c, const struct topo *t, int node, enum share_way way)
{
    c->size = topo_node_size(t, node);
    c->weight = malloc(2 * (size_t)(c->size + 1) * sizeof *c->weight);
    if (!c->weight)
        return -ENOMEM;
    c->cut = c->weight + c->size + 1;
    shares_sum_weights(t, node, way, c->weight);
    return 0;
}

int cutters_alike(const struct cutter *a, const struct cutter *b)
{
    return a->size == b->size &&
           !memcmp(a->weight, b->weight, (size_t)(a->size + 1) * sizeof *a->weight);
}

int shares_open(struct shares *s, const struct topo *t, int rank, struct blocks blocks,
                size_t grain, enum share_way way)
{
    int node = t->rank[rank].node;

    *s = (struct shares){.t = t,
                         .blocks = blocks,
                         .grain = grain,
                         .rank = rank,
                         .node = node,
                         .local = t->rank[rank].local,
                         .left = (node + t->nnodes - 1) % t->nnodes,
                         .right = (node + 1) % t->nnodes,
                         .packed = -1};
    if (cutter_open(&s->cutter[0], t, s->left, way) < 0 ||
        cutter_open(&s->cutter[1], t, node, way) < 0 ||
        cutter_open(&s->cutter[2], t, s->right, way) < 0)
        return -ENOMEM;
    s->by_here = &s->cutter[1];
    s->by_left = cutters_alike(&s->cutter[0], s->by_here) ? s->by_here : &s->cutter[0];
    s->by_right = cutters_alike(&s->cutter[2], s->by_here) ? s->by_here : &s->cutter[2];
    return 0;
}

void shares_close(struct shares *s)
{
    for (int i = 0; i < 3; i++)
        free(s->cutter[i].weight);
}

uint64_t cut_at(const struct cutter *c, uint64_t total, size_t grain, int l)
{
    uint64_t all = c->weight[c->size]; /* not 0: a node has a first rank, and that has weight */

    if (l == c->size || !all)
        return total;
    return (uint64_t)((unsigned __int128)total * c->weight[l] / all) / grain * grain;
}

static uint64_t unit_block(const struct shares *s, int unit, int local)
{
    return block_bytes(&s->blocks, topo_node_rank(s->t, unit, local));
}

/*
 * A cut that falls close to a border between two blocks moves there: slivers of blocks would
 * cost messages and balance nothing.
 */
void shares_cut_by(const struct shares *s, struct cutter *c, int unit)
{
    int blocks = topo_node_size(s->t, unit), block = 0;
    uint64_t total = 0, border = 0, next = unit_block(s, unit, 0);

    if (!s->blocks.sizes && c->equal == blocks)
        return;
    c->equal = s->blocks.sizes ? 0 : blocks;
    for (int l = 0; l < blocks; l++)
        total += unit_block(s, unit, l);
    for (int l = 0; l <= c->size; l++)
        c->cut[l] = cut_at(c, total, s->grain, l);
    for (int l = 1; l < c->size; l++) {
        uint64_t before = c->cut[l] - c->cut[l - 1], after = c->cut[l + 1] - c->cut[l];
        uint64_t close = (before < after ? before : after) / 32;

        while (next <= c->cut[l] && block + 1 < blocks) {
            border = next;
            next += unit_block(s, unit, ++block);
        }
        if (c->cut[l] - border <= close)
            c->cut[l] = border;
        else if (next > c->cut[l] && next - c->cut[l] <= close)
            c->cut[l] = next;
    }
}

/* Has the node consecutive ranks? */
static int lies_packed(const struct topo *t, int node)
{
    int first = topo_node_rank(t, node, 0), l = topo_node_size(t, node) - 1;

    while (l > 0 && topo_node_rank(t, node, l) == first + l)
        l--;
    return l == 0;
}

void shares_cut(struct shares *s, int unit)
{
    s->packed = lies_packed(s->t, unit) ? unit : -1;
    shares_cut_by(s, s->by_here, unit);
    if (s->by_left != s->by_here)
        shares_cut_by(s, s->by_left, unit);
    if (s->by_right != s->by_here)
        shares_cut_by(s, s->by_right, unit);
}

int shares_divide(const struct topo *t, uint64_t total, size_t grain, size_t *sizes, uint64_t *from)
{
    uint64_t elements = total / grain, next = 0;

    for (int n = 0; n < t->nnodes; n++) {
        uint64_t first =
            (uint64_t)((unsigned __int128)elements * (unsigned)n / (unsigned)t->nnodes);
        uint64_t last =
            (uint64_t)((unsigned __int128)elements * (unsigned)(n + 1) / (unsigned)t->nnodes);
        uint64_t part = (last - first) * grain;
        struct cutter c;

        if (cutter_open(&c, t, n, SHARE_THROUGH) < 0)
            return -ENOMEM;
        for (int l = 0; l < c.size; l++)
            sizes[topo_node_rank(t, n, l)] =
                (size_t)(cut_at(&c, part, grain, l + 1) - cut_at(&c, part, grain, l));
        free(c.weight);
    }
    for (int r = 0; r < t->nranks; r++) {
        from[r] = next;
        next += sizes[r];
    }
    return 0;
}

int share_next(const struct shares *s, int unit, struct share *rest, struct share_piece *piece)
{
    const struct blocks *b = &s->blocks;
    int first = b->sizes || !b->equal ? 0 : (int)(rest->from / b->equal);
    uint64_t start = (uint64_t)first * b->equal;

    if (rest->from >= rest->to)
        return 0;
    for (int l = first; l < topo_node_size(s->t, unit); l++) {
        uint64_t bytes = unit_block(s, unit, l);

        if (rest->from < start + bytes) {
            uint64_t end = rest->to < start + bytes ? rest->to : start + bytes;
            *piece = (struct share_piece){.rank = topo_node_rank(s->t, unit, l),
                                          .offset = rest->from - start,
                                          .length = end - rest->from,
                                          .at = {rest->from, end}};
            rest->from = end;
            return 1;
        }
        start += bytes;
    }
    return 0;
}

int share_next_run(const struct shares *s, int unit, struct share *rest, struct share_piece *run)
{
    struct share ahead;
    struct share_piece next;

    if (!share_next(s, unit, rest, run))
        return 0;
    if (unit == s->packed) {
        run->length += rest->to - rest->from;
        run->at.to = rest->from = rest->to;
    }
    for (ahead = *rest; ahead.from < ahead.to && share_next(s, unit, &ahead, &next);
         *rest = ahead) {
        if (share_piece_from(s, run) + run->length != share_piece_from(s, &next))
            break;
        run->length += next.length;
        run->at.to = next.at.to;
    }
    return 1;
}
