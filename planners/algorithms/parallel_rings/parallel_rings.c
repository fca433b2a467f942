/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel Rings: one inter-node ring per local rank, so that every rail of a node carries traffic
 * in both directions all the time. The linear intra-node exchange overlaps with it (for nodes in
 * which any two ranks are linked). Source: Parallel Rings, Algorithm 1, and its section V for the
 * other collectives.
 *
 * Allgather spreads all blocks; reduce-scatter collects them; allreduce does one after the other
 * over blocks of its own making. Broadcast and reduce are the same with one block, the root's:
 * the shares of it then travel side by side through all rails. Gather and scatter have no rings,
 * but divide what enters or leaves the root's node among its rails alike (rings_rooted.c).
 */
#include "planners/algorithms/parallel_rings/parallel_rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "planners/algorithms/parallel_rings/rings_rooted.h"
#include "planners/algorithms/parallel_rings/rings_stage.h"
#include "planners/links/aligned.h"
#include "planners/links/cost.h"
#include "planners/plan/recipe.h"

/* A plan under way. */
struct work {
    const struct plan_request *q;
    struct plan_builder *b;
    struct shares s;
    size_t *sizes;  /* [nranks] owned, or NULL: equal blocks */
    uint64_t *from; /* [nranks] owned, or NULL */
    struct rings_trees trees;
    uint64_t scratch_bytes;
};

static int spread_only(struct work *w)
{
    return rings_spread(w->b, &w->s, &w->trees, w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT, NULL,
                        NULL);
}

static int collect_only(struct work *w)
{
    return rings_collect(w->b, &w->s, &w->trees, PLAN_INPUT, 0, &w->scratch_bytes, NULL, NULL);
}

/* The root's data is in the output, which the library calls the buffer. */
static int bcast(struct work *w)
{
    return rings_spread(w->b, &w->s, &w->trees, PLAN_OUTPUT, NULL, NULL);
}

static int allreduce(struct work *w)
{
    enum plan_buffer input = w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT;
    struct arrivals made = {0}, readers = {0};
    int rc = rings_collect(w->b, &w->s, &w->trees, input, block_from(&w->s.blocks, w->q->rank),
                           &w->scratch_bytes, &made, &readers);

    if (!rc)
        rc = rings_spread(w->b, &w->s, &w->trees, PLAN_OUTPUT, &made,
                          w->q->in_place ? &readers : NULL);
    arrivals_close(&made);
    arrivals_close(&readers);
    return rc;
}

static int rooted(struct work *w)
{
    return rings_rooted(w->b, &w->s, w->q, &w->scratch_bytes);
}

/* How each collective is put together, which blocks it is about, and from where it is seen. */
enum division { BLOCKS_AS_ASKED, ONE_BLOCK_AT_ROOT, BLOCKS_BY_RAILS };

static const struct {
    int (*stages)(struct work *w);
    enum division division;
    int from_root; /* the shares are the root's */
} collectives[COLL_COUNT] = {
    [COLL_ALLGATHER... COLL_ALLGATHERV] = {spread_only, BLOCKS_AS_ASKED},
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = {collect_only, BLOCKS_AS_ASKED},
    [COLL_ALLREDUCE] = {allreduce, BLOCKS_BY_RAILS},
    [COLL_BCAST] = {bcast, ONE_BLOCK_AT_ROOT},
    [COLL_REDUCE] = {collect_only, ONE_BLOCK_AT_ROOT},
    [COLL_GATHER... COLL_GATHERV] = {rooted, BLOCKS_AS_ASKED, 1},
    [COLL_SCATTER... COLL_SCATTERV] = {rooted, BLOCKS_AS_ASKED, 1},
};

/* Data that travels round the rings, and data that goes straight to the root's rails. */
enum {
    ON_RINGS = 1u << COLL_ALLGATHER | 1u << COLL_ALLGATHERV | 1u << COLL_REDUCE_SCATTER |
               1u << COLL_REDUCE_SCATTER_BLOCK | 1u << COLL_ALLREDUCE | 1u << COLL_BCAST |
               1u << COLL_REDUCE,
    ROOTED = 1u << COLL_GATHER | 1u << COLL_GATHERV | 1u << COLL_SCATTER | 1u << COLL_SCATTERV
};

