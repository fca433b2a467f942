/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading inside a node along trees (rings_trees.h). A local rank's first data - its own block,
 * or its share of another node's unit - goes down the tree that is rooted there. Each hop has a
 * tag, so that data from far away does not delay near data. Only recursive doubling joins adjacent
 * data of one step into one message, to send few messages. It therefore always sends from the
 * output.
 */
#include "planners/algorithms/parallel_rings/rings_spread.h"

/* A local rank's first data, in the unit's order. */
static struct share held_by(const struct spread *w, int unit, int local)
{
    struct share held = {0, 0};

    if (unit != w->s->node)
        return share_of(w->s->by_here, local);
    for (int l = 0; l <= local; l++) {
        held.from = held.to;
        held.to += block_bytes(&w->s->blocks, shares_rank_here(w->s, l));
    }
    return held;
}

/* One hop of the tree of `root`: from the local rank `peer` to this one, or the other way. */
static void hop(struct spread *w, int unit, int root, int to, int peer, spread_use *use)
{
    int depth = rings_depth(w->trees, root, to);
    int tag = depth == 1 ? (int)RINGS_SPREAD_LOCAL : RINGS_RELAY + 2 * (depth - 2);
    struct share held = held_by(w, unit, root);
    struct share_piece g;

    if (unit == w->s->node)
        spread_pieces(w, shares_rank_here(w->s, root), held, to, shares_rank_here(w->s, peer), tag,
                      use);
    else
        while (share_next_run(w->s, unit, &held, &g))
            use(w, shares_rank_here(w->s, peer), tag, &g);
}

/* Is the second piece, the next of the unit, also the next of the vector? */
static int side_by_side(const struct spread *w, const struct share_piece *a,
                        const struct share_piece *b)
{
    return a->length && a->at.to == b->at.from &&
           share_piece_from(w->s, a) + a->length == share_piece_from(w->s, b);
}

/* All that goes from one local rank to another: one of them is this rank, the other `peer`. */
static void step_together(struct spread *w, int unit, int from, int to, int peer, spread_use *use)
{
    struct share_piece run = {0}, g;

    for (int root = 0; root < w->trees->size; root++) {
        struct share held = held_by(w, unit, root);

        if (rings_parent(w->trees, root, to) != from)
            continue;
        while (share_next_run(w->s, unit, &held, &g)) {
            if (side_by_side(w, &run, &g)) {
                run.length += g.length;
                run.at.to = g.at.to;
                continue;
            }
            if (run.length)
                use(w, shares_rank_here(w->s, peer), RINGS_SPREAD_LOCAL, &run);
            run = g;
        }
    }
    if (run.length)
        use(w, shares_rank_here(w->s, peer), RINGS_SPREAD_LOCAL, &run);
}

/* Send from the output, the own block too. */
static void send_together(struct spread *w, int peer, int tag, const struct share_piece *g)
{
    plan_send(w->b, peer, tag, PLAN_OUTPUT, share_piece_from(w->s, g), g->length);
    arrivals_wait(&w->here, w->b, g->at);
}

/* The own block is one more thing that arrives. */
static void own_arrives(struct spread *w)
{
    struct share held = held_by(w, w->s->node, w->s->local);

    arrivals_note(&w->here, held, spread_copy_own(w));
    for (size_t i = 0; w->made && i < w->made->n; i++)
        arrivals_note(&w->here,
                      (struct share){held.from + w->made->list[i].at.from,
                                     held.from + w->made->list[i].at.to},
                      w->made->list[i].op);
}

/* Both ends of a tag go through the roots in the same order. */
void trees_take(struct spread *w, int unit)
{
    int here = w->s->local, together = w->trees->intra == RINGS_RECURSIVE_DOUBLING;

    if (together && unit == w->s->node)
        own_arrives(w);
    for (int other = 0; other < w->trees->size; other++) {
        if (other == here)
            continue;
        if (together)
            step_together(w, unit, other, here, other, spread_receive);
        else
            hop(w, unit, other, here, rings_parent(w->trees, other, here), spread_receive);
    }
}

static void give_together(struct spread *w, int unit)
{
    for (int turn = 1; turn < w->trees->size; turn++) {
        int peer = shares_peer(w->s, turn);

        step_together(w, unit, w->s->local, peer, peer, send_together);
    }
}

void trees_give(struct spread *w, int unit)
{
    if (w->trees->intra == RINGS_RECURSIVE_DOUBLING) {
        give_together(w, unit);
        return;
    }
    for (int root = 0; root < w->trees->size; root++)
        for (int turn = 1; turn < w->trees->size; turn++) {
            int peer = shares_peer(w->s, turn);

            if (rings_parent(w->trees, root, peer) == w->s->local)
                hop(w, unit, root, peer, peer, spread_send);
        }
    if (unit == w->s->node)
        spread_copy_own(w);
}
