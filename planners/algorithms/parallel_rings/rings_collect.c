/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting turns every arrow of spreading round. The unit of node o starts at the node right of o
 * and travels right until it reaches o. Each node combines its ranks' contributions to it on the
 * way, each local rank those to its share. Data is combined as it arrives: data from the left with
 * the own contribution, and the result with each local peer's in turn.
 */
#include "planners/algorithms/parallel_rings/rings_funnel.h"

#include <errno.h>

enum { SLOTS = 2 }; /* units whose partial results are held at once */

struct collect {
    struct plan_builder *b;
    struct shares *s;
    struct funnel up; /* where the exchange in the node is not linear */
    enum plan_buffer input;
    uint64_t out_from;
    struct arrivals *made, *readers;
    uint64_t most;   /* bytes of this rank's largest share */
    int slot;        /* of the current unit */
    int unit, first; /* the current unit; first: nothing comes from the left */
    struct share mine;
    int direct;              /* the partial result is built in its place in the output */
    struct arrivals partial; /* the last operation on it so far, by unit bytes */
    struct arrivals
        slot_used[SLOTS]; /* operations that read the slot's partial result, by slot bytes */
};

static enum plan_buffer partial_buffer(const struct collect *w)
{
    return w->direct ? PLAN_OUTPUT : PLAN_SCRATCH;
}

/* The place of unit bytes from `at` on in the partial result. */
static uint64_t partial_from(const struct collect *w, uint64_t at, uint64_t offset_in_block)
{
    return w->direct ? w->out_from + offset_in_block
                     : (uint64_t)w->slot * w->most + at - w->mine.from;
}

static struct share in_slot(const struct collect *w, struct share at)
{
    return (struct share){at.from - w->mine.from, at.to - w->mine.from};
}

static void note_reader(struct collect *w, const struct share_piece *g, uint32_t op)
{
    uint64_t at = share_piece_from(w->s, g);

    if (w->readers)
        arrivals_note(w->readers, (struct share){at, at + g->length}, op);
}

/*
 * A peer's contribution to a piece of a share. It is combined with this rank's own if it is the
 * first to come, otherwise with the partial result. Each peer has its own queue: in one queue, the
 * first contribution would have to be complete before the second begins, and no chunk could be sent
 * on until the last one.
 */
static void collect_receive(struct collect *w, int peer, enum rings_tag tag,
                            const struct share_piece *g, int is_first, struct arrivals *now)
{
    uint64_t to = partial_from(w, g->at.from, g->offset);
    uint32_t op = plan_recv_reduce(w->b, peer, tag, is_first ? w->input : partial_buffer(w),
                                   is_first ? share_piece_from(w->s, g) : to, partial_buffer(w), to,
                                   g->length);

    if (!is_first)
        arrivals_wait(&w->partial, w->b, g->at);
    else if (!w->direct)
        arrivals_wait(&w->slot_used[w->slot], w->b, in_slot(w, g->at));
    if (is_first)
        note_reader(w, g, op);
    arrivals_note(now, g->at, op);
}

/* A local peer's contribution to this rank's share. */
static void collect_from_peer(struct collect *w, int turn, int is_first, struct arrivals *now)
{
    struct share rest = w->mine;
    struct share_piece g;

    while (share_next_run(w->s, w->unit, &rest, &g))
        collect_receive(w, shares_rank_here(w->s, shares_peer(w->s, turn)), RINGS_COLLECT_LOCAL, &g,
                        is_first, now);
}

/* Give the local peers this rank's contributions to their shares. */
static void collect_give(struct collect *w)
{
    if (w->up.trees->intra != RINGS_LINEAR) {
        funnel_give(&w->up, w->unit, w->slot, w->input, w->readers);
        return;
    }
    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        /* the peer for which this rank is at that turn, so that turns meet */
        int peer = (w->s->local + w->s->by_here->size - turn) % w->s->by_here->size;
        struct share rest = share_of(w->s->by_here, peer);
        struct share_piece g;

        while (share_next_run(w->s, w->unit, &rest, &g)) {
            uint32_t op = plan_send(w->b, shares_rank_here(w->s, peer), RINGS_COLLECT_LOCAL,
                                    w->input, share_piece_from(w->s, &g), g.length);
            note_reader(w, &g, op);
        }
    }
}

