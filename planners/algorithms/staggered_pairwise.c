/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by direct exchange, in steps of which each is a matching: at step (d, j) local rank l of
 * node n sends to local rank l + j of the node d further on. So every rank sends to one rank and
 * receives from one other, all rails are busy in both directions, and no two ranks want one rail. A
 * rank has a fixed depth of steps under way. With one step the rail would idle between two steps;
 * with all steps at once, slow rails would queue. Eight steps of 256 KiB queue as well, most of all
 * if the library spreads each over all rails; so the depth counts bytes. The depth is part of the
 * plan because only the plan knows the order of a rank's peers.
 *
 * Few nodes have few steps, hardly more than the depth. So blocks are cut into slices, and all
 * steps are made for one slice after the other. A step's send waits for the receive that is a depth
 * before, not for earlier sends. Sends end when the bytes are in the system's buffers. A rank that
 * waits for sends would send too early to a slow rail, where bytes queue while faster rails idle.
 *
 * Emulated, rails of 100 Mbit/s, part of the bound: pacing by receives has 0.975 on 2 x 4 ranks
 * with one rail at half speed and 0.97 on 4 x 4, pacing by sends 0.91 and 0.95. Steps of 256 KiB,
 * at a depth of two or eight: 267 or 300 to 425 ms on 4 x 4 with striped rails. The bound is 263
 * there, and the library's pairwise exchange takes 277. On 3 x 5 with a rail per rank they take 253
 * or 299 ms. With steps of 32 KiB, two, four and eight are alike.
 *
 * At half the nodes' distance one pair would send both ways in one step. There, one half of the
 * nodes is a local rank ahead of the other, because two ranks in rendezvous with each other run at
 * half speed over TCP. Rejected: larger messages, as in Bruck's algorithm or by node leaders,
 * because they send bytes more than once, and this row is for large blocks. Bytes take a second
 * local hop only where rails differ (carriers.h).
 */
#include "planners/algorithms/staggered_pairwise.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/carriers.h"
#include "planners/links/cost.h"

enum { FEWEST_STEPS = 2, MOST_STEPS = 8, BYTES_UNDER_WAY = 512 << 10, ENOUGH_STEPS = 128 };
enum { MANY_STEPS = 1024 }; /* so many blocks need not be cut to suit the rails */

enum alltoall_tag { RAIL, TO_CARRIER, FROM_CARRIER, LOCAL };

struct work {
    const struct plan_request *q;
    const struct topo *t;
    struct plan_builder *b;
    int node, local, turns; /* turns: steps for each distance, the size of the largest node */
    int slices, nsteps;     /* of all slices together */
    int depth;              /* steps under way */
    int step, distance, turn;
    struct share slice;      /* of every block, at this step */
    struct carriers here[2]; /* of the own node, by enum topo_way */
    struct carriers peer[2]; /* of the nodes at the other ends, by the own node's way */
    int peer_node[2];        /* whose these are, or -1 */
    int whole;               /* blocks take one way each, not several in proportion */
    uint64_t scratch_bytes;
    uint32_t *received; /* [nsteps] owned: the last receive of each step */
};

/* One piece of block source -> target, which leaves by the rail of `exit` and enters by that of
   `entry`. */
struct piece {
    int source, target, exit, entry;
    uint64_t from, length; /* in the slice */
};

static uint64_t input_at(const struct work *w, const struct piece *p)
{
    return (uint64_t)p->target * w->q->nbytes + w->slice.from + p->from;
}

static uint64_t output_at(const struct work *w, const struct piece *p)
{
    return (uint64_t)p->source * w->q->nbytes + w->slice.from + p->from;
}

static uint64_t scratch_for(struct work *w, uint64_t length)
{
    w->scratch_bytes += length;
    return w->scratch_bytes - length;
}

/* Begin an operation of this step only when the step a depth before it is through. */
static void keep_pace(struct work *w)
{
    if (w->step >= w->depth)
        plan_after(w->b, w->received[w->step - w->depth]);
}

/* This rank's rail lets a piece out. */
static void let_out(struct work *w, const struct piece *p)
{
    if (p->source == w->q->rank) {
        plan_send(w->b, p->entry, RAIL, PLAN_INPUT, input_at(w, p), p->length);
    } else {
        uint64_t at = scratch_for(w, p->length);
        uint32_t staged = plan_recv(w->b, p->source, TO_CARRIER, PLAN_SCRATCH, at, p->length);

        plan_send(w->b, p->entry, RAIL, PLAN_SCRATCH, at, p->length);
        plan_after(w->b, staged);
    }
    keep_pace(w);
}

/* This rank's rail lets a piece in. */
static void let_in(struct work *w, const struct piece *p)
{
    uint32_t op;

    if (p->target == w->q->rank) {
        op = plan_recv(w->b, p->exit, RAIL, PLAN_OUTPUT, output_at(w, p), p->length);
        keep_pace(w);
    } else {
        uint64_t at = scratch_for(w, p->length);

        op = plan_recv(w->b, p->exit, RAIL, PLAN_SCRATCH, at, p->length);
        keep_pace(w);
        plan_send(w->b, p->target, FROM_CARRIER, PLAN_SCRATCH, at, p->length);
        plan_after(w->b, op);
    }
    w->received[w->step] = op;
}

