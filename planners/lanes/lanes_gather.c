/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by lanes, in few messages: the blocks of the own node are exchanged at once; then each
 * local rank gathers its share of every other node's unit in scratch, in the ceil(log2 nodes)
 * steps of Bruck's algorithm, which serves any number of nodes; then it gives its local peers all
 * it has gathered as one message, and everybody copies what came to where it belongs.
 *
 * The copies are the price. The rings need none, and as many messages as there are nodes.
 *
 * Units are counted from the own node on: unit j is that of the j-th node behind it. Scratch holds
 * the own shares of units 0, 1, 2 ..., then those of one local peer after the other, from unit 1.
 */
#include <errno.h>
#include <stdlib.h>

#include "planners/lanes/lanes_stage.h"

struct gather {
    struct lane_work *w;
    struct shares s;
    uint64_t *own;  /* [nodes + 1] owned: where the own share of unit j begins in scratch */
    uint64_t *from; /* [nranks] owned: where blocks begin, if they are not equal */
    int nodes;
};

static int unit_at(const struct gather *g, int j)
{
    return (g->s.node + j) % g->nodes;
}

static struct share share_at(struct shares *s, int unit, int local)
{
    shares_cut(s, unit);
    return share_of(s->by_here, local);
}

/* Bytes of a local rank's shares of units first .. nodes - 1. */
static uint64_t shares_bytes(struct gather *g, int local, int first)
{
    uint64_t bytes = 0;

    for (int j = first; j < g->nodes; j++) {
        struct share at = share_at(&g->s, unit_at(g, j), local);
        bytes += at.to - at.from;
    }
    return bytes;
}

/* Every block of the own node goes to every rank of it. */
static void exchange_blocks(struct gather *g)
{
    const struct plan_request *q = g->w->q;
    struct spot out = {PLAN_OUTPUT, block_from(&g->s.blocks, q->rank)};
    struct spot own = q->in_place ? out : (struct spot){PLAN_INPUT, 0};
    size_t bytes = block_bytes(&g->s.blocks, q->rank);

    for (int turn = 1; turn < g->s.by_here->size; turn++) {
        int peer = shares_rank_here(&g->s, shares_peer(&g->s, turn));

        tracked_send(&g->w->ops, peer, LANES_HAND_IN, own, bytes);
        tracked_recv(&g->w->ops, peer, LANES_HAND_IN,
                     (struct spot){PLAN_OUTPUT, block_from(&g->s.blocks, peer)},
                     block_bytes(&g->s.blocks, peer));
    }
    tracked_copy(&g->w->ops, 0, own, out, bytes);
}

/* What of the own unit this rank takes to other nodes. */
static void start_share(struct gather *g)
{
    struct share rest = share_at(&g->s, g->s.node, g->s.local);
    uint64_t to = 0;
    struct segment piece;

    for (; share_next(&g->s, g->s.node, &rest, &piece); to += piece.length) {
        int own = piece.rank == g->s.rank && !g->w->q->in_place;
        struct spot from = {own ? PLAN_INPUT : PLAN_OUTPUT,
                            own ? piece.offset : segment_from(&g->s, &piece)};

        tracked_copy(&g->w->ops, 0, from, (struct spot){PLAN_SCRATCH, to}, piece.length);
    }
}

static void trade(struct gather *g, int rank, int sending, uint64_t at, uint64_t bytes)
{
    struct spot spot = {PLAN_SCRATCH, at};

    if (sending)
        tracked_send(&g->w->ops, rank, LANES_RESULT, spot, bytes);
    else
        tracked_recv(&g->w->ops, rank, LANES_RESULT, spot, bytes);
}

/* Send the own shares of units first .. first + count - 1 to a node, or receive them from it. With
   a node that is cut alike this is one message. */
