/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/parallel_rings/rings_funnel.h"

#include <errno.h>
#include <stdlib.h>

/* Does the rank have children in the tree of `root`? */
static int relays(const struct rings_trees *w, int root, int local)
{
    for (int child = 0; child < w->size; child++)
        if (rings_parent(w, root, child) == local)
            return 1;
    return 0;
}

int funnel_open(struct funnel *f, struct plan_builder *b, struct shares *s,
                const struct rings_trees *trees, uint64_t from)
{
    int size = trees->size;

    *f = (struct funnel){.s = s, .trees = trees, .ops.b = b, .from = from};
    if (trees->intra == RINGS_LINEAR)
        return 0;
    f->at = calloc((size_t)size + 1, sizeof *f->at);
    if (!f->at)
        return -ENOMEM;
    for (int unit = 0; unit < s->t->nnodes; unit++) {
        shares_cut(s, unit);
        for (int root = 0; root < size; root++) {
            struct share theirs = share_of(s->by_here, root);

            if (theirs.to - theirs.from > f->at[root + 1])
                f->at[root + 1] = theirs.to - theirs.from;
        }
    }
    for (int root = 0; root < size; root++)
        f->at[root + 1] =
            f->at[root] + (root != s->local && relays(trees, root, s->local) ? f->at[root + 1] : 0);
    f->slot_bytes = f->at[size];
    return 0;
}

/* The tag on which a rank so far from the root sends. The last hop is the linear exchange's. */
static int tag_of(int depth)
{
    return depth == 1 ? (int)RINGS_COLLECT_LOCAL : RINGS_RELAY + 2 * (depth - 2) + 1;
}

static void note_reader(struct arrivals *readers, struct spot from, uint64_t length, uint32_t op)
{
    if (readers)
        arrivals_note(readers, (struct share){from.at, from.at + length}, op);
}

/* One piece of the share of `root`: combine what comes from below, and send it up. */
static void send_up(struct funnel *f, int root, struct spot own, struct spot combined,
                    uint64_t length, struct arrivals *readers)
{
    int here = f->s->local, parent = rings_parent(f->trees, root, here);
    int depth = rings_depth(f->trees, root, here);
    struct spot now = own;

    for (int child = 0; child < f->trees->size; child++) {
        uint32_t op;

        if (rings_parent(f->trees, root, child) != here)
            continue;
        op = tracked_recv_reduce(&f->ops, shares_rank_here(f->s, child), tag_of(depth + 1), now,
                                 combined, length);
        if (now.buffer == own.buffer)
            note_reader(readers, own, length, op);
        now = combined;
    }
    uint32_t op = tracked_send(&f->ops, shares_rank_here(f->s, parent), tag_of(depth), now, length);
    if (now.buffer == own.buffer)
        note_reader(readers, own, length, op);
}

void funnel_give(struct funnel *f, int unit, int slot, enum plan_buffer input,
                 struct arrivals *readers)
{
    for (int root = 0; root < f->trees->size; root++) {
        struct share theirs = share_of(f->s->by_here, root), rest = theirs;
        uint64_t at = f->from + (uint64_t)slot * f->slot_bytes + f->at[root];
        struct share_piece g;

        if (root == f->s->local)
            continue;
        while (share_next_run(f->s, unit, &rest, &g))
            send_up(f, root, (struct spot){input, share_piece_from(f->s, &g)},
                    (struct spot){PLAN_SCRATCH, at + g.at.from - theirs.from}, g.length, readers);
    }
}

int funnel_close(struct funnel *f)
{
    free(f->at);
    return tracked_close(&f->ops);
}