/* Another local rank's rail lets out what is this rank's, or in. */
static void hand_over(struct work *w, const struct piece *p)
{
    if (p->source == w->q->rank)
        plan_send(w->b, p->exit, TO_CARRIER, PLAN_INPUT, input_at(w, p), p->length);
}

static void take_over(struct work *w, const struct piece *p)
{
    if (p->target == w->q->rank)
        plan_recv(w->b, p->entry, FROM_CARRIER, PLAN_OUTPUT, output_at(w, p), p->length);
}

/* Go to a step. */
static int enter(struct work *w, int step)
{
    int others = w->t->nnodes - 1, slice = step / (others * w->turns);

    w->step = step;
    w->distance = 1 + step / w->turns % others;
    w->turn = step % w->turns;
    if (step % (others * w->turns))
        return 0;
    w->slice.from = w->q->nbytes * (uint64_t)slice / (uint64_t)w->slices;
    w->slice.to = w->q->nbytes * (uint64_t)(slice + 1) / (uint64_t)w->slices;
    w->peer_node[TOPO_OUT] = w->peer_node[TOPO_IN] = -1;
    uint64_t block = w->slice.to - w->slice.from;
    int rc = carriers_open(&w->here[TOPO_OUT], w->t, w->node, TOPO_OUT, block);
    return rc ? rc : carriers_open(&w->here[TOPO_IN], w->t, w->node, TOPO_IN, block);
}

/* The local rank that meets `local` at this step, as it sends (way 1) or receives (way -1), or
   -1. */
static int partner(const struct work *w, int local, int other, int way)
{
    int sender = way > 0 ? w->node : other;
    int shift = w->turn + (2 * w->distance == w->t->nnodes && sender >= w->distance);
    int met = ((local + way * shift) % w->turns + w->turns) % w->turns;

    return met < topo_node_size(w->t, other) ? met : -1;
}

/*
 * Where there are many blocks, each goes one way as a whole: as many of them one way as of each
 * would, and evenly spread, for the places of consecutive multiples of an irrational number are.
 * The place of a block in the slice, by its distance and local ranks.
 */
static uint64_t place_of(const struct work *w, int source, int target)
{
    uint32_t at =
        2654435769u * (uint32_t)(w->distance * w->turns + target) + 3242174889u * (uint32_t)source;

    return (w->slice.to - w->slice.from) * at >> 32;
}

/* The part of a block that one carrier lets out and another one lets in. */
static struct share common_of(const struct work *w, const struct carried *out,
                              const struct carried *in)
{
    struct share at = share_common(out->at, in->at);

    if (!w->whole)
        return at;
    uint64_t place = place_of(w, out->owner, in->owner);
    return at.from <= place && place < at.to ? (struct share){0, w->slice.to - w->slice.from}
                                             : (struct share){0, 0};
}

/*
 * Visit every piece that local rank v of this node lets out (way 1) or in (way -1) at this step.
 * The order is the same on all ranks that touch a piece.
 */
static int each_piece(struct work *w, int v, int way,
                      void (*visit)(struct work *, const struct piece *))
{
    int nodes = w->t->nnodes;
    int other = (w->node + (way > 0 ? w->distance : nodes - w->distance)) % nodes;
    int met = partner(w, v, other, way);

    if (met < 0)
        return 0;
    int own_way = way > 0 ? TOPO_OUT : TOPO_IN;
    if (w->peer_node[own_way] != other &&
        carriers_open(&w->peer[own_way], w->t, other, way > 0 ? TOPO_IN : TOPO_OUT,
                      w->slice.to - w->slice.from) < 0)
        return -ENOMEM;
    w->peer_node[own_way] = other;
    const struct carriers *from = way > 0 ? &w->here[TOPO_OUT] : &w->peer[TOPO_IN],
                          *to = way > 0 ? &w->peer[TOPO_OUT] : &w->here[TOPO_IN];
    int from_node = way > 0 ? w->node : other, to_node = way > 0 ? other : w->node;
    int exit = way > 0 ? v : met, entry = way > 0 ? met : v;
    for (int i = from->first[exit]; i < from->first[exit + 1]; i++)
        for (int k = to->first[entry]; k < to->first[entry + 1]; k++) {
            struct share at = common_of(w, &from->list[i], &to->list[k]);
            if (at.to)
                visit(w, &(struct piece){.source =
                                             topo_node_rank(w->t, from_node, from->list[i].owner),
                                         .target = topo_node_rank(w->t, to_node, to->list[k].owner),
                                         .exit = topo_node_rank(w->t, from_node, exit),
                                         .entry = topo_node_rank(w->t, to_node, entry),
                                         .from = at.from,
                                         .length = at.to - at.from});
        }
    return 0;
}

