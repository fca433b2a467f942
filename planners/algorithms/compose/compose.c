/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HiCCL composes every collective of multicasts, reductions and fences. It factorises them over a
 * hierarchy, stripes them, passes them along a ring or down a tree, and pipelines them. This file
 * is the paper's section III: the single-step patterns, and each collective as one of them or two
 * with a fence between (Table II). A recipe chooses; see compose_shape.c.
 *
 * Unlike HiCCL, a rank computes its own part only, and ranks may be in any order. Nodes and counts
 * need not be equal, and steps overlap wherever bytes allow.
 */
#include "planners/algorithms/compose/compose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "planners/algorithms/compose/compose_parts.h"
#include "planners/links/shares.h"

/* Table II, Single: roots and leaves of the primitives, and whether each is about the root's block
   or the whole vector. */
enum pattern {
    NO_STEP,
    BROADCAST,
    REDUCE,
    ALLGATHER,
    REDUCE_SCATTER,
    ALLREDUCE,
    SCATTER,
    GATHER,
    ALLTOALL
};
enum ranks { ROOT, EACH, ALL };

static const struct {
    uint8_t kind, root, leaf, whole;
} patterns[] = {
    [BROADCAST] = {COMPOSE_MULTICAST, ROOT, ALL, 1},
    [REDUCE] = {COMPOSE_REDUCTION, ROOT, ALL, 1},
    [ALLGATHER] = {COMPOSE_MULTICAST, EACH, ALL, 0},
    [REDUCE_SCATTER] = {COMPOSE_REDUCTION, EACH, ALL, 0},
    [ALLREDUCE] = {COMPOSE_REDUCTION, EACH, ALL, 1},
    [SCATTER] = {COMPOSE_REDUCTION, EACH, ROOT, 0},
    [GATHER] = {COMPOSE_MULTICAST, EACH, ROOT, 0},
    [ALLTOALL] = {COMPOSE_MULTICAST, EACH, EACH, 0},
};

#define BIT(c) (1u << COLL_##c)
enum {
    ALLGATHERS = BIT(ALLGATHER) | BIT(ALLGATHERV),
    REDUCE_SCATTERS = BIT(REDUCE_SCATTER) | BIT(REDUCE_SCATTER_BLOCK),
    GATHERS = BIT(GATHER) | BIT(GATHERV),
    SCATTERS = BIT(SCATTER) | BIT(SCATTERV),
};

/* Table II for MPI's collectives: at most two steps, in the order of execution. A recipe need not
   name the first row of a collective. If any rank may be the one between two steps, it is rank 0.
 */
struct composition {
    unsigned collectives;
    uint8_t steps; /* enum compose_steps: what the recipe calls it */
    struct compose_step step[2];
};

