/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce in which each node combines a part of everything and hands it out to all others
 * (lanes_pieces.h).
 *
 * The vector goes in slabs, each of all pieces. A slow node sends more contributions than it
 * receives, and receives more results than it sends, so all its rails are busy only while both are
 * under way. Contributions need to wait for nothing and would all go first; so those of a slab wait
 * for the results of a few slabs before. On 4 x 4 rails of 10 Mbit/s, one at a quarter, a call of 4
 * MiB reaches 0.84 of the bound without waiting and 0.98 with it (emulated).
 */
#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lanes_pieces.h"
#include "planners/algorithms/lane/lanes_stage.h"
#include "planners/links/cost.h"

enum { MOST_SLABS = 32, UNDER_WAY = 3 };

struct direct {
    struct lane_work *w;
    const struct topo *t;
    struct lane_pieces pieces;
    int nodes, node, local;
    int slab;
    uint64_t first, elements; /* of this slab, of the grain */
    uint32_t *result; /* [(UNDER_WAY + 1) * pieces.n * nodes] owned: what is received of a slab's
                         results, by slab % (UNDER_WAY + 1), piece and node */
};

/* Elements of the slab, in a buffer. */
static struct spot spot_of(const struct direct *d, enum plan_buffer buffer, struct share s)
{
    return (struct spot){buffer, (d->first + s.from) * d->w->q->grain};
}

static uint64_t bytes_of(const struct direct *d, struct share s)
{
    return (s.to - s.from) * d->w->q->grain;
}

static struct share part_of(const struct direct *d, int k, int node)
{
    return lane_piece_part(&d->pieces, k, node, d->elements);
}

static enum plan_buffer own_buffer(const struct direct *d)
{
    return d->w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT;
}

static uint32_t *result_of(const struct direct *d, int slab, int k, int node)
{
    return &d->result[(slab % (UNDER_WAY + 1) * d->pieces.n + k) * d->nodes + node];
}

/* Send what a node combines of a piece. */
static void contribute(struct direct *d, int k, int node, enum plan_buffer now)
{
    struct share theirs = part_of(d, k, node);
    uint32_t op = tracked_send(&d->w->ops, lane_piece_rank(&d->pieces, k, node), LANES_COMBINE,
                               spot_of(d, now, theirs), bytes_of(d, theirs));

    for (int i = 0; i < d->nodes && op != PLAN_NO_OP; i++)
        plan_after(d->w->ops.b, *result_of(d, d->slab + 1, k, i));
}

/* Combine a piece over the nodes. now: where the own node's contribution is. */
static void exchange(struct direct *d, int k, enum plan_buffer now)
{
    struct share own = part_of(d, k, d->node);
    struct spot result = spot_of(d, PLAN_OUTPUT, own);

    for (int step = 1; step < d->nodes; step++)
        contribute(d, k, (d->node + step) % d->nodes, now);
    for (int step = 1; step < d->nodes; step++)
        tracked_recv_reduce(
            &d->w->ops, lane_piece_rank(&d->pieces, k, (d->node + d->nodes - step) % d->nodes),
            LANES_COMBINE, step == 1 ? spot_of(d, now, own) : result, result, bytes_of(d, own));
    for (int step = 1; step < d->nodes; step++) {
        int to = (d->node + step) % d->nodes, from = (d->node + d->nodes - step) % d->nodes;
        struct share theirs = part_of(d, k, from);

        tracked_send(&d->w->ops, lane_piece_rank(&d->pieces, k, to), LANES_RESULT, result,
                     bytes_of(d, own));
        *result_of(d, d->slab, k, from) =
            tracked_recv(&d->w->ops, lane_piece_rank(&d->pieces, k, from), LANES_RESULT,
                         spot_of(d, PLAN_OUTPUT, theirs), bytes_of(d, theirs));
    }
}

/* The local peers' contributions to a run of this rank's. Returns where they are then. */
static enum plan_buffer collect(struct direct *d, struct share run)
{
    int size = topo_node_size(d->t, d->node);
    enum plan_buffer now = own_buffer(d);

    for (int turn = 1; turn < size; turn++, now = PLAN_OUTPUT)
        tracked_recv_reduce(&d->w->ops, topo_node_rank(d->t, d->node, (d->local + turn) % size),
                            LANES_HAND_IN, spot_of(d, now, run), spot_of(d, PLAN_OUTPUT, run),
                            bytes_of(d, run));
    return now;
}