/* This rank's own rail. A step that lets nothing in ends when the step a depth before it does. */
static int own_rail(struct work *w)
{
    int rc = each_piece(w, w->local, -1, let_in);

    if (!rc)
        rc = each_piece(w, w->local, 1, let_out);
    if (w->received[w->step] == PLAN_NO_OP && w->step >= w->depth)
        w->received[w->step] = w->received[w->step - w->depth];
    return rc;
}

/* Pieces that other local ranks carry for this one. */
static int others_rails(struct work *w)
{
    int rc = 0;

    for (int way = TOPO_OUT; way <= TOPO_IN; way++)
        for (int i = 0; !rc && i < w->here[way].n; i++) {
            const struct carried *c = &w->here[way].list[i];

            if (c->owner == w->local && c->carrier != w->local)
                rc = way == TOPO_OUT ? each_piece(w, c->carrier, 1, hand_over)
                                     : each_piece(w, c->carrier, -1, take_over);
        }
    return rc;
}

static void local_blocks(struct work *w)
{
    int size = topo_node_size(w->t, w->node);
    uint64_t bytes = w->q->nbytes;

    for (int turn = 1; turn < size; turn++) {
        int to = topo_node_rank(w->t, w->node, (w->local + turn) % size);
        int from = topo_node_rank(w->t, w->node, (w->local + size - turn) % size);

        plan_recv(w->b, from, LOCAL, PLAN_OUTPUT, (uint64_t)from * bytes, bytes);
        plan_send(w->b, to, LOCAL, PLAN_INPUT, (uint64_t)to * bytes, bytes);
    }
    plan_copy(w->b, LOCAL, PLAN_INPUT, (uint64_t)w->q->rank * bytes, PLAN_OUTPUT,
              (uint64_t)w->q->rank * bytes, bytes);
}

static int depth_of(uint64_t slice)
{
    uint64_t steps = slice ? BYTES_UNDER_WAY / slice : MOST_STEPS;

    return steps < FEWEST_STEPS ? FEWEST_STEPS : steps > MOST_STEPS ? MOST_STEPS : (int)steps;
}

/* As many slices as make enough steps, but none shorter than a chunk. */
static void count_steps(struct work *w)
{
    const struct topo *t = w->t;

    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > w->turns)
            w->turns = topo_node_size(t, n);
    int each = (t->nnodes - 1) * w->turns;
    size_t chunks = w->q->nbytes / w->q->chunk_bytes;

    w->slices = each ? ENOUGH_STEPS / each : 1;
    if (chunks < (size_t)w->slices)
        w->slices = (int)chunks;
    if (w->slices < 1)
        w->slices = 1;
    w->nsteps = w->slices * each;
    w->whole = each >= MANY_STEPS;
    w->depth = depth_of(w->q->nbytes / (uint64_t)w->slices);
}

static int build_with(struct work *w)
{
    int rc = 0;

    count_steps(w);
    w->received = malloc(((size_t)w->nsteps + 1) * sizeof *w->received);
    if (!w->received)
        return -ENOMEM;
    for (int step = 0; !rc && step < w->nsteps; step++) {
        w->received[step] = PLAN_NO_OP;
        rc = enter(w, step);
        if (!rc)
            rc = own_rail(w);
        if (!rc)
            rc = others_rails(w);
    }
    if (!rc)
        local_blocks(w);
    return rc;
}

static int alltoall_build(const struct plan_request *q, struct plan **plan_p)
{
    struct work w = {.q = q,
                     .t = q->topo,
                     .b = plan_build_begin(q->rank, q->topo->nranks, q->chunk_bytes),
                     .node = q->topo->rank[q->rank].node,
                     .local = q->topo->rank[q->rank].local,
                     .peer_node = {-1, -1}};
    int rc = w.b ? build_with(&w) : -ENOMEM;

    if (!rc) {
        rc = plan_build_finish(w.b, plan_staggered_pairwise.name, plan_input_bytes(q, q->rank),
                               plan_output_bytes(q, q->rank), w.scratch_bytes, 0, plan_p);
        w.b = NULL;
    }
    carriers_close(&w.here[TOPO_OUT]);
    carriers_close(&w.here[TOPO_IN]);
    carriers_close(&w.peer[TOPO_OUT]);
    carriers_close(&w.peer[TOPO_IN]);
    free(w.received);
    plan_build_discard(w.b);
    return rc;
}

static double alltoall_cost(const struct plan_request *q)
{
    double crossing = cost_crossing(q), inside = cost_inside(q);

    return (q->topo->nranks - 1) * COST_MESSAGE_S + cost_rail_latency(q->topo) + cost_messages(q) +
           (crossing > inside ? crossing : inside);
}

const struct plan_algorithm plan_staggered_pairwise = {
    .name = "staggered_pairwise",
    .collectives = 1u << COLL_ALLTOALL,
    .description = "direct exchange, each step a matching of rails, rails of unequal rate levelled",
    .source = "pairwise exchange; bound: HiCCL, Table III",
    .pays = plan_pays_on_idle_rails,
    .cost = alltoall_cost,
    .build = alltoall_build,
};