/* Fill in the blocks. Equal ones need no table. */
static int divide(struct work *w, struct blocks *blocks)
{
    const struct plan_request *q = w->q;
    enum division division = collectives[q->collective].division;
    size_t nranks = (size_t)q->topo->nranks;
    uint64_t next = 0;

    *blocks = (struct blocks){.equal = q->nbytes};
    if (division == BLOCKS_AS_ASKED && !q->bytes)
        return 0;
    w->sizes = calloc(nranks, sizeof *w->sizes);
    w->from = malloc(nranks * sizeof *w->from);
    if (!w->sizes || !w->from)
        return -ENOMEM;
    *blocks = (struct blocks){.sizes = w->sizes, .from = w->from};
    if (division == BLOCKS_BY_RAILS)
        return shares_divide(q->topo, q->nbytes, q->grain, w->sizes, w->from);
    if (division == ONE_BLOCK_AT_ROOT)
        w->sizes[q->root] = q->nbytes;
    for (size_t r = 0; r < nranks; r++) {
        if (division == BLOCKS_AS_ASKED)
            w->sizes[r] = q->bytes[r];
        w->from[r] = next;
        next += w->sizes[r];
    }
    return 0;
}

/* The keys of a recipe. */
enum { KEY_INTRA, KEY_K, KEYS };

static const char *const intra_names[] = {
#define INTRA(id, text) text,
    RINGS_INTRA(INTRA)
#undef INTRA
        NULL};

static const struct recipe_key keys[KEYS] = {
    [KEY_INTRA] = {.name = "intra", .words = intra_names},
    [KEY_K] = {.name = "k", .least = 2, .most = 1024},
};

enum { INTRA_BY_NODE = RINGS_INTRA_COUNT, PAPERS_K = 4 };

static int read_recipe(const char *recipe, struct recipe_value value[KEYS], char *why,
                       size_t why_size)
{
    value[KEY_INTRA].number = INTRA_BY_NODE;
    value[KEY_K].number = PAPERS_K;
    int rc = recipe_read(recipe, keys, KEYS, value, why, why_size);

    if (!rc && value[KEY_K].text && value[KEY_INTRA].number != RINGS_KNOMIAL) {
        snprintf(why, why_size, "k=%d: goes with intra=knomial only", value[KEY_K].number);
        rc = -EINVAL;
    }
    return rc;
}

static int rings_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    struct recipe_value value[KEYS];

    return read_recipe(q->recipe, value, why, why_size);
}

static int build_on(const struct plan_request *q, const char *name, int intra, int k,
                    struct plan **plan_p)
{
    struct work w = {.q = q, .b = plan_build_begin(q->rank, q->topo->nranks, q->chunk_bytes)};
    int node = q->topo->rank[q->rank].node;
    struct blocks blocks;
    int rc = w.b ? divide(&w, &blocks) : -ENOMEM;
    int from_root = collectives[q->collective].from_root;
    enum share_way way = !from_root                    ? SHARE_THROUGH
                         : plan_gathers(q->collective) ? SHARE_IN
                                                       : SHARE_OUT;

    if (intra == INTRA_BY_NODE)
        intra = rings_sockets_matter(q->topo, node) ? RINGS_SOCKETS : RINGS_LINEAR;
    if (!rc)
        rc = shares_open(&w.s, q->topo, from_root ? q->root : q->rank, blocks, q->grain, way);
    if (!rc)
        rc = rings_trees_open(&w.trees, q->topo, node, (enum rings_intra)intra, k);
    if (!rc)
        rc = collectives[q->collective].stages(&w);
    if (!rc) {
        rc = plan_build_finish(w.b, name, plan_input_bytes(q, q->rank),
                               plan_output_bytes(q, q->rank), w.scratch_bytes, 0, plan_p);
        w.b = NULL;
    }
    rings_trees_close(&w.trees);
    shares_close(&w.s);
    free(w.sizes);
    free(w.from);
    plan_build_discard(w.b);
    return rc;
}

/* Rings use aligned rails; a gather's and a scatter's pieces do not go round. */
static int build(const struct plan_request *q, const char *name, int intra, int k,
                 struct plan **plan_p)
{
    struct plan_request aligned = *q;
    struct topo *t = NULL;
    int rc = ON_RINGS & 1u << q->collective ? aligned_open(q->topo, &t) : 0;

    if (t)
        aligned.topo = t;
    if (!rc)
        rc = build_on(&aligned, name, intra, k, plan_p);
    topo_free(t);
    return rc;
}

static int rings_build(const struct plan_request *q, struct plan **plan_p)
{
    struct recipe_value value[KEYS];
    int rc = read_recipe(q->recipe, value, NULL, 0);

    return rc ? -ENOTSUP
              : build(q, plan_parallel_rings.name, value[KEY_INTRA].number, value[KEY_K].number,
                      plan_p);
}

/*
 * On so many nodes an allreduce's plan takes above a millisecond and half a MiB. Lanes in a ring
 * send the same bytes over the rails with a fraction of the operations.
 */
enum { MOST_OPERATIONS = 16 << 10 };

static int is_long(const struct plan_request *q)
{
    long each = 4L * cost_largest_node(q->topo); /* of a unit: to and from the ring and the peers */

    return q->collective == COLL_ALLREDUCE && q->topo->nnodes * each > MOST_OPERATIONS;
}

