/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading is the paper's Algorithm 1, with two differences. The paper gives ring l the blocks
 * of local rank l, which needs as many ranks on every node and equal blocks; here local rank l
 * receives and forwards its share of every unit (shares.h), so uneven nodes, uneven blocks and
 * slow rails still finish at the same time. And the paper forwards whole blocks, step by step;
 * here a chunk goes on, to the right and to the local peers, as soon as it is in.
 */
#include "planners/rings_stage.h"

#include <errno.h>

struct spread {
    struct plan_builder *b;
    struct shares *s;
    enum plan_buffer own;
    const struct arrivals *made, *busy;
    struct arrivals here; /* what of the current unit has been received, by unit bytes */
};

/* Receive a segment into its place in the output. */
static void spread_receive(struct spread *w, int peer, enum rings_lane lane,
                           const struct segment *g)
{
    uint64_t at = segment_from(w->s, g);
    uint32_t op = plan_recv(w->b, peer, lane, PLAN_OUTPUT, at, g->length);

    arrivals_wait(w->busy, w->b, (struct share){at, at + g->length});
    arrivals_note(&w->here, g->at, op);
}

static void spread_send(struct spread *w, int peer, enum rings_lane lane, const struct segment *g)
{
    if (g->rank == w->s->rank && w->own == PLAN_INPUT) {
        plan_send(w->b, peer, lane, PLAN_INPUT, g->offset, g->length);
        return;
    }
    plan_send(w->b, peer, lane, PLAN_OUTPUT, segment_from(w->s, g), g->length);
    if (g->rank == w->s->rank)
        arrivals_wait(w->made, w->b, (struct share){g->offset, g->offset + g->length});
    else
        arrivals_wait(&w->here, w->b, g->at);
}

/* The own node's unit: rank's block in the order in which `reader` needs it: what that rank has
   to send on first, then the rest. Calls use(w, peer, segment) for each piece. */
static void each_piece_for(struct spread *w, int rank, struct share block, int reader, int peer,
                           void (*use)(struct spread *, int, enum rings_lane,
                                       const struct segment *))
{
    struct share first = share_common(block, share_of(w->s->by_here, reader));
    struct share parts[3] = {first, {block.from, block.to}, {0, 0}};

    if (first.to) {
        parts[1] = (struct share){block.from, first.from};
        parts[2] = (struct share){first.to, block.to};
    }
    for (int i = 0; i < 3; i++)
        if (parts[i].from < parts[i].to)
            use(w, peer, RINGS_SPREAD_LOCAL,
                &(struct segment){.rank = rank,
                                  .offset = parts[i].from - block.from,
                                  .length = parts[i].to - parts[i].from,
                                  .at = parts[i]});
}

/* Visit the blocks of the own unit. */
static void each_own_block(struct spread *w,
                           void (*visit)(struct spread *, int local, int rank, struct share block))
{
    uint64_t start = 0;

    for (int l = 0; l < w->s->by_here->size; l++) {
        int rank = shares_rank_here(w->s, l);
        struct share block = {start, start + block_bytes(&w->s->blocks, rank)};

        visit(w, l, rank, block);
        start = block.to;
    }
}

/* The paper's local message exchange: every rank of the node gets every block of the node. */
static void take_block(struct spread *w, int local, int rank, struct share block)
{
    if (local != w->s->local)
        each_piece_for(w, rank, block, w->s->local, rank, spread_receive);
}

static void give_block(struct spread *w, int local, int rank, struct share block)
{
    if (local != w->s->local)
        return;
    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        int peer = shares_peer(w->s, turn);
        each_piece_for(w, rank, block, peer, shares_rank_here(w->s, peer), spread_send);
    }
    if (w->own == PLAN_INPUT)
        plan_copy(w->b, RINGS_SPREAD, PLAN_INPUT, 0, PLAN_OUTPUT, block_from(&w->s->blocks, rank),
                  block_bytes(&w->s->blocks, rank));
}

static void spread_from_left(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int l = 0; l < s->by_left->size; l++) {
        struct share rest = share_common(share_of(s->by_left, l), share_of(s->by_here, s->local));
        struct segment g;

        while (share_next(s, unit, &rest, &g))
            spread_receive(w, topo_node_rank(s->t, s->left, l), RINGS_SPREAD, &g);
    }
}

static void spread_to_right(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int l = 0; l < s->by_right->size; l++) {
        struct share rest = share_common(share_of(s->by_right, l), share_of(s->by_here, s->local));
        struct segment g;

        while (share_next(s, unit, &rest, &g))
            spread_send(w, topo_node_rank(s->t, s->right, l), RINGS_SPREAD, &g);
    }
}

static void spread_to_peers(struct spread *w, int unit)
{
    struct shares *s = w->s;
    struct share rest = share_of(s->by_here, s->local);
    struct segment g;

    while (share_next(s, unit, &rest, &g))
        for (int turn = 1; turn < s->by_here->size; turn++)
            spread_send(w, shares_rank_here(s, shares_peer(s, turn)), RINGS_SPREAD_LOCAL, &g);
}

static void spread_from_peers(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int turn = 1; turn < s->by_here->size; turn++) {
        int peer = shares_peer(s, turn);
        struct share rest = share_of(s->by_here, peer);
        struct segment g;

        while (share_next(s, unit, &rest, &g))
            spread_receive(w, shares_rank_here(s, peer), RINGS_SPREAD_LOCAL, &g);
    }
}

int rings_spread(struct plan_builder *b, struct shares *s, enum plan_buffer own,
                 const struct arrivals *made, const struct arrivals *busy)
{
    struct spread w = {.b = b, .s = s, .own = own, .made = made, .busy = busy};
    int nodes = s->t->nnodes, unit = s->node;

    for (int step = 0; step < nodes; step++, unit = (unit + nodes - 1) % nodes) {
        shares_cut(s, unit);
        w.here.n = 0;
        if (step == 0)
            each_own_block(&w, take_block);
        else
            spread_from_left(&w, unit);
        /* The rails first: what is added first is posted first. */
        if (step < nodes - 1) /* the right neighbour is not where the unit comes from */
            spread_to_right(&w, unit);
        if (step == 0) {
            each_own_block(&w, give_block);
        } else {
            spread_to_peers(&w, unit);
            spread_from_peers(&w, unit);
        }
    }
    int failed = w.here.failed;
    arrivals_close(&w.here);
    return failed ? -ENOMEM : 0;
}
