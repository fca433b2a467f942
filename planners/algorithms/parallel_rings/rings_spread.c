/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading is the paper's Algorithm 1, with two differences. The paper gives ring l the blocks of
 * local rank l, which needs as many ranks on every node and equal blocks. Here local rank l
 * receives and forwards its share of every unit (shares.h). So uneven nodes, uneven blocks and slow
 * rails finish at the same time. The paper forwards whole blocks, step by step. Here a chunk goes
 * on, to the right and to the local peers, as soon as it has arrived.
 */
#include "planners/algorithms/parallel_rings/rings_spread.h"

#include <errno.h>

void spread_receive(struct spread *w, int peer, int tag, const struct share_piece *g)
{
    uint64_t at = share_piece_from(w->s, g);
    uint32_t op = plan_recv(w->b, peer, tag, PLAN_OUTPUT, at, g->length);

    arrivals_wait(w->busy, w->b, (struct share){at, at + g->length});
    arrivals_note(&w->here, g->at, op);
}

void spread_send(struct spread *w, int peer, int tag, const struct share_piece *g)
{
    if (g->rank == w->s->rank && w->own == PLAN_INPUT) {
        plan_send(w->b, peer, tag, PLAN_INPUT, g->offset, g->length);
        return;
    }
    plan_send(w->b, peer, tag, PLAN_OUTPUT, share_piece_from(w->s, g), g->length);
    if (g->rank == w->s->rank)
        arrivals_wait(w->made, w->b, (struct share){g->offset, g->offset + g->length});
    else
        arrivals_wait(&w->here, w->b, g->at);
}

void spread_pieces(struct spread *w, int rank, struct share block, int reader, int peer, int tag,
                   spread_use *use)
{
    struct share first = share_common(block, share_of(w->s->by_here, reader));
    struct share parts[3] = {first, {block.from, block.to}, {0, 0}};

    if (first.to) {
        parts[1] = (struct share){block.from, first.from};
        parts[2] = (struct share){first.to, block.to};
    }
    for (int i = 0; i < 3; i++)
        if (parts[i].from < parts[i].to)
            use(w, peer, tag,
                &(struct share_piece){.rank = rank,
                                      .offset = parts[i].from - block.from,
                                      .length = parts[i].to - parts[i].from,
                                      .at = parts[i]});
}

uint32_t spread_copy_own(struct spread *w)
{
    int rank = w->s->rank;

    return w->own != PLAN_INPUT
               ? PLAN_NO_OP
               : plan_copy(w->b, RINGS_SPREAD, PLAN_INPUT, 0, PLAN_OUTPUT,
                           block_from(&w->s->blocks, rank), block_bytes(&w->s->blocks, rank));
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
        spread_pieces(w, rank, block, w->s->local, rank, RINGS_SPREAD_LOCAL, spread_receive);
}

static void give_block(struct spread *w, int local, int rank, struct share block)
{
    if (local != w->s->local)
        return;
    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        int peer = shares_peer(w->s, turn);
        spread_pieces(w, rank, block, peer, shares_rank_here(w->s, peer), RINGS_SPREAD_LOCAL,
                      spread_send);
    }
    spread_copy_own(w);
}

/*
 * The next piece that leaves a node. Elsewhere a unit's blocks lie side by side. In the unit's own
 * node the sender's block may lie in its input.
 */
static int next_from(const struct shares *s, int sender, int unit, struct share *rest,
                     struct share_piece *g)
{
    return sender == unit ? share_next(s, unit, rest, g) : share_next_run(s, unit, rest, g);
}

static void spread_from_left(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int l = 0; l < s->by_left->size; l++) {
        struct share rest = share_common(share_of(s->by_left, l), share_of(s->by_here, s->local));
        struct share_piece g;

        while (next_from(s, s->left, unit, &rest, &g))
            spread_receive(w, topo_node_rank(s->t, s->left, l), RINGS_SPREAD, &g);
    }
}

static void spread_to_right(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int l = 0; l < s->by_right->size; l++) {
        struct share rest = share_common(share_of(s->by_right, l), share_of(s->by_here, s->local));
        struct share_piece g;

        while (next_from(s, s->node, unit, &rest, &g))
            spread_send(w, topo_node_rank(s->t, s->right, l), RINGS_SPREAD, &g);
    }
}

static void spread_to_peers(struct spread *w, int unit)
{
    struct shares *s = w->s;
    struct share rest = share_of(s->by_here, s->local);
    struct share_piece g;

    while (share_next_run(s, unit, &rest, &g))
        for (int turn = 1; turn < s->by_here->size; turn++)
            spread_send(w, shares_rank_here(s, shares_peer(s, turn)), RINGS_SPREAD_LOCAL, &g);
}

static void spread_from_peers(struct spread *w, int unit)
{
    struct shares *s = w->s;

    for (int turn = 1; turn < s->by_here->size; turn++) {
        int peer = shares_peer(s, turn);
        struct share rest = share_of(s->by_here, peer);
        struct share_piece g;

        while (share_next_run(s, unit, &rest, &g))
            spread_receive(w, shares_rank_here(s, peer), RINGS_SPREAD_LOCAL, &g);
    }
}

/* A unit inside the node, once it is here or on its way. */
static void exchange(struct spread *w, int unit)
{
    if (w->trees->intra != RINGS_LINEAR) {
        if (unit != w->s->node)
            trees_take(w, unit);
        trees_give(w, unit);
    } else if (unit == w->s->node) {
        each_own_block(w, give_block);
    } else {
        spread_to_peers(w, unit);
        spread_from_peers(w, unit);
    }
}

int rings_spread(struct plan_builder *b, struct shares *s, const struct rings_trees *trees,
                 enum plan_buffer own, const struct arrivals *made, const struct arrivals *busy)
{
    struct spread w = {.b = b, .s = s, .trees = trees, .own = own, .made = made, .busy = busy};
    int nodes = s->t->nnodes, unit = s->node;

    for (int step = 0; step < nodes; step++, unit = (unit + nodes - 1) % nodes) {
        shares_cut(s, unit);
        w.here.n = 0;
        if (step > 0)
            spread_from_left(&w, unit);
        else if (trees->intra == RINGS_LINEAR)
            each_own_block(&w, take_block);
        else
            trees_take(&w, unit);
        /* The rails first: what is added first is posted first. */
        if (step < nodes - 1) /* the right neighbour is not where the unit comes from */
            spread_to_right(&w, unit);
        exchange(&w, unit);
    }
    int failed = w.here.failed;
    arrivals_close(&w.here);
    return failed ? -ENOMEM : 0;
}
