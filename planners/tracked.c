/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/tracked.h"

#include <errno.h>

/* Who is noted for these bytes no longer matters: whoever comes next waits for a later operation
   that has waited for them. */
static void forget(struct arrivals *a, struct share at)
{
    size_t n = a->n, kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct arrival was = a->list[i];
        struct share behind = {at.to > was.at.from ? at.to : was.at.from, was.at.to};

        if (!share_common(was.at, at).to) {
            a->list[kept++] = was;
            continue;
        }
        if (was.at.from < at.from)
            a->list[kept++] = (struct arrival){{was.at.from, at.from}, was.op};
        if (behind.from < behind.to) {
            if (was.at.from < at.from)
                arrivals_note(a, behind, was.op); /* in the middle: one becomes two */
            else
                a->list[kept++] = (struct arrival){behind, was.op};
        }
    }
    for (size_t i = n; i < a->n; i++)
        a->list[kept++] = a->list[i];
    a->n = kept;
}

/* The operation added last reads these bytes. Nobody writes the input. */
static void reads(struct tracked *w, uint32_t op, struct spot src, uint64_t length)
{
    struct share at = {src.at, src.at + length};

    if (op == PLAN_NO_OP || src.buffer == PLAN_INPUT)
        return;
    arrivals_wait(&w->wrote[src.buffer], w->b, at);
    arrivals_note(&w->reads[src.buffer], at, op);
}

/* The operation added last overwrites these bytes. */
static void writes(struct tracked *w, uint32_t op, struct spot dst, uint64_t length)
{
    struct share at = {dst.at, dst.at + length};

    if (op == PLAN_NO_OP)
        return;
    arrivals_wait(&w->wrote[dst.buffer], w->b, at);
    arrivals_wait(&w->reads[dst.buffer], w->b, at);
    forget(&w->wrote[dst.buffer], at);
    forget(&w->reads[dst.buffer], at);
    arrivals_note(&w->wrote[dst.buffer], at, op);
}

uint32_t tracked_send(struct tracked *w, int peer, int lane, struct spot src, uint64_t length)
{
    uint32_t op = plan_send(w->b, peer, lane, src.buffer, src.at, length);

    reads(w, op, src, length);
    return op;
}

void tracked_recv(struct tracked *w, int peer, int lane, struct spot dst, uint64_t length)
{
    writes(w, plan_recv(w->b, peer, lane, dst.buffer, dst.at, length), dst, length);
}

static int same(struct spot a, struct spot b)
{
    return a.buffer == b.buffer && a.at == b.at;
}

void tracked_copy(struct tracked *w, int lane, struct spot src, struct spot dst, uint64_t length)
{
    if (same(src, dst))
        return;
    uint32_t op = plan_copy(w->b, lane, src.buffer, src.at, dst.buffer, dst.at, length);

    reads(w, op, src, length);
    writes(w, op, dst, length);
}

uint32_t tracked_recv_reduce(struct tracked *w, int peer, int lane, struct spot src,
                             struct spot dst, uint64_t length)
{
    uint32_t op =
        plan_recv_reduce(w->b, peer, lane, src.buffer, src.at, dst.buffer, dst.at, length);

    if (!same(src, dst)) /* else the writing covers it */
        reads(w, op, src, length);
    writes(w, op, dst, length);
    return op;
}

int tracked_close(struct tracked *w)
{
    int failed = 0;

    for (int i = 0; i < PLAN_NONE; i++) {
        failed |= w->wrote[i].failed | w->reads[i].failed;
        arrivals_close(&w->wrote[i]);
        arrivals_close(&w->reads[i]);
    }
    return failed ? -ENOMEM : 0;
}