static void collect_from_left(struct collect *w)
{
    for (int l = 0; l < w->s->by_left->size; l++) {
        struct share rest = share_common(share_of(w->s->by_left, l), w->mine);
        struct share_piece g;

        while (share_next_run(w->s, w->unit, &rest, &g))
            collect_receive(w, topo_node_rank(w->s->t, w->s->left, l), RINGS_COLLECT, &g, 1,
                            &w->partial);
    }
}

/* The next turn after this one in which a peer sends to this rank: every one, if the exchange is
   linear. The node's size when there is none. */
static int next_giver(const struct collect *w, int turn)
{
    const struct rings_trees *trees = w->up.trees;

    while (++turn < trees->size)
        if (rings_parent(trees, w->s->local, shares_peer(w->s, turn)) == w->s->local)
            break;
    return turn;
}

/* A lone rank at the start of the chain has nothing to combine and sends its input on. */
static int nothing_to_combine(const struct collect *w)
{
    return w->first && w->s->by_here->size == 1;
}

static void collect_to_right(struct collect *w)
{
    for (int l = 0; l < w->s->by_right->size; l++) {
        int peer = topo_node_rank(w->s->t, w->s->right, l);
        struct share rest = share_common(share_of(w->s->by_right, l), w->mine);
        struct share_piece g;

        while (share_next_run(w->s, w->unit, &rest, &g)) {
            if (nothing_to_combine(w)) {
                note_reader(w, &g,
                            plan_send(w->b, peer, RINGS_COLLECT, w->input,
                                      share_piece_from(w->s, &g), g.length));
                continue;
            }
            uint32_t op = plan_send(w->b, peer, RINGS_COLLECT, partial_buffer(w),
                                    partial_from(w, g.at.from, g.offset), g.length);
            arrivals_wait(&w->partial, w->b, g.at);
            arrivals_note(&w->slot_used[w->slot], in_slot(w, g.at), op);
        }
    }
}

/* The unit is home and complete: hand its blocks to their owners. */
static void collect_deliver(struct collect *w)
{
    struct share rest = w->mine;
    struct share_piece g;

    while (share_next(w->s, w->unit, &rest, &g)) {
        struct share in_block = {g.offset, g.offset + g.length};
        enum plan_buffer from = nothing_to_combine(w) ? w->input : PLAN_SCRATCH;
        uint64_t at = nothing_to_combine(w) ? share_piece_from(w->s, &g)
                                            : partial_from(w, g.at.from, g.offset);
        uint64_t to = w->out_from + g.offset;

        if (g.rank != w->s->rank) {
            plan_send(w->b, g.rank, RINGS_DELIVER, from, at, g.length);
            arrivals_wait(&w->partial, w->b, g.at);
        } else if (w->direct) {
            for (size_t i = 0; w->made && i < w->partial.n; i++)
                if (share_common(w->partial.list[i].at, g.at).to)
                    arrivals_note(w->made, in_block, w->partial.list[i].op);
        } else if (from != PLAN_OUTPUT || at != to) {
            uint32_t op = plan_copy(w->b, RINGS_DELIVER, from, at, PLAN_OUTPUT, to, g.length);
            arrivals_wait(&w->partial, w->b, g.at);
            if (w->input == PLAN_OUTPUT)
                arrivals_wait(w->readers, w->b, (struct share){to, to + g.length});
            if (w->made)
                arrivals_note(w->made, in_block, op);
        }
    }
}