static int trade_units(struct gather *g, int node, int sending, int first, int count)
{
    struct shares there;
    int rc = shares_open(&there, g->s.t, topo_node_rank(g->s.t, node, 0), g->s.blocks, 1);
    int alike = !rc && cutters_alike(there.by_here, g->s.by_here);

    if (alike)
        trade(g, topo_node_rank(g->s.t, node, g->s.local), sending, g->own[first],
              g->own[first + count] - g->own[first]);
    for (int l = 0; !rc && !alike && l < there.by_here->size; l++)
        for (int j = first; j < first + count; j++) {
            struct share mine = share_at(&g->s, unit_at(g, j), g->s.local);
            struct share both = share_common(mine, share_at(&there, unit_at(g, j), l));

            trade(g, topo_node_rank(g->s.t, node, l), sending, g->own[j] + both.from - mine.from,
                  both.to - both.from);
        }
    shares_close(&there);
    return rc;
}

/* Copy a local rank's shares of units 1 and on from scratch, where they begin at `from`, to where
   they belong. Nobody else touches those bytes of the output. */
static void place_shares(struct gather *g, int local, uint64_t from)
{
    struct plan_builder *b = g->w->ops.b;

    for (int j = 1; j < g->nodes; j++) {
        struct share rest = share_at(&g->s, unit_at(g, j), local);
        struct segment piece;

        while (share_next(&g->s, unit_at(g, j), &rest, &piece)) {
            plan_copy(b, 1 + local, PLAN_SCRATCH, from, PLAN_OUTPUT, segment_from(&g->s, &piece),
                      piece.length);
            tracked_wait(&g->w->ops, (struct spot){PLAN_SCRATCH, from}, piece.length);
            from += piece.length;
        }
    }
}

static void hand_out(struct gather *g)
{
    uint64_t mine = g->own[1], bytes = g->own[g->nodes] - mine, at = g->own[g->nodes];

    for (int turn = 1; turn < g->s.by_here->size; turn++)
        tracked_send(&g->w->ops, shares_rank_here(&g->s, shares_peer(&g->s, turn)), LANES_HAND_OUT,
                     (struct spot){PLAN_SCRATCH, mine}, bytes);
    place_shares(g, g->s.local, mine);
    for (int turn = 1; turn < g->s.by_here->size; turn++) {
        int peer = shares_peer(&g->s, turn);
        uint64_t theirs = shares_bytes(g, peer, 1);

        tracked_recv(&g->w->ops, shares_rank_here(&g->s, peer), LANES_HAND_OUT,
                     (struct spot){PLAN_SCRATCH, at}, theirs);
        place_shares(g, peer, at);
        at += theirs;
    }
    g->w->scratch_bytes = at;
}

static int gather_open(struct gather *g)
{
    const struct plan_request *q = g->w->q;
    struct blocks blocks = {.equal = q->nbytes};

    g->own = malloc(((size_t)g->nodes + 1) * sizeof *g->own);
    if (!g->own)
        return -ENOMEM;
    if (q->bytes) {
        g->from = malloc((size_t)q->topo->nranks * sizeof *g->from);
        if (!g->from)
            return -ENOMEM;
        g->from[0] = 0;
        for (int r = 1; r < q->topo->nranks; r++)
            g->from[r] = g->from[r - 1] + q->bytes[r - 1];
        blocks = (struct blocks){.sizes = q->bytes, .from = g->from};
    }
    int rc = shares_open(&g->s, q->topo, q->rank, blocks, 1);
    g->own[0] = 0;
    for (int j = 0; j < g->nodes && !rc; j++) {
        struct share at = share_at(&g->s, unit_at(g, j), g->s.local);
        g->own[j + 1] = g->own[j] + at.to - at.from;
    }
    return rc;
}

int lanes_allgather(struct lane_work *w)
{
    struct gather g = {.w = w, .nodes = w->q->topo->nnodes};
    int rc = gather_open(&g);

    if (!rc) {
        exchange_blocks(&g);
        if (g.nodes > 1)
            start_share(&g);
    }
    for (int have = 1; have < g.nodes && !rc; have *= 2) {
        int count = have < g.nodes - have ? have : g.nodes - have;

        rc = trade_units(&g, unit_at(&g, g.nodes - have), 1, 0, count);
        if (!rc)
            rc = trade_units(&g, unit_at(&g, have), 0, have, count);
    }
    if (!rc && g.nodes > 1)
        hand_out(&g);
    shares_close(&g.s);
    free(g.own);
    free(g.from);
    return rc;
}
