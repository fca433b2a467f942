/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan. A run is ranks of one node that follow one upon the other; with ranks in node
 * order each node is one. The ranks of a node divide the vector among them, as the rails allow.
 * Each takes its slice of all contributions of a run, combines them in rank order, and gives each
 * rank of the run its result. Between runs the slice of what lies before goes along a chain, chunk
 * by chunk: each link adds its run's sum and sends it on. So each node sends and receives the
 * vector once per run, which is the bound, over all its rails.
 *
 * Rank r gets x(r0) + ... + x(r), combined from the left inside its run, plus the sum of the runs
 * before. That depends on the placement alone: all elements are combined alike, with any chunks,
 * slices and rails.
 *
 * The chain has as many steps as runs. Rejected: doubling, which has log2 of them, because it sends
 * the vector log2 (runs) times over each rail.
 */
#include "planners/algorithms/prefix_chain.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/links/aligned.h"
#include "planners/links/cost.h"
#include "planners/links/lanes_cut.h"
#include "planners/plan/tracked.h"

/* The plan's tags between two ranks, one per kind of receive. */
enum tag { TAG_HAND_IN, TAG_CHAIN, TAG_CHAIN_COMBINED, TAG_HAND_OUT };

/* A plan under way. */
struct work {
    const struct plan_request *q;
    struct tracked ops;
    struct lanes l;
    int exclusive; /* Exscan */
    int error;     /* 0 or -ENOMEM */
};

/* Ranks first ... end - 1. */
struct run {
    int first, end;
};

static int node_of(const struct work *w, int rank)
{
    return w->l.t->rank[rank].node;
}

static struct run run_from(const struct work *w, int first)
{
    struct run run = {first, first + 1};

    while (run.end < w->l.t->nranks && node_of(w, run.end) == node_of(w, first))
        run.end++;
    return run;
}

static uint64_t slice_bytes(struct share s)
{
    return s.to - s.from;
}

/* Nothing lies before the first run, and nothing behind the last. */
static int has_before(struct run run)
{
    return run.first > 0;
}

static int has_behind(const struct work *w, struct run run)
{
    return run.end < w->l.t->nranks;
}

/* Is what lies before it only combined with its one contribution? The link then needs no copy. */
static int is_combined_at_once(const struct work *w, struct run run)
{
    return !w->exclusive && run.end - run.first == 1;
}

/* Does any rank need that rank's contribution? */
static int contributes(const struct work *w, int rank)
{
    return !w->exclusive || rank + 1 < w->l.t->nranks;
}

static struct spot own_input(const struct work *w, uint64_t at)
{
    return (struct spot){plan_in_place(w->q, w->q->rank) ? PLAN_OUTPUT : PLAN_INPUT, at};
}

static struct spot own_output(uint64_t at)
{
    return (struct spot){PLAN_OUTPUT, at};
}

/* Byte `at` of this rank's slice of the run's contributions up to that rank. */
static struct spot upto(const struct work *w, int rank, uint64_t at)
{
    uint64_t place = (uint64_t)w->l.t->rank[rank].local;

    if (rank == w->q->rank && !w->exclusive)
        return own_output(at);
    return (struct spot){PLAN_SCRATCH, place * slice_bytes(w->l.mine) + at - w->l.mine.from};
}

/* Byte `at` of this rank's slice of what lies before a run. */
static struct spot before(const struct work *w, uint64_t at)
{
    return (struct spot){PLAN_SCRATCH,
                         (uint64_t)w->l.here.size * slice_bytes(w->l.mine) + at - w->l.mine.from};
}

/* The local peers in turn 1 .. size - 1, each rank starting with another one. */
static int peer_at(const struct work *w, int turn)
{
    return (w->l.local + turn) % w->l.here.size;
}

static int rank_here(const struct work *w, int local)
{
    return topo_node_rank(w->l.t, w->l.node, local);
}

/* Give the local peers their slices of the own contribution. */
static void hand_in(struct work *w)
{
    for (int turn = 1; turn < w->l.here.size && contributes(w, w->q->rank); turn++) {
        int peer = peer_at(w, turn);
        struct share theirs = share_of(&w->l.here, peer);

        tracked_send(&w->ops, rank_here(w, peer), TAG_HAND_IN, own_input(w, theirs.from),
                     slice_bytes(theirs));
    }
}

/* Take the local peers' slices of the own result. */
static void take_result(struct work *w)
{
    for (int turn = 1; turn < w->l.here.size && plan_output_bytes(w->q, w->q->rank); turn++) {
        int peer = peer_at(w, turn);
        struct share theirs = share_of(&w->l.here, peer);

        tracked_recv(&w->ops, rank_here(w, peer), TAG_HAND_OUT, own_output(theirs.from),
                     slice_bytes(theirs));
    }
}

/* The own slice of the run's contributions, up to each of its ranks. */
static void combine_run(struct work *w, struct run run)
{
    uint64_t from = w->l.mine.from, bytes = slice_bytes(w->l.mine);

    for (int rank = run.first; rank < run.end && contributes(w, rank); rank++) {
        struct spot to = upto(w, rank, from), last = upto(w, rank - (rank > run.first), from);

        if (rank == w->q->rank) {
            tracked_copy(&w->ops, TAG_HAND_IN, own_input(w, from), to, bytes);
            if (rank > run.first)
                tracked_reduce(&w->ops, TAG_HAND_IN, last, to, bytes);
        } else if (rank > run.first) {
            tracked_recv_reduce(&w->ops, rank, TAG_HAND_IN, last, to, bytes);
        } else {
            tracked_recv(&w->ops, rank, TAG_HAND_IN, to, bytes);
        }
    }
}

