/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lane-aware collectives: the ranks of a node divide the vector among them, each takes its slice
 * to the other nodes, side by side through all rails, and hands the result to its node. Against
 * the rings, fewer steps: this is the row for messages too small to fill a pipeline.
 *
 * No step waits for another: a chunk goes on as soon as it is combined.
 */
#include "planners/algorithms/lane/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lanes_stage.h"
#include "planners/links/aligned.h"
#include "planners/links/cost.h"
#include "planners/plan/recipe.h"

static int rank_here(const struct lane_work *w, int local)
{
    return topo_node_rank(w->q->topo, w->l.node, local);
}

/* The local peers in turn 1 .. size - 1, each rank starting with another one. */
static int peer_at(const struct lane_work *w, int turn)
{
    return (w->l.local + turn) % w->l.here.size;
}

static uint64_t slice_bytes(struct share s)
{
    return s.to - s.from;
}

/* Give the local peers this rank's contributions to their slices, and combine theirs with its own
   into `to`. Returns where the slice then is. */
static enum plan_buffer combine_in_node(struct lane_work *w, enum plan_buffer own,
                                        enum plan_buffer to)
{
    enum plan_buffer now = own;
    int size = w->l.here.size;

    for (int turn = 1; turn < size; turn++) {
        int peer = peer_at(w, size - turn);
        struct share theirs = share_of(&w->l.here, peer);

        tracked_send(&w->ops, rank_here(w, peer), LANES_HAND_IN, lanes_spot(w, own, theirs.from),
                     slice_bytes(theirs));
    }
    for (int turn = 1; turn < size; turn++, now = to)
        tracked_recv_reduce(&w->ops, rank_here(w, peer_at(w, turn)), LANES_HAND_IN,
                            lanes_spot(w, now, w->l.mine.from), lanes_spot(w, to, w->l.mine.from),
                            slice_bytes(w->l.mine));
    return now;
}

/* Receive the local peers' slices into the output. */
static void take_slices(struct lane_work *w, enum lanes_tag tag)
{
    for (int turn = 1; turn < w->l.here.size; turn++) {
        int peer = peer_at(w, turn);
        struct share theirs = share_of(&w->l.here, peer);

        tracked_recv(&w->ops, rank_here(w, peer), tag, lanes_spot(w, PLAN_OUTPUT, theirs.from),
                     slice_bytes(theirs));
    }
}

/* Every rank of the node gets every slice; the root has got them all. */
static void exchange_in_node(struct lane_work *w, int root)
{
    for (int turn = 1; turn < w->l.here.size; turn++) {
        int peer = rank_here(w, peer_at(w, turn));

        if (peer != root)
            tracked_send(&w->ops, peer, LANES_HAND_OUT, lanes_spot(w, PLAN_OUTPUT, w->l.mine.from),
                         slice_bytes(w->l.mine));
    }
    if (w->q->rank != root)
        take_slices(w, LANES_HAND_OUT);
}

static int allreduce(struct lane_work *w)
{
    enum plan_buffer now =
        combine_in_node(w, w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT, lanes_allreduce_start(w));

    if (now == PLAN_INPUT && w->q->topo->nnodes == 1)
        tracked_copy(&w->ops, 0, lanes_spot(w, PLAN_INPUT, w->l.mine.from),
                     lanes_spot(w, PLAN_OUTPUT, w->l.mine.from), slice_bytes(w->l.mine));
    else
        for (int i = 0; i < w->l.nlanes; i++)
            lanes_allreduce(w, w->l.lane[i], now);
    exchange_in_node(w, -1);
    w->scratch_bytes = slice_bytes(w->l.mine);
    return 0;
}