/* The parts of the own block that other local ranks have completed. */
static void collect_delivered(struct collect *w)
{
    for (int turn = 1; turn < w->s->by_here->size; turn++) {
        int peer = shares_peer(w->s, turn);
        struct share rest = share_of(w->s->by_here, peer);
        struct share_piece g;

        while (share_next(w->s, w->unit, &rest, &g)) {
            if (g.rank != w->s->rank)
                continue;
            uint64_t to = w->out_from + g.offset;
            uint32_t op = plan_recv(w->b, shares_rank_here(w->s, peer), RINGS_DELIVER, PLAN_OUTPUT,
                                    to, g.length);
            if (w->input == PLAN_OUTPUT)
                arrivals_wait(w->readers, w->b, (struct share){to, to + g.length});
            if (w->made)
                arrivals_note(w->made, (struct share){g.offset, g.offset + g.length}, op);
        }
    }
}

/* Does the whole share lie in the own block? Then it can be combined where it belongs, unless the
   contribution is still there. */
static int built_in_place(const struct collect *w)
{
    struct share rest = w->mine;
    struct share_piece g;

    if (w->unit != w->s->node || w->input == PLAN_OUTPUT)
        return 0;
    while (share_next(w->s, w->unit, &rest, &g))
        if (g.rank != w->s->rank)
            return 0;
    return 1;
}

static void collect_unit(struct collect *w, int step, struct arrivals *next)
{
    int size = w->s->by_here->size, last = step == w->s->t->nnodes;
    int turn = next_giver(w, 0);

    shares_cut(w->s, w->unit);
    w->slot = step % SLOTS;
    w->first = step == 1;
    w->mine = share_of(w->s->by_here, w->s->local);
    w->direct = built_in_place(w) && !nothing_to_combine(w);
    w->partial.n = 0;
    collect_give(w);
    if (!w->first) {
        collect_from_left(w);
    } else if (size > 1) {
        collect_from_peer(w, turn, 1, &w->partial);
        turn = next_giver(w, turn);
    }
    for (; turn < size; turn = next_giver(w, turn)) {
        struct arrivals before = w->partial;

        next->n = 0;
        collect_from_peer(w, turn, 0, next);
        w->partial = *next;
        *next = before;
    }
    if (!w->direct && !nothing_to_combine(w))
        arrivals_forget(&w->slot_used[w->slot], w->mine.to - w->mine.from);
    if (last) {
        collect_deliver(w);
        collect_delivered(w);
    } else {
        collect_to_right(w);
    }
}

/* The largest share this rank ever holds. */
static uint64_t largest_share(struct shares *s)
{
    uint64_t most = 0;

    for (int unit = 0; unit < s->t->nnodes; unit++) {
        shares_cut(s, unit);
        struct share mine = share_of(s->by_here, s->local);
        if (mine.to - mine.from > most)
            most = mine.to - mine.from;
    }
    return most;
}

int rings_collect(struct plan_builder *b, struct shares *s, const struct rings_trees *trees,
                  enum plan_buffer input, uint64_t out_from, uint64_t *scratch_bytes,
                  struct arrivals *made, struct arrivals *readers)
{
    struct collect w = {.b = b,
                        .s = s,
                        .input = input,
                        .out_from = out_from,
                        .made = made,
                        .readers = readers,
                        .most = largest_share(s)};
    int nodes = s->t->nnodes, failed;
    struct arrivals next = {0};

    if (funnel_open(&w.up, b, s, trees, SLOTS * w.most) < 0)
        return -ENOMEM;
    for (int step = 1; step <= nodes; step++) {
        w.unit = (s->node + nodes - step) % nodes;
        collect_unit(&w, step, &next);
    }
    *scratch_bytes = SLOTS * (w.most + w.up.slot_bytes);
    failed = funnel_close(&w.up) != 0;
    failed |=
        w.partial.failed || next.failed || (made && made->failed) || (readers && readers->failed);
    for (int i = 0; i < SLOTS; i++) {
        failed |= w.slot_used[i].failed;
        arrivals_close(&w.slot_used[i]);
    }
    arrivals_close(&w.partial);
    arrivals_close(&next);
    return failed ? -ENOMEM : 0;
}