static void hand_out(struct direct *d, struct share run)
{
    int size = topo_node_size(d->t, d->node);

    for (int turn = 1; turn < size; turn++)
        tracked_send(&d->w->ops, topo_node_rank(d->t, d->node, (d->local + turn) % size),
                     LANES_HAND_OUT, spot_of(d, PLAN_OUTPUT, run), bytes_of(d, run));
}

/* The pieces from k on that one rank of this node has. */
static int run_end(const struct direct *d, int k)
{
    const struct lane_piece *piece = d->pieces.piece;
    int end = k + 1;

    while (end < d->pieces.n && piece[end].local[d->node] == piece[k].local[d->node])
        end++;
    return end;
}

/* A run of this rank's. */
static void combine_run(struct direct *d, int k, int end, struct share run)
{
    enum plan_buffer now = collect(d, run);

    for (int i = k; i < end && d->nodes > 1; i++)
        exchange(d, i, now);
    if (d->nodes == 1 && now == PLAN_INPUT)
        tracked_copy(&d->w->ops, 0, spot_of(d, PLAN_INPUT, run), spot_of(d, PLAN_OUTPUT, run),
                     bytes_of(d, run));
}

static void combine_slab(struct direct *d)
{
    for (int k = 0, end; k < d->pieces.n; k = end) {
        end = run_end(d, k);
        struct share run = lane_piece_run(&d->pieces, k, end, d->elements);

        if (d->pieces.piece[k].local[d->node] == d->local)
            combine_run(d, k, end, run);
        else
            tracked_send(&d->w->ops, lane_piece_rank(&d->pieces, k, d->node), LANES_HAND_IN,
                         spot_of(d, own_buffer(d), run), bytes_of(d, run));
    }
    for (int k = 0, end; k < d->pieces.n; k = end) {
        end = run_end(d, k);
        struct share run = lane_piece_run(&d->pieces, k, end, d->elements);

        if (d->pieces.piece[k].local[d->node] == d->local)
            hand_out(d, run);
        else
            tracked_recv(&d->w->ops, lane_piece_rank(&d->pieces, k, d->node), LANES_HAND_OUT,
                         spot_of(d, PLAN_OUTPUT, run), bytes_of(d, run));
    }
}

/*
 * S slabs take the time of one more to fill the rails, crossing / S. Each also has messages that
 * wait for each other, half a turn as slabs overlap. The sum is least at S = sqrt(2 crossing /
 * turn). Where the latency of slow rails is unknown, a turn is as many bytes as on usual ones.
 */
int lanes_slabs(const struct plan_request *q)
{
    double turn = rates_assumed.rail.latency_ns * 1e-9 * rates_assumed.rail.bw_bytes_per_s /
                  cost_rail_rate(q->topo);
    double crossing = cost_crossing(q);
    int slabs = 1;

    if (turn < cost_rail_latency(q->topo))
        turn = cost_rail_latency(q->topo);
    while (slabs < MOST_SLABS && (slabs + 1) * (slabs + 1) * turn <= 2 * crossing)
        slabs++;
    return slabs;
}

static void combine_all(struct direct *d)
{
    const struct plan_request *q = d->w->q;
    uint64_t elements = q->nbytes / q->grain, slabs = (uint64_t)lanes_slabs(q);

    for (uint64_t i = 0; i < slabs; i++) {
        d->slab = (int)i;
        d->first = elements * i / slabs;
        d->elements = elements * (i + 1) / slabs - d->first;
        combine_slab(d);
    }
}

int lanes_direct(struct lane_work *w)
{
    const struct topo *t = w->q->topo;
    struct direct d = {.w = w,
                       .t = t,
                       .nodes = t->nnodes,
                       .node = t->rank[w->q->rank].node,
                       .local = t->rank[w->q->rank].local};
    int rc = lane_pieces_open(&d.pieces, t);
    size_t results = (size_t)(UNDER_WAY + 1) * (size_t)d.pieces.n * (size_t)d.nodes;

    d.result = malloc((results + 1) * sizeof *d.result);
    if (!rc && !d.result)
        rc = -ENOMEM;
    for (size_t i = 0; !rc && i < results; i++)
        d.result[i] = PLAN_NO_OP;
    if (!rc)
        combine_all(&d);
    free(d.result);
    lane_pieces_close(&d.pieces);
    return rc;
}
