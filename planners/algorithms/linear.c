/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns are staggered: at turn t a rank receives from the rank t places on and sends to the one t
 * places back, so that no rank is the first of all others. Contributions are combined turn by turn,
 * each chunk as soon as that chunk of the turn before is done. The partial result stays in the
 * cache while its contributions come in. Their order is the same in every run.
 *
 * Allreduce cuts the vector into a slice per rank; each rank combines its own and hands it to
 * all. Reduce is its first half with the root as the only taker.
 */
#include "planners/algorithms/linear.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/links/cost.h"

enum tag { TAG_SPREAD, TAG_COLLECT };

/* A plan under way. */
struct work {
    const struct plan_request *q;
    struct plan_builder *b;
    int rank, nranks;
    uint64_t *from;   /* [nranks + 1] owned: where blocks, or slices of the vector, begin */
    uint32_t *reader; /* [nranks] owned: the operation that sends the input's slice, or NO_OP */
    uint64_t scratch_bytes;
};

static uint64_t block_length(const struct work *w, int r)
{
    return w->from[r + 1] - w->from[r];
}

static int peer_on(const struct work *w, int turn)
{
    return (w->rank + turn) % w->nranks;
}

static int peer_back(const struct work *w, int turn)
{
    return (w->rank + w->nranks - turn) % w->nranks;
}

static enum plan_buffer input_of(const struct work *w)
{
    return plan_in_place(w->q, w->rank) ? PLAN_OUTPUT : PLAN_INPUT;
}

/*
 * Blocks are spread: the own one from src on to all others, theirs into the output. made: the
 * operation that completes the own one, or PLAN_NO_OP.
 */
static void spread(struct work *w, enum plan_buffer src, uint64_t src_from, uint32_t made)
{
    for (int turn = 1; turn < w->nranks; turn++) {
        int on = peer_on(w, turn);

        plan_send(w->b, peer_back(w, turn), TAG_SPREAD, src, src_from, block_length(w, w->rank));
        plan_after(w->b, made);
        if (plan_recv(w->b, on, TAG_SPREAD, PLAN_OUTPUT, w->from[on], block_length(w, on)) !=
            PLAN_NO_OP)
            plan_after(w->b, w->reader[on]);
    }
}

/* Give all others their blocks of the input. */
static void give(struct work *w, enum plan_buffer input)
{
    for (int turn = 1; turn < w->nranks; turn++) {
        int back = peer_back(w, turn);

        w->reader[back] =
            plan_send(w->b, back, TAG_COLLECT, input, w->from[back], block_length(w, back));
    }
}

/*
 * All contributions to the own block are combined at dst_from of dst. Returns the operation that
 * completes it, or PLAN_NO_OP if it is empty.
 */
static uint32_t collect(struct work *w, enum plan_buffer input, enum plan_buffer dst,
                        uint64_t dst_from)
{
    uint64_t length = block_length(w, w->rank);
    uint32_t made = PLAN_NO_OP;

    if (w->nranks == 1 && input != dst)
        return plan_copy(w->b, TAG_COLLECT, input, w->from[0], dst, dst_from, length);
    for (int turn = 1; turn < w->nranks; turn++) {
        uint32_t before = made;

        made = plan_recv_reduce(w->b, peer_on(w, turn), TAG_COLLECT, turn == 1 ? input : dst,
                                turn == 1 ? w->from[w->rank] : dst_from, dst, dst_from, length);
        plan_after(w->b, before);
    }
    return made;
}

static void allgather(struct work *w)
{
    if (!w->q->in_place)
        plan_copy(w->b, TAG_SPREAD, PLAN_INPUT, 0, PLAN_OUTPUT, w->from[w->rank],
                  block_length(w, w->rank));
    spread(w, input_of(w), w->q->in_place ? w->from[w->rank] : 0, PLAN_NO_OP);
}

static void reduce_scatter(struct work *w)
{
    give(w, PLAN_INPUT);
    collect(w, PLAN_INPUT, PLAN_OUTPUT, 0);
}

static void allreduce(struct work *w)
{
    give(w, input_of(w));
    uint32_t made = collect(w, input_of(w), PLAN_OUTPUT, w->from[w->rank]);

    spread(w, PLAN_OUTPUT, w->from[w->rank], made);
}

/* The root's input is left alone. */
static void reduce(struct work *w)
{
    int root = w->q->root;

    give(w, PLAN_INPUT);
    if (w->rank != root) {
        w->scratch_bytes = block_length(w, w->rank);
        uint32_t made = collect(w, PLAN_INPUT, PLAN_SCRATCH, 0);
        plan_send(w->b, root, TAG_SPREAD, PLAN_SCRATCH, 0, w->scratch_bytes);
        plan_after(w->b, made);
        return;
    }
    collect(w, PLAN_INPUT, PLAN_OUTPUT, w->from[root]);
    for (int turn = 1; turn < w->nranks; turn++) {
        int on = peer_on(w, turn);
        plan_recv(w->b, on, TAG_SPREAD, PLAN_OUTPUT, w->from[on], block_length(w, on));
    }
}

/* All from the root. */
static void bcast(struct work *w)
{
    if (w->rank != w->q->root) {
        plan_recv(w->b, w->q->root, TAG_SPREAD, PLAN_OUTPUT, 0, w->q->nbytes);
        return;
    }
    for (int turn = 1; turn < w->nranks; turn++)
        plan_send(w->b, peer_back(w, turn), TAG_SPREAD, PLAN_OUTPUT, 0, w->q->nbytes);
}