/* The rank of that node which has this lane. */
static int carrier(struct work *w, struct share lane, int node)
{
    int rank = lanes_rank(&w->l, lane, node);

    if (rank < 0)
        w->error = rank;
    return rank < 0 ? w->q->rank : rank;
}

/* One lane of the chain: what lies before comes in, and goes on with the run's sum. */
static void link_lane(struct work *w, struct run run, struct share lane)
{
    uint64_t bytes = slice_bytes(lane);
    struct spot sum = upto(w, run.end - 1, lane.from);

    if (has_before(run)) {
        int from = carrier(w, lane, node_of(w, run.first - 1));

        if (is_combined_at_once(w, run)) {
            tracked_recv_reduce(&w->ops, from, TAG_CHAIN_COMBINED, sum, sum, bytes);
        } else {
            tracked_recv(&w->ops, from, TAG_CHAIN, before(w, lane.from), bytes);
            if (contributes(w, run.end - 1))
                tracked_reduce(&w->ops, TAG_CHAIN, before(w, lane.from), sum, bytes);
        }
    }
    if (has_behind(w, run)) {
        int combined = is_combined_at_once(w, run_from(w, run.end));

        tracked_send(&w->ops, carrier(w, lane, node_of(w, run.end)),
                     combined ? TAG_CHAIN_COMBINED : TAG_CHAIN, sum, bytes);
    }
}

/* The place of the own slice of that rank's result; completed with the sum before its run. */
static struct spot result_of(struct work *w, struct run run, int rank)
{
    uint64_t from = w->l.mine.from;

    if (w->exclusive && rank == run.first)
        return before(w, from);
    struct spot result = upto(w, rank - w->exclusive, from);
    if (has_before(run) && rank - w->exclusive < run.end - 1) /* the last one's is the sum */
        tracked_reduce(&w->ops, TAG_HAND_OUT + rank - run.first, before(w, from), result,
                       slice_bytes(w->l.mine));
    return result;
}

static void hand_out(struct work *w, struct run run)
{
    uint64_t from = w->l.mine.from, bytes = slice_bytes(w->l.mine);

    for (int rank = run.first; rank < run.end; rank++) {
        if (w->exclusive && !rank)
            continue;
        struct spot result = result_of(w, run, rank);

        if (rank == w->q->rank)
            tracked_copy(&w->ops, TAG_HAND_OUT, result, own_output(from), bytes);
        else
            tracked_send(&w->ops, rank, TAG_HAND_OUT, result, bytes);
    }
}

static void serve_runs(struct work *w)
{
    struct run run;

    hand_in(w);
    for (int first = 0; first < w->l.t->nranks; first = run.end) {
        run = run_from(w, first);
        if (node_of(w, first) != w->l.node)
            continue;
        combine_run(w, run);
        for (int i = 0; i < w->l.nlanes; i++)
            link_lane(w, run, w->l.lane[i]);
        hand_out(w, run);
    }
    take_result(w);
}

static int prefix_chain_build(const struct plan_request *q, struct plan **plan_p)
{
    struct topo *aligned;
    int rc = aligned_open(q->topo, &aligned);

    if (rc)
        return rc;
    struct topo topo = aligned ? *aligned : *q->topo;
    struct plan_request asked = *q;
    struct work w = {.q = &asked, .exclusive = q->collective == COLL_EXSCAN};

    topo.lanes = 0;
    asked.topo = &topo;
    w.ops.b = plan_build_begin(q->rank, topo.nranks, q->chunk_bytes);
    rc = w.ops.b ? lanes_open(&w.l, &topo, q->rank, q->nbytes, q->grain) : -ENOMEM;
    if (!rc) {
        serve_runs(&w);
        rc = w.error;
    }
    uint64_t scratch = slice_bytes(w.l.mine) * ((uint64_t)w.l.here.size + 1);
    int noted = tracked_close(&w.ops);
    lanes_close(&w.l);
    topo_free(aligned);
    rc = rc ? rc : noted;
    if (rc) {
        plan_build_discard(w.ops.b);
        return rc;
    }
    return plan_build_finish(w.ops.b, plan_prefix_chain.name, plan_input_bytes(q, q->rank),
                             plan_output_bytes(q, q->rank), scratch, 0, plan_p);
}

static int runs(const struct topo *t)
{
    int n = 1;

    for (int rank = 1; rank < t->nranks; rank++)
        n += t->rank[rank].node != t->rank[rank - 1].node;
    return n;
}

/* Each link waits for a chunk to fill it. Inside a node the data goes to the slices' ranks and
 * back.
 */
static double prefix_chain_cost(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double share = (double)q->nbytes / cost_largest_node(t);
    double chunk = share < (double)q->chunk_bytes ? share : (double)q->chunk_bytes;

    return (runs(t) - 1) * (cost_rail_latency(t) + chunk / cost_rail_rate(t)) +
           2 * cost_local_latency(t) + cost_messages(q) + cost_crossing(q) + 2 * cost_inside(q);
}

static const char *prefix_chain_pays(const struct plan_request *q)
{
    return q->topo->nranks > 2 ? NULL : "of two ranks one sends its vector to the other";
}

const struct plan_algorithm plan_prefix_chain = {
    .name = "prefix_chain",
    .collectives = 1u << COLL_SCAN | 1u << COLL_EXSCAN,
    .description = "each local rank combines its slice, and passes it from node to node in a chain",
    .source = "pipelined linear scan, cut over the node's rails",
    .pays = prefix_chain_pays,
    .cost = prefix_chain_cost,
    .build = prefix_chain_build,
};
