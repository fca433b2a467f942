/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/lane/lanes_units.h"

#include <errno.h>
#include <stdlib.h>

static struct share share_at(struct shares *s, int unit, int local)
{
    shares_cut(s, unit);
    return share_of(s->by_here, local);
}

struct share lane_units_share(struct lane_units *u, int j, int local)
{
    return share_at(&u->s, lane_unit(u, j), local);
}

uint64_t lane_units_bytes(struct lane_units *u, int local, int first)
{
    uint64_t bytes = 0;

    for (int j = first; j < u->nodes; j++) {
        struct share at = lane_units_share(u, j, local);
        bytes += at.to - at.from;
    }
    return bytes;
}

static void trade(struct lane_units *u, int rank, enum lanes_tag tag, int sending, uint64_t at,
                  uint64_t bytes)
{
    struct spot spot = {PLAN_SCRATCH, at};

    if (sending)
        tracked_send(&u->w->ops, rank, tag, spot, bytes);
    else if (tag == LANES_COMBINE)
        tracked_recv_reduce(&u->w->ops, rank, tag, spot, spot, bytes);
    else
        tracked_recv(&u->w->ops, rank, tag, spot, bytes);
}

int lane_units_trade(struct lane_units *u, int node, enum lanes_tag tag, int sending, int first,
                     int count)
{
    struct shares there;
    int rc = shares_open(&there, u->s.t, topo_node_rank(u->s.t, node, 0), u->s.blocks, u->s.grain,
                         SHARE_THROUGH);
    int alike = !rc && cutters_alike(there.by_here, u->s.by_here);

    if (alike)
        trade(u, topo_node_rank(u->s.t, node, u->s.local), tag, sending, u->own[first],
              u->own[first + count] - u->own[first]);
    for (int l = 0; !rc && !alike && l < there.by_here->size; l++)
        for (int j = first; j < first + count; j++) {
            struct share mine = lane_units_share(u, j, u->s.local);
            struct share both = share_common(mine, share_at(&there, lane_unit(u, j), l));

            trade(u, topo_node_rank(u->s.t, node, l), tag, sending,
                  u->own[j] + both.from - mine.from, both.to - both.from);
        }
    shares_close(&there);
    return rc;
}

int lane_units_open(struct lane_units *u, struct lane_work *w)
{
    const struct plan_request *q = w->q;
    struct blocks blocks = {.equal = q->nbytes};

    *u = (struct lane_units){.w = w, .nodes = q->topo->nnodes};
    u->own = malloc(((size_t)u->nodes + 1) * sizeof *u->own);
    if (!u->own)
        return -ENOMEM;
    if (q->bytes) {
        u->from = malloc((size_t)q->topo->nranks * sizeof *u->from);
        if (!u->from)
            return -ENOMEM;
        u->from[0] = 0;
        for (int r = 1; r < q->topo->nranks; r++)
            u->from[r] = u->from[r - 1] + q->bytes[r - 1];
        blocks = (struct blocks){.sizes = q->bytes, .from = u->from};
    }
    int rc = shares_open(&u->s, q->topo, q->rank, blocks, q->grain, SHARE_THROUGH);
    u->own[0] = 0;
    for (int j = 0; j < u->nodes && !rc; j++) {
        struct share at = lane_units_share(u, j, u->s.local);
        u->own[j + 1] = u->own[j] + at.to - at.from;
    }
    return rc;
}

void lane_units_close(struct lane_units *u)
{
    shares_close(&u->s);
    free(u->own);
    free(u->from);
}