/* The root's data is in the output. It deals out slices on its node first. */
static int bcast(struct lane_work *w)
{
    int root = w->q->root, on_node = w->q->topo->rank[root].node == w->l.node;

    if (w->q->rank == root)
        for (int turn = 1; turn < w->l.here.size; turn++) {
            struct share theirs = share_of(&w->l.here, peer_at(w, turn));

            tracked_send(&w->ops, rank_here(w, peer_at(w, turn)), LANES_HAND_IN,
                         lanes_spot(w, PLAN_OUTPUT, theirs.from), slice_bytes(theirs));
        }
    else if (on_node)
        tracked_recv(&w->ops, root, LANES_HAND_IN, lanes_spot(w, PLAN_OUTPUT, w->l.mine.from),
                     slice_bytes(w->l.mine));
    for (int i = 0; i < w->l.nlanes; i++)
        lanes_bcast(w, w->l.lane[i]);
    exchange_in_node(w, on_node ? root : -1);
    return 0;
}

/* The root's node sends its slices to the root, which builds its own where it belongs. */
static int reduce(struct lane_work *w)
{
    int root = w->q->root;
    enum plan_buffer to = w->q->rank == root ? PLAN_OUTPUT : PLAN_SCRATCH;
    enum plan_buffer here = combine_in_node(w, PLAN_INPUT, to), now = here;
    struct spot from;

    for (int i = 0; i < w->l.nlanes; i++)
        now = lanes_reduce(w, w->l.lane[i], here, to);
    from = lanes_spot(w, now, w->l.mine.from);
    if (w->q->rank == root) {
        tracked_copy(&w->ops, 0, from, lanes_spot(w, to, w->l.mine.from), slice_bytes(w->l.mine));
        take_slices(w, LANES_RESULT);
    } else {
        w->scratch_bytes = slice_bytes(w->l.mine);
        if (w->q->topo->rank[root].node == w->l.node)
            tracked_send(&w->ops, root, LANES_RESULT, from, slice_bytes(w->l.mine));
    }
    return 0;
}

static int (*const stages[COLL_COUNT])(struct lane_work *w) = {
    [COLL_ALLGATHER... COLL_ALLGATHERV] = lanes_allgather,
    [COLL_ALLREDUCE] = allreduce,
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = lanes_reduce_scatter,
    [COLL_BCAST] = bcast,
    [COLL_REDUCE] = reduce,
    [COLL_SCATTER... COLL_SCATTERV] = lanes_scatter,
};

/* The recipe. */
static const char *const inter_names[] = {
#define INTER(id, text) text,
    LANES_INTER(INTER)
#undef INTER
        NULL};

enum { KEY_INTER, KEY_LANES, KEYS };
static const struct recipe_key keys[KEYS] = {
    [KEY_INTER] = {.name = "inter", .words = inter_names},
    [KEY_LANES] = {.name = "lanes", .least = 1, .most = 1 << 20},
};

static int read_recipe(const struct plan_request *q, struct recipe_value value[KEYS], char *why,
                       size_t why_size)
{
    value[KEY_INTER].number = (int)lanes_inter_default(q);
    value[KEY_LANES].number = 0;
    return recipe_read(q->recipe, keys, KEYS, value, why, why_size);
}

static int lanes_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    struct recipe_value value[KEYS];

    return read_recipe(q, value, why, why_size);
}

static int build_stages(struct lane_work *w)
{
    const struct plan_request *q = w->q;
    int rc = lanes_open(&w->l, q->topo, q->rank, plan_total_bytes(q), q->grain);

    if (!rc)
        rc = stages[q->collective](w);
    lanes_close(&w->l);
    return rc ? rc : w->error;
}

