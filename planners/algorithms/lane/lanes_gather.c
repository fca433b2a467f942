/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by lanes, in few messages. The blocks of the own node are exchanged at once. Then each
 * local rank gathers its share of every other node's unit in scratch, in the ceil(log2 nodes) steps
 * of Bruck's algorithm, which serves any number of nodes. Then it sends its local peers all it has
 * gathered as one message, and every rank copies the received bytes to their places. The copies are
 * the price. The rings need none, but as many messages as there are nodes.
 *
 * Behind its own shares (lanes_units.h), scratch holds those of one local peer after the other,
 * from unit 1.
 */
#include "planners/algorithms/lane/lanes_units.h"

/* Every block of the own node goes to every rank of it. */
static void exchange_blocks(struct lane_units *u)
{
    const struct plan_request *q = u->w->q;
    struct spot out = {PLAN_OUTPUT, block_from(&u->s.blocks, q->rank)};
    struct spot own = q->in_place ? out : (struct spot){PLAN_INPUT, 0};
    size_t bytes = block_bytes(&u->s.blocks, q->rank);

    for (int turn = 1; turn < u->s.by_here->size; turn++) {
        int peer = shares_rank_here(&u->s, shares_peer(&u->s, turn));

        tracked_send(&u->w->ops, peer, LANES_HAND_IN, own, bytes);
        tracked_recv(&u->w->ops, peer, LANES_HAND_IN,
                     (struct spot){PLAN_OUTPUT, block_from(&u->s.blocks, peer)},
                     block_bytes(&u->s.blocks, peer));
    }
    tracked_copy(&u->w->ops, 0, own, out, bytes);
}

/* The part of the own unit that this rank sends to other nodes. */
static void start_share(struct lane_units *u)
{
    struct share rest = lane_units_share(u, 0, u->s.local);
    uint64_t to = 0;
    struct share_piece piece;

    for (; share_next(&u->s, u->s.node, &rest, &piece); to += piece.length) {
        int own = piece.rank == u->s.rank && !u->w->q->in_place;
        struct spot from = {own ? PLAN_INPUT : PLAN_OUTPUT,
                            own ? piece.offset : share_piece_from(&u->s, &piece)};

        tracked_copy(&u->w->ops, 0, from, (struct spot){PLAN_SCRATCH, to}, piece.length);
    }
}

/* Copy a local rank's shares of units 1 and on from scratch, where they begin at `from`, to where
   they belong. No other operation touches those bytes of the output. */
static void place_shares(struct lane_units *u, int local, uint64_t from)
{
    struct plan_builder *b = u->w->ops.b;

    for (int j = 1; j < u->nodes; j++) {
        struct share rest = lane_units_share(u, j, local);
        struct share_piece piece;

        while (share_next_run(&u->s, lane_unit(u, j), &rest, &piece)) {
            plan_copy(b, 1 + local, PLAN_SCRATCH, from, PLAN_OUTPUT,
                      share_piece_from(&u->s, &piece), piece.length);
            tracked_wait(&u->w->ops, (struct spot){PLAN_SCRATCH, from}, piece.length);
            from += piece.length;
        }
    }
}

static void hand_out(struct lane_units *u)
{
    uint64_t mine = u->own[1], bytes = u->own[u->nodes] - mine, at = u->own[u->nodes];

    for (int turn = 1; turn < u->s.by_here->size; turn++)
        tracked_send(&u->w->ops, shares_rank_here(&u->s, shares_peer(&u->s, turn)), LANES_HAND_OUT,
                     (struct spot){PLAN_SCRATCH, mine}, bytes);
    place_shares(u, u->s.local, mine);
    for (int turn = 1; turn < u->s.by_here->size; turn++) {
        int peer = shares_peer(&u->s, turn);
        uint64_t theirs = lane_units_bytes(u, peer, 1);

        tracked_recv(&u->w->ops, shares_rank_here(&u->s, peer), LANES_HAND_OUT,
                     (struct spot){PLAN_SCRATCH, at}, theirs);
        place_shares(u, peer, at);
        at += theirs;
    }
    u->w->scratch_bytes = at;
}

int lanes_allgather(struct lane_work *w)
{
    struct lane_units u;
    int rc = lane_units_open(&u, w);

    if (!rc) {
        exchange_blocks(&u);
        if (u.nodes > 1)
            start_share(&u);
    }
    for (int have = 1; have < u.nodes && !rc; have *= 2) {
        int count = have < u.nodes - have ? have : u.nodes - have;

        rc = lane_units_trade(&u, lane_unit(&u, u.nodes - have), LANES_RESULT, 1, 0, count);
        if (!rc)
            rc = lane_units_trade(&u, lane_unit(&u, have), LANES_RESULT, 0, have, count);
    }
    if (!rc && u.nodes > 1)
        hand_out(&u);
    lane_units_close(&u);
    return rc;
}
