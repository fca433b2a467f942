/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All data passes the root's node, so its rails decide the time. All of them must carry their share
 * although only one belongs to the root. The path is a tree: leaf (a remote rank), holder (a local
 * rank of the root's node) and root. Gather goes up, scatter down, and both are the same walk over
 * the same pieces. A leaf's block leaves by the leaf's own rail, which is rarely the bottleneck:
 * with equal nodes a leaf has one holder, and each holder one leaf per node. It is the bottleneck
 * if nodes are few, or if a leaf has a large block or a slow rail. Then that node's unit is cut by
 * its own rails too, and a piece may pass an exit, a local rank of the leaf, on its way.
 *
 * Rejected: a binomial tree, because it sends blocks through the rails of nodes in between.
 * Messages per rail are few and large without it.
 */
#include "planners/algorithms/parallel_rings/rings_rooted.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/parallel_rings/arrivals.h"

enum { SLOTS = 4 }; /* units that a holder has in hand at once */

enum { CLOSE = 32 }; /* a rail that ends 1/CLOSE later is not worth a relay */

enum rooted_tag { ROOTED_RAIL, ROOTED_LOCAL, ROOTED_OWN, ROOTED_EXIT };

struct rings_rooted {
    struct plan_builder *b;
    struct shares *s; /* the root's */
    const struct plan_request *q;
    int up;              /* gather */
    double root_ends;    /* when the rails of the root's node are through: bytes per weight */
    struct cutter exits; /* owned: through whose rail the current unit leaves its node */
    uint64_t most;
    struct arrivals used[SLOTS]; /* operations that read a slot, by slot bytes */
};

/* Bytes of one block, and the rank of its node through whose rail they pass. */
struct piece {
    struct share_piece g;
    int exit;
};

/* The rank at the other end of a hop. */
struct hop {
    int peer;
    enum rooted_tag tag;
};

/* Would some rail of the unit's node, busy with its own rank's block alone, be what all wait for?
 */
static int some_rail_lags(const struct rings_rooted *w, int unit)
{
    const struct cutter *c = &w->exits;
    double worst = 0, bytes = 0;

    for (int l = 0; l < c->size; l++) {
        double block = (double)block_bytes(&w->s->blocks, topo_node_rank(w->q->topo, unit, l));
        double ends = block / (double)(c->weight[l + 1] - c->weight[l]);

        bytes += block;
        worst = ends > worst ? ends : worst;
    }
    double together = bytes / (double)c->weight[c->size];
    return worst * CLOSE > (w->root_ends > together ? w->root_ends : together) * (CLOSE + 1);
}

/* Cut a remote node's unit at both ends. 0 or -ENOMEM. */
static int cut_unit(struct rings_rooted *w, int unit)
{
    free(w->exits.weight);
    w->exits = (struct cutter){0};
    if (cutter_open(&w->exits, w->q->topo, unit, w->up ? SHARE_OUT : SHARE_IN) < 0)
        return -ENOMEM;
    if (some_rail_lags(w, unit)) {
        shares_cut_by(w->s, &w->exits, unit);
    } else {
        uint64_t *cut = w->exits.cut;

        cut[0] = 0;
        for (int l = 0; l < w->exits.size; l++)
            cut[l + 1] = cut[l] + block_bytes(&w->s->blocks, topo_node_rank(w->q->topo, unit, l));
    }
    shares_cut(w->s, unit);
    return 0;
}

/* Take the next piece off the front of *rest, a share of that unit: 0 when nothing is left. */
static int piece_next(const struct rings_rooted *w, int unit, struct share *rest, struct piece *p)
{
    const uint64_t *cut = w->exits.cut;
    struct share part = *rest;
    int l = 0;

    if (part.from >= part.to)
        return 0;
    while (cut[l + 1] <= part.from)
        l++;
    part.to = part.to < cut[l + 1] ? part.to : cut[l + 1];
    p->exit = topo_node_rank(w->q->topo, unit, l);
    share_next(w->s, unit, &part, &p->g);
    rest->from = p->g.at.to;
    return 1;
}

/* The leaf's end: its own block, in the user's buffer. */
static void leaf(struct rings_rooted *w, struct hop to, uint64_t offset, uint64_t length)
{
    if (w->up)
        plan_send(w->b, to.peer, to.tag, PLAN_INPUT, offset, length);
    else
        plan_recv(w->b, to.peer, to.tag, PLAN_OUTPUT, offset, length);
}

/* The root's end: all blocks, in the user's buffer. */
static void trunk(struct rings_rooted *w, struct hop to, uint64_t at, uint64_t length)
{
    if (w->up)
        plan_recv(w->b, to.peer, to.tag, PLAN_OUTPUT, at, length);
    else
        plan_send(w->b, to.peer, to.tag, PLAN_INPUT, at, length);
}

/* In between: chunk by chunk from the leaf's side to the root's, or back, by way of scratch. The
   bytes of scratch are free once the operations in `busy` have read them. Returns the operation
   that reads them now. */
static uint32_t pass_on(struct rings_rooted *w, struct hop leafward, struct hop rootward,
                        uint64_t scratch, uint64_t length, const struct arrivals *busy,
                        struct share at)
{
    struct hop from = w->up ? leafward : rootward, to = w->up ? rootward : leafward;
    uint32_t in = plan_recv(w->b, from.peer, from.tag, PLAN_SCRATCH, scratch, length);

    arrivals_wait(busy, w->b, at);
    uint32_t out = plan_send(w->b, to.peer, to.tag, PLAN_SCRATCH, scratch, length);
    plan_after(w->b, in);
    return out;
}

/* One remote unit, seen by a holder that is not the root. */
static void hold_unit(struct rings_rooted *w, int unit, int slot)
{
    struct share mine = share_of(w->s->by_here, w->q->topo->rank[w->q->rank].local), rest = mine;
    struct hop root = {w->s->rank, ROOTED_LOCAL};
    struct arrivals readers = {0}, *used = &w->used[slot];
    struct piece p;

    while (piece_next(w, unit, &rest, &p)) {
        struct share at = {p.g.at.from - mine.from, p.g.at.to - mine.from};

        arrivals_note(&readers, at,
                      pass_on(w, (struct hop){p.exit, ROOTED_RAIL}, root,
                              (uint64_t)slot * w->most + at.from, p.g.length, used, at));
    }
    arrivals_forget(used, mine.to - mine.from);
    for (size_t i = 0; i < readers.n; i++)
        arrivals_note(used, readers.list[i].at, readers.list[i].op);
    used->failed |= readers.failed;
    arrivals_close(&readers);
}

/* One remote unit, seen by the root: through its own rail, then by way of each other holder. */
static void trunk_unit(struct rings_rooted *w, int unit)
{
    for (int turn = 0; turn < w->s->by_here->size; turn++) {
        int local = shares_peer(w->s, turn);
        struct hop holder = {shares_rank_here(w->s, local), ROOTED_LOCAL};
        struct share rest = share_of(w->s->by_here, local);
        struct piece p;

        while (piece_next(w, unit, &rest, &p))
            trunk(w, turn == 0 ? (struct hop){p.exit, ROOTED_RAIL} : holder,
                  share_piece_from(w->s, &p.g), p.g.length);
    }
}

/* A remote rank: its block in pieces, to or from their holders, and the parts of others' blocks
   that pass its rail. */
static int leaf_block(struct rings_rooted *w, uint64_t *scratch_bytes)
{
    const struct topo_rank *me = &w->q->topo->rank[w->q->rank];

    if (cut_unit(w, me->node) < 0)
        return -ENOMEM;
    struct share passing = share_of(&w->exits, me->local);
    for (int l = 0; l < w->s->by_here->size; l++) {
        struct hop holder = {shares_rank_here(w->s, l), ROOTED_RAIL};
        struct share rest = share_of(w->s->by_here, l);
        struct piece p;

        while (piece_next(w, me->node, &rest, &p)) {
            struct hop owner = {p.g.rank, ROOTED_EXIT}, exit = {p.exit, ROOTED_EXIT};

            if (p.g.rank == w->q->rank) {
                leaf(w, p.exit == w->q->rank ? holder : exit, p.g.offset, p.g.length);
            } else if (p.exit == w->q->rank) {
                pass_on(w, owner, holder, p.g.at.from - passing.from, p.g.length, NULL, p.g.at);
                *scratch_bytes = passing.to - passing.from;
            }
        }
    }
    return 0;
}

/* The blocks of the root's own node. */
static void own_blocks(struct rings_rooted *w)
{
    int root = w->s->rank;

    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        int rank = shares_rank_here(w->s, shares_peer(w->s, turn));

        trunk(w, (struct hop){rank, ROOTED_OWN}, block_from(&w->s->blocks, rank),
              block_bytes(&w->s->blocks, rank));
    }
    if (plan_in_place(w->q, root))
        return;
    uint64_t at = block_from(&w->s->blocks, root);
    plan_copy(w->b, ROOTED_OWN, PLAN_INPUT, w->up ? 0 : at, PLAN_OUTPUT, w->up ? at : 0,
              block_bytes(&w->s->blocks, root));
}

