/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's node is where everything has to pass, so its rails decide, and all of them must carry
 * their share although only one belongs to the root. What travels is a tree of three levels: leaf
 * (a remote rank), holder (a local rank of the root's node) and root. Gather goes up, scatter down,
 * and both are the same walk over the same segments. A sender's block leaves by the sender's
 * own rail, which is never the narrow place: with equal nodes a leaf has one holder, and each
 * holder one leaf per node.
 *
 * A binomial tree would send blocks through the rails of nodes in between for nothing. Messages per
 * rail are few and large as it is.
 */
#include "planners/rings/rings_rooted.h"

#include <errno.h>

#include "planners/rings/arrivals.h"

enum { SLOTS = 4 }; /* units that a holder has in hand at once */

enum rooted_lane { ROOTED_RAIL, ROOTED_LOCAL, ROOTED_OWN };

struct rooted {
    struct plan_builder *b;
    struct shares *s; /* the root's */
    const struct plan_request *q;
    int up; /* gather */
    uint64_t most;
    struct arrivals used[SLOTS]; /* what reads a slot, by slot bytes */
};

/* The leaf's end: its own block, in the user's buffer. */
static void leaf(struct rooted *w, int peer, enum rooted_lane lane, uint64_t offset,
                 uint64_t length)
{
    if (w->up)
        plan_send(w->b, peer, lane, PLAN_INPUT, offset, length);
    else
        plan_recv(w->b, peer, lane, PLAN_OUTPUT, offset, length);
}

/* The root's end: all blocks, in the user's buffer. */
static void trunk(struct rooted *w, int peer, enum rooted_lane lane, uint64_t at, uint64_t length)
{
    if (w->up)
        plan_recv(w->b, peer, lane, PLAN_OUTPUT, at, length);
    else
        plan_send(w->b, peer, lane, PLAN_INPUT, at, length);
}

/* A holder's part: chunk by chunk from the leaf to the root, or back, by way of a slot. */
static void hold(struct rooted *w, const struct segment *g, int slot, uint64_t first,
                 struct arrivals *readers)
{
    struct share at = {g->at.from - first, g->at.to - first};
    uint64_t scratch = (uint64_t)slot * w->most + at.from;
    int root = w->s->rank;
    uint32_t in = w->up ? plan_recv(w->b, g->rank, ROOTED_RAIL, PLAN_SCRATCH, scratch, g->length)
                        : plan_recv(w->b, root, ROOTED_LOCAL, PLAN_SCRATCH, scratch, g->length);

    arrivals_wait(&w->used[slot], w->b, at);
    uint32_t out = w->up ? plan_send(w->b, root, ROOTED_LOCAL, PLAN_SCRATCH, scratch, g->length)
                         : plan_send(w->b, g->rank, ROOTED_RAIL, PLAN_SCRATCH, scratch, g->length);
    plan_after(w->b, in);
    arrivals_note(readers, at, out);
}

/* One remote unit, seen by a holder that is not the root. */
static void hold_unit(struct rooted *w, int unit, int slot)
{
    struct share mine = share_of(w->s->by_here, w->q->topo->rank[w->q->rank].local), rest = mine;
    struct arrivals readers = {0}, *used = &w->used[slot];
    struct segment g;

    while (share_next(w->s, unit, &rest, &g))
        hold(w, &g, slot, mine.from, &readers);
    arrivals_forget(used, mine.to - mine.from);
    for (size_t i = 0; i < readers.n; i++)
        arrivals_note(used, readers.list[i].at, readers.list[i].op);
    used->failed |= readers.failed;
    arrivals_close(&readers);
}

/* One remote unit, seen by the root: through its own rail, then by way of each other holder. */
static void trunk_unit(struct rooted *w, int unit)
{
    for (int turn = 0; turn < w->s->by_here->size; turn++) {
        int local = shares_peer(w->s, turn);
        struct share rest = share_of(w->s->by_here, local);
        struct segment g;

        while (share_next(w->s, unit, &rest, &g)) {
            if (turn == 0)
                trunk(w, g.rank, ROOTED_RAIL, segment_from(w->s, &g), g.length);
            else
                trunk(w, shares_rank_here(w->s, local), ROOTED_LOCAL, segment_from(w->s, &g),
                      g.length);
        }
    }
}

/* A remote rank: its block in pieces, to or from those who hold them. */
static void leaf_block(struct rooted *w)
{
    int unit = w->q->topo->rank[w->q->rank].node;

    shares_cut(w->s, unit);
    for (int l = 0; l < w->s->by_here->size; l++) {
        struct share rest = share_of(w->s->by_here, l);
        struct segment g;

        while (share_next(w->s, unit, &rest, &g))
            if (g.rank == w->q->rank)
                leaf(w, shares_rank_here(w->s, l), ROOTED_RAIL, g.offset, g.length);
    }
}

/* The blocks of the root's own node. */
static void own_blocks(struct rooted *w)
{
    int root = w->s->rank;

    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        int rank = shares_rank_here(w->s, shares_peer(w->s, turn));

        trunk(w, rank, ROOTED_OWN, block_from(&w->s->blocks, rank),
              block_bytes(&w->s->blocks, rank));
    }
    if (plan_in_place(w->q, root))
        return;
    uint64_t at = block_from(&w->s->blocks, root);
    plan_copy(w->b, ROOTED_OWN, PLAN_INPUT, w->up ? 0 : at, PLAN_OUTPUT, w->up ? at : 0,
              block_bytes(&w->s->blocks, root));
}

/* The largest share this holder ever has. */
static uint64_t largest_share(struct rooted *w)
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

int rings_rooted(struct plan_builder *b, struct shares *s, const struct plan_request *q,
                 uint64_t *scratch_bytes)
{
    struct rooted w = {.b = b,
                       .s = s,
                       .q = q,
                       .up = q->collective == COLL_GATHER || q->collective == COLL_GATHERV};
    int nodes = q->topo->nnodes, failed = 0;

    *scratch_bytes = 0;
    if (q->topo->rank[q->rank].node != s->node) {
        leaf_block(&w);
        return 0;
    }
    if (q->rank != s->rank) {
        w.most = largest_share(&w);
        *scratch_bytes = w.most * (uint64_t)(nodes - 1 < SLOTS ? nodes - 1 : SLOTS);
    }
    for (int step = 1; step < nodes; step++) {
        int unit = (s->node + step) % nodes;

        shares_cut(s, unit);
        if (q->rank == s->rank)
            trunk_unit(&w, unit);
        else
            hold_unit(&w, unit, (step - 1) % SLOTS);
    }
    if (q->rank == s->rank)
        own_blocks(&w);
    else
        leaf(&w, s->rank, ROOTED_OWN, 0, block_bytes(&s->blocks, q->rank));
    for (int i = 0; i < SLOTS; i++) {
        failed |= w.used[i].failed;
        arrivals_close(&w.used[i]);
    }
    return failed ? -ENOMEM : 0;
}