/*
 * All rails are busy all the time, once the first chunk has come round the ring and gone through
 * the node. Traffic inside the node overlaps with the rails.
 */
static const char *rings_pays(const struct plan_request *q)
{
    const struct topo *t = q->topo;

    if (t->nnodes > 1 && collectives[q->collective].from_root &&
        topo_node_size(t, t->rank[q->root].node) == 1)
        return "the root is alone on its node, and all its rails are its own";
    if (is_long(q))
        return "on so many nodes, lanes send as much in fewer operations";
    return plan_pays_on_idle_rails(q);
}

/* In a ring all nodes pass on alike, so the slowest one decides; the bound lets it pass on less. */
static double rings_crossing(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    double bound = cost_crossing(q), bytes = (double)q->nbytes * 2 * (t->nnodes - 1) / t->nnodes;
    double ring = bytes / t->nrails / cost_rail_rate(t);

    return q->collective == COLL_ALLREDUCE && t->rate && ring > bound ? ring : bound;
}

/* One chunk goes all the way, and the busiest link carries all: at the same time where every rank
   sends from the start and so keeps all rails busy, one after the other where a root does. */
static double rings_cost(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    int g = cost_largest_node(t), steps = t->nnodes - 1;
    double crossing = rings_crossing(q), inside = cost_inside(q);
    double share = (double)plan_total_bytes(q) / t->nranks; /* moves as one between two ranks */
    double chunk = share < (double)q->chunk_bytes ? share : (double)q->chunk_bytes;
    double local = g > 1 ? cost_local_latency(t) + chunk / cost_local_rate(q) : 0;
    double round = steps * (cost_rail_latency(t) + chunk / cost_rail_rate(t));
    double busiest = crossing > inside ? crossing : inside, posting = cost_messages(q);

    if (plan_is(q->collective, PLAN_ROOTED))
        return cost_passes(q) * (round + local) + posting + busiest;
    busiest += cost_rail_latency(t);
    round *= cost_passes(q);
    return (round > busiest ? round : busiest) + cost_passes(q) * local + posting;
}

const struct plan_algorithm plan_parallel_rings = {
    .name = "parallel_rings",
    .collectives = ON_RINGS | ROOTED,
    .description =
        "one inter-node ring per local rank, pipelined with a linear intra-node exchange",
    .source = "Parallel Rings Allgather, Algorithm 1",
    .pays = rings_pays,
    .accepts = rings_accepts,
    .cost = rings_cost,
    .build = rings_build,
};

/*
 * The paper's other exchanges by their own names: between nodes the same rings, so that on one
 * node they are what they are called.
 */
static int doubling_build(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, plan_binomial_doubling.name, RINGS_BINOMIAL_DOUBLING, 0, plan_p);
}

static int halving_build(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, plan_binomial_halving.name, RINGS_BINOMIAL_HALVING, 0, plan_p);
}

static int exchange_build(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, plan_recursive_doubling.name, RINGS_RECURSIVE_DOUBLING, 0, plan_p);
}

static int read_k(const char *recipe, struct recipe_value *k, char *why, size_t why_size)
{
    k->number = PAPERS_K;
    return recipe_read(recipe, &keys[KEY_K], 1, k, why, why_size);
}

static int knomial_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    struct recipe_value k;

    return read_k(q->recipe, &k, why, why_size);
}

static int knomial_build(const struct plan_request *q, struct plan **plan_p)
{
    struct recipe_value k;

    return read_k(q->recipe, &k, NULL, 0)
               ? -ENOTSUP
               : build(q, plan_knomial.name, RINGS_KNOMIAL, k.number, plan_p);
}

static const char paper[] = "Parallel Rings Allgather, section III.B";

const struct plan_algorithm plan_binomial_doubling = {
    .name = "binomial_doubling",
    .collectives = ON_RINGS,
    .description = "inside a node binomial trees, nearest rank first; rings between nodes",
    .source = paper,
    .pays = plan_pays_by_name,
    .build = doubling_build,
};

const struct plan_algorithm plan_binomial_halving = {
    .name = "binomial_halving",
    .collectives = ON_RINGS,
    .description = "inside a node binomial trees, farthest rank first; rings between nodes",
    .source = paper,
    .pays = plan_pays_by_name,
    .build = halving_build,
};

const struct plan_algorithm plan_knomial = {
    .name = "knomial",
    .collectives = ON_RINGS,
    .description = "inside a node k-nomial trees (k=4), farthest first; rings between nodes",
    .source = paper,
    .pays = plan_pays_by_name,
    .accepts = knomial_accepts,
    .build = knomial_build,
};

const struct plan_algorithm plan_recursive_doubling = {
    .name = "recursive_doubling",
    .collectives = ON_RINGS,
    .description = "inside a node pairs exchange all they have; rings between nodes",
    .source = paper,
    .pays = plan_pays_by_name,
    .build = exchange_build,
};
