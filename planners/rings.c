/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel Rings: one inter-node ring per local rank, so that every rail of a node carries
 * traffic in both directions all the time, overlapped with a linear intra-node exchange (for
 * nodes in which any two ranks are linked). Source: papers/parallel-rings-allgather.txt,
 * Algorithm 1, and its section V for the other collectives.
 *
 * Allgather spreads all blocks; reduce-scatter collects them; allreduce does one after the other
 * over blocks of its own making. Broadcast and reduce are the same with one block, the root's:
 * the shares of it then travel side by side through all rails.
 */
#include "planners/rings.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/cost.h"
#include "planners/rings_stage.h"

/* A plan under way. */
struct work {
    const struct plan_request *q;
    struct plan_builder *b;
    struct shares s;
    size_t *sizes;  /* [nranks] owned, or NULL: equal blocks */
    uint64_t *from; /* [nranks] owned, or NULL */
    uint64_t scratch_bytes;
};

static int spread_only(struct work *w)
{
    return rings_spread(w->b, &w->s, w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT, NULL, NULL);
}

static int collect_only(struct work *w)
{
    return rings_collect(w->b, &w->s, PLAN_INPUT, 0, &w->scratch_bytes, NULL, NULL);
}

/* The root's data is in the output, which the library calls the buffer. */
static int bcast(struct work *w)
{
    return rings_spread(w->b, &w->s, PLAN_OUTPUT, NULL, NULL);
}

static int allreduce(struct work *w)
{
    enum plan_buffer input = w->q->in_place ? PLAN_OUTPUT : PLAN_INPUT;
    struct arrivals made = {0}, readers = {0};
    int rc = rings_collect(w->b, &w->s, input, block_from(&w->s.blocks, w->q->rank),
                           &w->scratch_bytes, &made, &readers);

    if (!rc)
        rc = rings_spread(w->b, &w->s, PLAN_OUTPUT, &made, w->q->in_place ? &readers : NULL);
    arrivals_close(&made);
    arrivals_close(&readers);
    return rc;
}

/* How each collective is put together, and which blocks it is about. */
enum division { BLOCKS_AS_ASKED, ONE_BLOCK_AT_ROOT, BLOCKS_BY_RAILS };

static const struct {
    int (*stages)(struct work *w);
    enum division division;
} collectives[COLL_COUNT] = {
    [COLL_ALLGATHER] = {spread_only, BLOCKS_AS_ASKED},
    [COLL_ALLGATHERV] = {spread_only, BLOCKS_AS_ASKED},
    [COLL_REDUCE_SCATTER] = {collect_only, BLOCKS_AS_ASKED},
    [COLL_REDUCE_SCATTER_BLOCK] = {collect_only, BLOCKS_AS_ASKED},
    [COLL_ALLREDUCE] = {allreduce, BLOCKS_BY_RAILS},
    [COLL_BCAST] = {bcast, ONE_BLOCK_AT_ROOT},
    [COLL_REDUCE] = {collect_only, ONE_BLOCK_AT_ROOT},
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

static int rings_build(const struct plan_request *q, struct plan **plan_p)
{
    struct work w = {.q = q, .b = plan_build_begin(q->rank, q->topo->nranks, q->chunk_bytes)};
    struct blocks blocks;
    int rc = w.b ? divide(&w, &blocks) : -ENOMEM;

    if (!rc)
        rc = shares_open(&w.s, q->topo, q->rank, blocks, q->grain);
    if (!rc)
        rc = collectives[q->collective].stages(&w);
    if (!rc) {
        rc = plan_build_finish(w.b, plan_rings.name, plan_input_bytes(q, q->rank),
                               plan_output_bytes(q, q->rank), w.scratch_bytes, plan_p);
        w.b = NULL;
    }
    shares_close(&w.s);
    free(w.sizes);
    free(w.from);
    plan_build_discard(w.b);
    return rc;
}

static const char *rings_pays(const struct plan_request *q)
{
    const struct topo *t = q->topo;

    if (t->nnodes < 2)
        return "all ranks share a node";
    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > 1)
            return NULL;
    return "one rank per node leaves no rail idle";
}

/*
 * All rails are busy all the time, once the first chunk has come round the ring and gone through
 * the node; what goes through the node overlaps with the rails.
 */
static double rings_cost(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    int g = cost_largest_node(t), steps = t->nnodes - 1;
    double crossing = cost_crossing(q), inside = cost_inside(q);
    double share = (double)plan_total_bytes(q) / t->nranks; /* moves as one between two ranks */
    double chunk = share < (double)q->chunk_bytes ? share : (double)q->chunk_bytes;
    double chunks = chunk > 0 ? (double)plan_total_bytes(q) / chunk : 0;
    double first = steps * (cost_rail_latency(t) + chunk / cost_rail_rate(t)) +
                   (g > 1 ? cost_local_latency(t) + chunk / cost_local_rate(t) : 0);

    return cost_passes(q) * (first + chunks * COST_MESSAGE_S) +
           (crossing > inside ? crossing : inside);
}

const struct plan_algorithm plan_rings = {
    .name = "parallel_rings",
    .collectives = 1u << COLL_ALLGATHER | 1u << COLL_ALLGATHERV | 1u << COLL_REDUCE_SCATTER |
                   1u << COLL_REDUCE_SCATTER_BLOCK | 1u << COLL_ALLREDUCE | 1u << COLL_BCAST |
                   1u << COLL_REDUCE,
    .description =
        "one inter-node ring per local rank, pipelined with a linear intra-node exchange",
    .source = "Parallel Rings Allgather, Algorithm 1",
    .pays = rings_pays,
    .cost = rings_cost,
    .build = rings_build,
};