#define IN COMPOSE_INPUT
#define OUT COMPOSE_OUTPUT
#define KEPT COMPOSE_KEPT
#define FRESH COMPOSE_FRESH
static const struct composition compositions[] = {
    {BIT(BCAST), COMPOSE_SINGLE, {{BROADCAST, OUT, OUT, OUT}}},
    {BIT(BCAST), COMPOSE_MULTI, {{SCATTER, OUT, OUT, OUT}, {ALLGATHER, OUT, OUT, OUT}}},
    {BIT(REDUCE), COMPOSE_SINGLE, {{REDUCE, IN, FRESH, OUT}}},
    {BIT(REDUCE), COMPOSE_MULTI, {{REDUCE_SCATTER, IN, FRESH, KEPT}, {GATHER, KEPT, FRESH, OUT}}},
    {ALLGATHERS, COMPOSE_SINGLE, {{ALLGATHER, IN, OUT, OUT}}},
    {ALLGATHERS, COMPOSE_MULTI, {{GATHER, IN, OUT, OUT}, {BROADCAST, OUT, OUT, OUT}}},
    {REDUCE_SCATTERS, COMPOSE_SINGLE, {{REDUCE_SCATTER, IN, FRESH, OUT}}},
    {REDUCE_SCATTERS, COMPOSE_MULTI, {{REDUCE, IN, FRESH, KEPT}, {SCATTER, KEPT, FRESH, OUT}}},
    {BIT(ALLREDUCE), COMPOSE_MULTI, {{REDUCE_SCATTER, IN, OUT, OUT}, {ALLGATHER, OUT, OUT, OUT}}},
    {BIT(ALLREDUCE), COMPOSE_ROOTED, {{REDUCE, IN, OUT, OUT}, {BROADCAST, OUT, OUT, OUT}}},
    {BIT(ALLREDUCE), COMPOSE_SINGLE, {{ALLREDUCE, IN, FRESH, OUT}}},
    {GATHERS, COMPOSE_SINGLE, {{GATHER, IN, FRESH, OUT}}},
    {SCATTERS, COMPOSE_SINGLE, {{SCATTER, IN, FRESH, OUT}}},
    {BIT(ALLTOALL), COMPOSE_SINGLE, {{ALLTOALL, IN, FRESH, OUT}}},
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

static int is_among(const struct plan_request *q, unsigned collectives)
{
    return (1u << q->collective & collectives) != 0;
}

/* A plan under way. */
struct work {
    const struct plan_request *q;
    struct compose_shape shape;
    const struct composition *composition;
    size_t *sizes;  /* [nranks] owned: the blocks of the vector */
    uint64_t *from; /* [nranks] owned */
    uint64_t total; /* bytes of the vector */
    struct compose_ground ground[COMPOSE_FRESH];
    struct compose_emit *emit;
};

/* The composition the recipe names, and the shape for it. */
static int read_recipe(const struct plan_request *q, struct compose_shape *s,
                       const struct composition **composition, char *why, size_t why_size)
{
    const struct composition *by_steps[COMPOSE_CHOICES] = {NULL}, *usual = NULL;
    uint8_t nature[COMPOSE_CHOICES] = {0};
    int rc;

    for (int i = COMPOSITIONS - 1; i >= 0; i--) {
        const struct composition *c = &compositions[i];
        if (!is_among(q, c->collectives))
            continue;
        usual = by_steps[c->steps] = c;
        if (c->step[0].pattern == ALLREDUCE)
            nature[c->steps] = COMPOSE_SAME_ORDER;
        else if (!c->step[1].pattern && patterns[c->step[0].pattern].root == ROOT)
            nature[c->steps] = COMPOSE_ONE;
    }
    if (!usual)
        return -EINVAL;
    rc = compose_shape_open(s, q, (enum compose_steps)usual->steps, nature, why, why_size);
    if (rc)
        return rc;
    *composition = by_steps[s->steps];
    if (*composition)
        return 0;
    snprintf(why, why_size, "steps: %s has no such composition; leave steps out, or steps=single",
             plan_collective_name(q->collective));
    compose_shape_close(s);
    return -EINVAL;
}

/* The vector's blocks: the caller's, or where the vector is one thing, a part for each rank. */
static int divide(struct work *w)
{
    const struct plan_request *q = w->q;
    size_t nranks = (size_t)q->topo->nranks;

    w->total = plan_total_bytes(q);
    w->sizes = malloc(nranks * sizeof *w->sizes);
    w->from = malloc(nranks * sizeof *w->from);
    if (!w->sizes || !w->from)
        return -ENOMEM;
    if (plan_is_vector(q->collective))
        return shares_divide(q->topo, q->nbytes, q->grain, w->sizes, w->from);
    for (size_t r = 0, next = 0; r < nranks; next += w->sizes[r++]) {
        w->sizes[r] = plan_block_bytes(q, (int)r);
        w->from[r] = next;
    }
    return 0;
}

static int the_root(const struct work *w)
{
    return plan_is(w->q->collective, PLAN_ROOTED) ? w->q->root : 0;
}

/* A single-step allreduce destroys its input in place while others still need it. */
static int saves_input(const struct work *w)
{
    return w->composition->step[0].pattern == ALLREDUCE && w->q->in_place;
}

/* Bytes of scratch that are kept between two steps, and where in the vector they start. */
static uint64_t kept_bytes(const struct work *w, uint64_t *start)
{
    const struct composition *c = w->composition;
    int me = w->q->rank;

    *start = 0;
    if (saves_input(w))
        return w->total;
    if (c->step[0].to != KEPT)
        return 0;
    if (patterns[c->step[0].pattern].whole)
        return me == the_root(w) ? w->total : 0;
    *start = w->from[me];
    return w->sizes[me];
}

/* The places of this rank's buffers in the vector. */
static uint64_t lay_ground(struct work *w)
{
    const struct plan_request *q = w->q;
    uint64_t own = w->from[q->rank], kept_start, kept = kept_bytes(w, &kept_start);

    w->ground[IN] =
        (struct compose_ground){PLAN_INPUT, is_among(q, ALLGATHERS | GATHERS) ? own : 0, 0};
    w->ground[OUT] =
        (struct compose_ground){PLAN_OUTPUT, is_among(q, REDUCE_SCATTERS | SCATTERS) ? own : 0, 0};
    w->ground[KEPT] = (struct compose_ground){PLAN_SCRATCH, kept_start, 0};
    if (plan_in_place(q, q->rank) && !is_among(q, SCATTERS))
        w->ground[IN] = saves_input(w) ? w->ground[KEPT] : w->ground[OUT];
    return kept;
}

static struct compose_primitive primitive(const struct work *w, const struct compose_step *step,
                                          int root, int leaf)
{
    struct compose_primitive p = {.kind = patterns[step->pattern].kind,
                                  .root = root,
                                  .leaf = leaf,
                                  .from_at = w->from[root],
                                  .bytes = w->sizes[root]};

    if (patterns[step->pattern].whole) {
        p.from_at = 0;
        p.bytes = w->total;
    } else if (step->pattern == ALLTOALL) {
        p.from_at = w->from[leaf];
    }
    p.to_at = patterns[step->pattern].whole ? 0 : w->from[root];
    return p;
}

/* The primitives M(root, leaf) or R(leaf, root) that this rank has a part in. */
static void each_stripe(const struct work *w, const struct compose_step *step, int root, int leaf)
{
    struct compose_primitive p = primitive(w, step, root, leaf);
    int stripes = compose_stripes(&w->shape, root, leaf);

    if (root == w->q->rank && p.kind == COMPOSE_MULTICAST &&
        (leaf == COMPOSE_EVERYONE || leaf == root))
        compose_emit_copy(w->emit, step->from, p.from_at, step->to, p.to_at, p.bytes);
    if (root == w->q->rank && p.kind == COMPOSE_REDUCTION && leaf == root &&
        !plan_in_place(w->q, root))
        compose_emit_copy(w->emit, step->from, p.from_at, step->to, p.to_at, p.bytes);
    for (int j = 0; leaf != root && j < stripes; j++)
        compose_emit_stripe(w->emit, &p, j);
}

struct passing {
    const struct work *w;
    const struct compose_step *step;
};

static void one_stripe(void *to, int root, int leaf, int stripe)
{
    const struct passing *p = to;
    struct compose_primitive primitive_of_pair = primitive(p->w, p->step, root, leaf);

    compose_emit_stripe(p->w->emit, &primitive_of_pair, stripe);
}

/* All pairs: those that start here, those that end here, those that pass through. */
static void exchange(const struct work *w, const struct compose_step *step)
{
    int me = w->q->rank;

    for (int r = 0; r < w->q->topo->nranks; r++)
        each_stripe(w, step, me, r);
    for (int r = 0; r < w->q->topo->nranks; r++)
        if (r != me)
            each_stripe(w, step, r, me);
    compose_each_passing(&w->shape, me, one_stripe, &(struct passing){w, step});
}

static void do_step(const struct work *w, const struct compose_step *step)
{
    uint8_t roots = patterns[step->pattern].root, leaves = patterns[step->pattern].leaf;
    int leaf = leaves == ALL ? COMPOSE_EVERYONE : the_root(w);

    compose_emit_step(w->emit, (int)(step - w->composition->step), step);
    if (leaves == EACH)
        exchange(w, step);
    else if (roots == ROOT)
        each_stripe(w, step, the_root(w), leaf);
    else
        for (int r = 0; r < w->q->topo->nranks; r++)
            each_stripe(w, step, r, leaf);
}

/* Pipeline depth m (IV-E): what one stripe of the largest primitive moves, in m chunks. */
static uint64_t chunk_of(const struct work *w)
{
    uint64_t most = 0, grain = w->q->grain;
    uint64_t parts = (uint64_t)w->shape.pipeline * (uint64_t)w->shape.stripe;

    if (!w->shape.pipeline)
        return w->q->chunk_bytes;
    for (int r = 0; r < w->q->topo->nranks; r++)
        if (w->sizes[r] > most)
            most = w->sizes[r];
    for (int s = 0; s < 2; s++)
        if (patterns[w->composition->step[s].pattern].whole)
            most = w->total;
    uint64_t elements = (most / grain + parts - 1) / parts;
    return plan_chunk(w->q, elements * grain);
}

static int compose_build(const struct plan_request *q, struct plan **plan_p)
{
    struct work w = {.q = q};
    uint64_t scratch = 0;
    int rc = read_recipe(q, &w.shape, &w.composition, NULL, 0);

    if (rc)
        return rc == -EINVAL ? -ENOTSUP : rc;
    rc = divide(&w);
    if (!rc) {
        scratch = lay_ground(&w);
        w.emit = compose_emit_open(q, &w.shape, w.ground, scratch);
        rc = w.emit ? 0 : -ENOMEM;
    }
    if (!rc) {
        if (saves_input(&w)) {
            compose_emit_step(w.emit, 0, &w.composition->step[0]);
            compose_emit_copy(w.emit, OUT, 0, KEPT, 0, w.total);
        }
        for (int s = 0; s < 2 && w.composition->step[s].pattern; s++)
            do_step(&w, &w.composition->step[s]);
        rc = compose_emit_finish(w.emit, chunk_of(&w), plan_compose.name, plan_p);
    }
    compose_emit_close(w.emit);
    free(w.sizes);
    free(w.from);
    compose_shape_close(&w.shape);
    return rc;
}

static int compose_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    const struct composition *composition;
    struct compose_shape s;
    int rc = read_recipe(q, &s, &composition, why, why_size);

    if (!rc)
        compose_shape_close(&s);
    return rc;
}

const struct plan_algorithm plan_compose = {
    .name = "compose",
    .collectives = ((1u << COLL_COUNT) - 1) &
                   ~(1u << COLL_ALLTOALLV | 1u << COLL_NEIGHBOR_ALLGATHER |
                     1u << COLL_NEIGHBOR_ALLTOALL | 1u << COLL_SCAN | 1u << COLL_EXSCAN),
    .description = "multicasts and reductions factorised over a hierarchy: stripes, ring, tree",
    .source = "HiCCL, sections III and IV",
    .pays = plan_pays_by_name,
    .accepts = compose_accepts,
    .build = compose_build,
};