static int lanes_build(const struct plan_request *q, struct plan **plan_p)
{
    struct recipe_value value[KEYS];
    struct topo *used;

    if (read_recipe(q, value, NULL, 0))
        return -ENOTSUP;
    int direct = q->collective == COLL_ALLREDUCE && value[KEY_INTER].number == LANES_DIRECT;
    int rc = direct ? aligned_by_node(q->topo, &used) : aligned_open(q->topo, &used);
    if (rc)
        return rc;
    struct topo topo = used ? *used : *q->topo; /* as this schedule uses it */
    struct plan_request asked = *q;
    struct lane_work w = {.q = &asked, .inter = (enum lanes_inter)value[KEY_INTER].number};

    topo.lanes = value[KEY_LANES].number;
    asked.topo = &topo;
    w.ops.b = plan_build_begin(q->rank, topo.nranks, q->chunk_bytes);
    rc = !w.ops.b ? -ENOMEM : direct ? lanes_direct(&w) : build_stages(&w);
    int noted = tracked_close(&w.ops);
    if (!rc)
        rc = noted;
    topo_free(used);
    if (rc) {
        plan_build_discard(w.ops.b);
        return rc;
    }
    return plan_build_finish(w.ops.b, plan_lane.name, plan_input_bytes(q, q->rank),
                             plan_output_bytes(q, q->rank), w.scratch_bytes, 0, plan_p);
}

/* How many times the least the busiest rail carries: a tree's root sends once per step. */
static double times_the_least(const struct plan_request *q)
{
    double steps = cost_log2(q->topo->nnodes), n = q->topo->nnodes;

    if (n < 2)
        return 1;
    if (plan_is(q->collective, PLAN_ROOTED) && plan_is_vector(q->collective))
        return steps;
    if (q->collective == COLL_ALLREDUCE && lanes_inter_default(q) == LANES_RECURSIVE_DOUBLING)
        return steps / (2 * (n - 1) / n);
    return 1;
}

/* Seconds in which a rank packs all it contributes. */
static double packing(const struct plan_request *q)
{
    int packs = plan_is(q->collective, PLAN_COMBINES) && !plan_is_vector(q->collective);

    return packs ? (double)plan_total_bytes(q) / cost_local_rate(q) : 0;
}

static int is_direct(const struct plan_request *q)
{
    return q->collective == COLL_ALLREDUCE && lanes_inter_default(q) == LANES_DIRECT;
}

/* A step sends what the one before has brought, so each waits for a chunk, or a slab, to fill it.
 */
static double lanes_cost(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double share = (double)plan_total_bytes(q) / t->nranks;
    double most = is_direct(q) ? share / lanes_slabs(q) : (double)q->chunk_bytes;
    double chunk = share < most ? share : most;

    return cost_passes(q) * (is_direct(q) ? 1 : cost_log2(t->nnodes)) *
               (cost_rail_latency(t) + chunk / cost_rail_rate(t)) +
           2 * cost_local_latency(t) + cost_messages(q) + times_the_least(q) * cost_crossing(q) +
           cost_inside(q) + packing(q);
}

/* The root's copies gain only where messages are few, by leaders (choose.c). */
static const char *lanes_pays(const struct plan_request *q)
{
    if (plan_scatters(q->collective))
        return plan_pays_by_name(q);
    if (q->collective == COLL_ALLREDUCE && q->topo->rate && q->topo->nnodes > 2)
        return NULL; /* parts suit the nodes' rates, also with one rank each */
    return plan_pays_on_idle_rails(q);
}

const struct plan_algorithm plan_lane = {
    .name = "lane",
    .collectives = 1u << COLL_ALLGATHER | 1u << COLL_ALLGATHERV | 1u << COLL_ALLREDUCE |
                   1u << COLL_REDUCE_SCATTER | 1u << COLL_REDUCE_SCATTER_BLOCK | 1u << COLL_BCAST |
                   1u << COLL_REDUCE | 1u << COLL_SCATTER | 1u << COLL_SCATTERV,
    .description =
        "each local rank takes its slice between nodes, in few steps (inter=..., lanes=...)",
    .source = "Optimizing Allreduce with Multiple Processes per GPU, lane-aware allreduce",
    .pays = lanes_pays,
    .cost = lanes_cost,
    .accepts = lanes_accepts,
    .build = lanes_build,
};