/* The largest share this holder ever has. */
static uint64_t largest_share(struct rings_rooted *w)
{
    uint64_t most = 0;

    for (int unit = 0; unit < w->q->topo->nnodes; unit++) {
        if (unit == w->s->node)
            continue;
        shares_cut(w->s, unit);
        struct share mine = share_of(w->s->by_here, w->q->topo->rank[w->q->rank].local);
        if (mine.to - mine.from > most)
            most = mine.to - mine.from;
    }
    return most;
}

/* The root's node: what every other unit takes, and its own blocks. */
static int root_node(struct rings_rooted *w, uint64_t *scratch_bytes)
{
    int nodes = w->q->topo->nnodes, rc = 0;

    if (w->q->rank != w->s->rank) {
        w->most = largest_share(w);
        *scratch_bytes = w->most * (uint64_t)(nodes - 1 < SLOTS ? nodes - 1 : SLOTS);
    }
    for (int step = 1; !rc && step < nodes; step++) {
        int unit = (w->s->node + step) % nodes;

        rc = cut_unit(w, unit);
        if (!rc && w->q->rank == w->s->rank)
            trunk_unit(w, unit);
        else if (!rc)
            hold_unit(w, unit, (step - 1) % SLOTS);
    }
    if (w->q->rank == w->s->rank)
        own_blocks(w);
    else
        leaf(w, (struct hop){w->s->rank, ROOTED_OWN}, 0, block_bytes(&w->s->blocks, w->q->rank));
    for (int i = 0; i < SLOTS; i++) {
        if (w->used[i].failed)
            rc = -ENOMEM;
        arrivals_close(&w->used[i]);
    }
    return rc;
}

/* Bytes that all rails of the root's node must carry, per weight of theirs. */
static double root_ends(const struct shares *s)
{
    uint64_t bytes = 0;

    for (int r = 0; r < s->t->nranks; r++)
        if (s->t->rank[r].node != s->node)
            bytes += block_bytes(&s->blocks, r);
    return (double)bytes / (double)s->by_here->weight[s->by_here->size];
}

int rings_rooted(struct plan_builder *b, struct shares *s, const struct plan_request *q,
                 uint64_t *scratch_bytes)
{
    struct rings_rooted w = {
        .b = b, .s = s, .q = q, .up = plan_gathers(q->collective), .root_ends = root_ends(s)};

    *scratch_bytes = 0;
    int rc = q->topo->rank[q->rank].node == s->node ? root_node(&w, scratch_bytes)
                                                    : leaf_block(&w, scratch_bytes);
    free(w.exits.weight);
    return rc;
}