static void gather(struct work *w)
{
    int root = w->q->root;

    if (w->rank != root) {
        plan_send(w->b, root, TAG_SPREAD, PLAN_INPUT, 0, block_length(w, w->rank));
        return;
    }
    if (!plan_in_place(w->q, root))
        plan_copy(w->b, TAG_SPREAD, PLAN_INPUT, 0, PLAN_OUTPUT, w->from[root],
                  block_length(w, root));
    for (int turn = 1; turn < w->nranks; turn++) {
        int on = peer_on(w, turn);
        plan_recv(w->b, on, TAG_SPREAD, PLAN_OUTPUT, w->from[on], block_length(w, on));
    }
}

static void scatter(struct work *w)
{
    int root = w->q->root;

    if (w->rank != root) {
        plan_recv(w->b, root, TAG_SPREAD, PLAN_OUTPUT, 0, block_length(w, w->rank));
        return;
    }
    for (int turn = 1; turn < w->nranks; turn++) {
        int back = peer_back(w, turn);
        plan_send(w->b, back, TAG_SPREAD, PLAN_INPUT, w->from[back], block_length(w, back));
    }
    if (!plan_in_place(w->q, root))
        plan_copy(w->b, TAG_SPREAD, PLAN_INPUT, w->from[root], PLAN_OUTPUT, 0,
                  block_length(w, root));
}

static void alltoall(struct work *w)
{
    for (int turn = 1; turn < w->nranks; turn++) {
        int on = peer_on(w, turn), back = peer_back(w, turn);

        plan_send(w->b, back, TAG_SPREAD, PLAN_INPUT, w->from[back], block_length(w, back));
        plan_recv(w->b, on, TAG_SPREAD, PLAN_OUTPUT, w->from[on], block_length(w, on));
    }
    plan_copy(w->b, TAG_SPREAD, PLAN_INPUT, w->from[w->rank], PLAN_OUTPUT, w->from[w->rank],
              block_length(w, w->rank));
}

/* How each collective is put together, and whether it is about slices of one vector. */
static const struct {
    void (*build)(struct work *w);
    int slices;
} collectives[COLL_COUNT] = {
    [COLL_ALLGATHER... COLL_ALLGATHERV] = {allgather, 0},
    [COLL_ALLREDUCE] = {allreduce, 1},
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = {reduce_scatter, 0},
    [COLL_BCAST] = {bcast, 1},
    [COLL_REDUCE] = {reduce, 1},
    [COLL_GATHER... COLL_GATHERV] = {gather, 0},
    [COLL_SCATTER... COLL_SCATTERV] = {scatter, 0},
    [COLL_ALLTOALL] = {alltoall, 0},
};

/* The starts of blocks, or of equal slices of whole elements. */
static void divide(struct work *w)
{
    const struct plan_request *q = w->q;
    uint64_t elements = q->nbytes / q->grain, n = (uint64_t)w->nranks;

    w->from[0] = 0;
    for (int r = 0; r < w->nranks; r++) {
        uint64_t upto = (uint64_t)r + 1;
        uint64_t slices = elements / n * upto + elements % n * upto / n;
        w->from[r + 1] = collectives[q->collective].slices ? slices * q->grain
                                                           : w->from[r] + plan_block_bytes(q, r);
        w->reader[r] = PLAN_NO_OP;
    }
}

static int linear_build(const struct plan_request *q, struct plan **plan_p)
{
    struct work w = {.q = q, .rank = q->rank, .nranks = q->topo->nranks};
    int rc = -ENOMEM;

    w.b = plan_build_begin(w.rank, w.nranks, q->chunk_bytes);
    w.from = malloc(((size_t)w.nranks + 1) * sizeof *w.from);
    w.reader = malloc((size_t)w.nranks * sizeof *w.reader);
    if (w.b && w.from && w.reader) {
        divide(&w);
        collectives[q->collective].build(&w);
        rc = plan_build_finish(w.b, plan_linear.name, plan_input_bytes(q, q->rank),
                               plan_output_bytes(q, q->rank), w.scratch_bytes, 0, plan_p);
        w.b = NULL;
    }
    free(w.from);
    free(w.reader);
    plan_build_discard(w.b);
    return rc;
}

static const char *linear_pays(const struct plan_request *q)
{
    return q->topo->nnodes > 1 ? "ranks are on several nodes" : NULL;
}

static double linear_cost(const struct plan_request *q)
{
    return cost_passes(q) * (q->topo->nranks - 1) * cost_local_latency(q->topo) + cost_messages(q) +
           cost_inside(q);
}

const struct plan_algorithm plan_linear = {
    .name = "linear",
    .collectives = 1u << COLL_ALLGATHER | 1u << COLL_ALLGATHERV | 1u << COLL_REDUCE_SCATTER |
                   1u << COLL_REDUCE_SCATTER_BLOCK | 1u << COLL_ALLREDUCE | 1u << COLL_BCAST |
                   1u << COLL_REDUCE | 1u << COLL_GATHER | 1u << COLL_GATHERV | 1u << COLL_SCATTER |
                   1u << COLL_SCATTERV | 1u << COLL_ALLTOALL,
    .description = "every rank with every other directly, in one hop; for the ranks of one node",
    .source = "Parallel Rings Allgather, linear intra-node exchange",
    .pays = linear_pays,
    .cost = linear_cost,
    .build = linear_build,
};
