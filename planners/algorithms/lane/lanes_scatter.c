/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by lanes, in few messages. Each local rank collects its node's contributions to
 * its share of every node's unit, as one message from each local peer. Then shares go to their
 * nodes and are combined on the way, in the ceil(log2 nodes) steps of Bruck's allgather turned
 * round, which serves any number of nodes. Then the own node's ranks get their blocks.
 *
 * The price is a copy of all that a rank contributes, so that messages are few. The rings need
 * none, and as many messages as there are nodes.
 *
 * Scatter is its second half, before which the root deals out what the others have combined there.
 *
 * Behind its own shares (lanes_units.h), scratch holds what this rank contributes to those of one
 * local peer after the other.
 */
#include "planners/algorithms/lane/lanes_units.h"

/* Copy this rank's contributions to a local rank's shares to scratch. Returns where they end. */
static uint64_t pack(struct lane_units *u, int local, uint64_t at)
{
    for (int j = 0; j < u->nodes; j++) {
        struct share rest = lane_units_share(u, j, local);
        struct share_piece piece;

        for (; share_next_run(&u->s, lane_unit(u, j), &rest, &piece); at += piece.length)
            tracked_copy(&u->w->ops, 0, (struct spot){PLAN_INPUT, share_piece_from(&u->s, &piece)},
                         (struct spot){PLAN_SCRATCH, at}, piece.length);
    }
    return at;
}

/* The own shares are packed, and each local peer's packed and sent. */
static void pack_all(struct lane_units *u)
{
    uint64_t at = pack(u, u->s.local, 0);

    for (int turn = 1; turn < u->s.by_here->size; turn++) {
        int peer = shares_peer(&u->s, turn);
        uint64_t end = pack(u, peer, at);

        tracked_send(&u->w->ops, shares_rank_here(&u->s, peer), LANES_HAND_IN,
                     (struct spot){PLAN_SCRATCH, at}, end - at);
        at = end;
    }
    u->w->scratch_bytes = at;
}

static void hand_in(struct lane_units *u)
{
    struct spot own = {PLAN_SCRATCH, 0};

    pack_all(u);
    for (int turn = 1; turn < u->s.by_here->size; turn++)
        tracked_recv_reduce(&u->w->ops, shares_rank_here(&u->s, shares_peer(&u->s, turn)),
                            LANES_HAND_IN, own, own, u->own[u->nodes]);
}

/* A piece of the own unit that `local` holds. A root's own block has not left it. */
static void deliver(struct lane_units *u, int local, const struct share_piece *piece, uint64_t at)
{
    struct spot from = {PLAN_SCRATCH, at}, to = {PLAN_OUTPUT, piece->offset};
    int holder = shares_rank_here(&u->s, local), owner = piece->rank, me = u->s.rank;

    if (plan_scatters(u->w->q->collective) && owner == u->w->q->root)
        return;
    if (holder == me && owner == me)
        tracked_copy(&u->w->ops, 0, from, to, piece->length);
    else if (holder == me)
        tracked_send(&u->w->ops, owner, LANES_HAND_OUT, from, piece->length);
    else if (owner == me)
        tracked_recv(&u->w->ops, holder, LANES_HAND_OUT, to, piece->length);
}

static void hand_out(struct lane_units *u)
{
    for (int turn = 0; turn < u->s.by_here->size; turn++) {
        int local = shares_peer(&u->s, turn);
        struct share rest = lane_units_share(u, 0, local);
        struct share_piece piece;

        for (uint64_t at = 0; share_next(&u->s, u->s.node, &rest, &piece); at += piece.length)
            deliver(u, local, &piece, at);
    }
}

int lanes_reduce_scatter(struct lane_work *w)
{
    struct lane_units u;
    int rc = lane_units_open(&u, w), have = 1;

    if (!rc)
        hand_in(&u);
    while (2 * have < u.nodes)
        have *= 2;
    for (; have > 0 && have < u.nodes && !rc; have /= 2) {
        int count = have < u.nodes - have ? have : u.nodes - have;

        rc = lane_units_trade(&u, lane_unit(&u, have), LANES_COMBINE, 1, have, count);
        if (!rc)
            rc = lane_units_trade(&u, lane_unit(&u, u.nodes - have), LANES_COMBINE, 0, 0, count);
    }
    if (!rc)
        hand_out(&u);
    lane_units_close(&u);
    return rc;
}

/* The root gives each rank of its node the shares of all units that are this rank's to carry. */
static void deal(struct lane_units *u)
{
    const struct plan_request *q = u->w->q;
    struct spot own = {PLAN_INPUT, block_from(&u->s.blocks, q->root)};

    if (q->rank != q->root) {
        u->w->scratch_bytes = u->own[u->nodes];
        tracked_recv(&u->w->ops, q->root, LANES_HAND_IN, (struct spot){PLAN_SCRATCH, 0},
                     u->own[u->nodes]);
        return;
    }
    pack_all(u);
    if (!plan_in_place(q, q->root))
        tracked_copy(&u->w->ops, 0, own, (struct spot){PLAN_OUTPUT, 0},
                     block_bytes(&u->s.blocks, q->root));
}

int lanes_scatter(struct lane_work *w)
{
    struct lane_units u;
    int rc = lane_units_open(&u, w), home = w->q->topo->rank[w->q->root].node;

    if (!rc && u.s.node == home) {
        deal(&u);
        for (int j = 1; j < u.nodes && !rc; j++)
            rc = lane_units_trade(&u, lane_unit(&u, j), LANES_RESULT, 1, j, 1);
    } else if (!rc) {
        w->scratch_bytes = u.own[1];
        rc = lane_units_trade(&u, home, LANES_RESULT, 0, 0, 1);
    }
    if (!rc)
        hand_out(&u);
    lane_units_close(&u);
    return rc;
}
