/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model is Hockney's: messages that wait for each other times latency, and bytes over what is
 * busiest, with two kinds of links. It tells apart how often a rank crosses the network and with
 * how many ranks beside it at once. It knows nothing of protocols, so it proposes several.
 */
#include "planners/variants.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "planners/cost.h"

static int no_plan(const struct plan_request *q, struct plan **plan_p)
{
    (void)q;
    (void)plan_p;
    return -ENOTSUP;
}

#define PREFIX "native:"

/* clang-format off: rows of variants.def */
const struct plan_variant plan_variants[] = {
#define VARIANT(library_, collective_, name_, number_, segment_, component_, shape_)               \
    {.row = {.name = PREFIX name_,                                                                 \
             .collectives = 1u << COLL_##collective_,                                              \
             .description = "the library's own",                                                   \
             .source = "the library",                                                              \
             .build = no_plan},                                                                    \
     .library = VARIANT_##library_,                                                                \
     .collective = COLL_##collective_,                                                             \
     .number = number_,                                                                            \
     .segment = segment_,                                                                          \
     .component = component_,                                                                      \
     .shape = VARIANT_##shape_},
#include "planners/variants.def"
#undef VARIANT
};
/* clang-format on */
const int plan_variant_count = sizeof plan_variants / sizeof *plan_variants;
_Static_assert(sizeof plan_variants / sizeof *plan_variants <= 64 * VARIANT_WORDS,
               "a bit for each variant");

const struct plan_variant *plan_variant_of(const struct plan_algorithm *row)
{
    uintptr_t at = (uintptr_t)row, first = (uintptr_t)plan_variants; /* row is the first member */

    return at >= first && at < first + sizeof plan_variants
               ? &plan_variants[(at - first) / sizeof *plan_variants]
               : NULL;
}

int plan_variant_place(const struct plan_variant *v)
{
    int place = 0;

    for (const struct plan_variant *at = plan_variants; at < v; at++)
        place += at->collective == v->collective;
    return place;
}

const struct plan_variant *plan_variant_at(enum plan_collective c, int place)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].collective == c && place-- == 0)
            return &plan_variants[i];
    return NULL;
}

const char *plan_variant_name(const struct plan_variant *v)
{
    return v->row.name + sizeof PREFIX - 1;
}

const struct plan_variant *plan_variant_find(const struct variant_set *set, enum plan_collective c,
                                             const char *name)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (variant_set_has(set, i) && plan_variants[i].collective == c &&
            !strcmp(plan_variant_name(&plan_variants[i]), name))
            return &plan_variants[i];
    return NULL;
}

const struct plan_variant *plan_variant_named(enum variant_library library, enum plan_collective c,
                                              const char *name)
{
    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].library == library && plan_variants[i].collective == c &&
            !strcmp(plan_variant_name(&plan_variants[i]), name))
            return &plan_variants[i];
    return NULL;
}

/* What the formulas are made of. */
struct terms {
    double ranks, nodes, steps; /* steps: of a tree over all ranks */
    double latency;             /* s, of a message; of the network if there is one */
    double message;             /* s, to post one */
    double lone;                /* bytes/s of a rank that crosses the network alone */
    double shared;              /* while all ranks of its node do */
    double local;               /* inside the node */
    double away;                /* share of the ranks that is on other nodes */
};

static struct terms terms_of(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    int beside = cost_largest_node(t), several = t->nnodes > 1;
    double rail = cost_rail_rate(t), rails = rail * t->nrails;
    struct terms m = {.ranks = t->nranks,
                      .nodes = t->nnodes,
                      .steps = cost_log2(t->nranks),
                      .message = COST_MESSAGE_S,
                      .local = cost_local_rate(q)};

    m.latency = (several ? cost_rail_latency(t) : cost_local_latency(t)) + m.message;
    m.lone = several ? t->rank[0].rail < 0 ? rails : rail : m.local;
    m.shared = several ? rails / beside : m.local;
    m.away = several ? 1 - 1 / m.nodes : 1;
    return m;
}

/* Bytes of which all but a rank's own share cross, while all ranks of a node send. */
static double crossing(const struct terms *m, double bytes)
{
    return bytes * m->away / m->shared + bytes * (1 - m->away) / m->local;
}

/* A call of n bytes that goes round once. */
static double once(const struct plan_variant *v, const struct terms *m, double n)
{
    double others = m->ranks - 1, segment = v->segment && v->segment < n ? v->segment : n;

    switch (v->shape) {
    case VARIANT_RING:
        return others * (m->latency + n / m->ranks / m->lone);
    case VARIANT_PAIRED_RING:
        return m->ranks / 2 * (m->latency + 2 * n / m->ranks / m->lone);
    case VARIANT_DOUBLING:
        return m->steps * m->latency + crossing(m, n * others / m->ranks);
    case VARIANT_FULL_DOUBLING:
        return m->steps * m->latency + cost_log2((int)m->nodes) * n / m->shared +
               (m->steps - cost_log2((int)m->nodes)) * n / m->local;
    case VARIANT_TREE:
        return m->steps * (m->latency + n / m->lone);
    case VARIANT_BLOCK_TREE:
        return m->steps * m->latency + n * m->away / m->lone + n / m->local;
    case VARIANT_PIPELINE:
        return (others - 1 + (segment > 0 ? n / segment : 1)) * (m->latency + segment / m->lone);
    case VARIANT_HIERARCHY:
        return cost_log2((int)m->nodes) * (m->latency + n / m->lone) + 2 * n / m->local;
    case VARIANT_FUNNEL:
        return m->latency + others * m->message +
               (plan_is_vector(v->collective) ? others : 1) * n * m->away / m->lone;
    case VARIANT_DIRECT:
        return m->latency + others * m->message + crossing(m, n);
    case VARIANT_PAIRWISE:
        return others * m->latency + crossing(m, n);
    case VARIANT_BRUCK:
        return m->steps * (m->latency + crossing(m, n / 2));
    }
    return INFINITY;
}

double plan_variant_seconds(const struct plan_variant *v, const struct plan_request *q,
                            uint64_t total)
{
    struct terms m = terms_of(q);
    int passes = cost_passes(q);

    if (v->shape == VARIANT_FULL_DOUBLING || v->shape == VARIANT_HIERARCHY)
        passes = 1;
    if (v->collective == COLL_BCAST && (v->shape == VARIANT_DOUBLING || v->shape == VARIANT_RING))
        passes = 2; /* it scatters first */
    if (v->collective == COLL_REDUCE && v->shape == VARIANT_DOUBLING)
        passes = 2;
    return passes * once(v, &m, (double)total);
}

/* A hierarchy is one where there are several nodes, and ranks beside each other. */
static int suits(const struct plan_variant *v, const struct plan_request *q)
{
    return v->shape != VARIANT_HIERARCHY ||
           (q->topo->nnodes > 1 && q->topo->nnodes < q->topo->nranks);
}

int plan_variant_candidates(const struct variant_set *set, const struct plan_request *q,
                            uint64_t total, struct plan_candidate *list, int max)
{
    int n = 0;

    max = max < VARIANT_CANDIDATES ? max : VARIANT_CANDIDATES;
    for (int i = 0; i < plan_variant_count; i++) {
        const struct plan_variant *v = &plan_variants[i];

        if (!variant_set_has(set, i) || v->collective != q->collective || !suits(v, q))
            continue;
        struct plan_candidate c = {
            .algorithm = &v->row, .seconds = plan_variant_seconds(v, q, total), .ppg = 1};
        n = plan_candidates_insert(list, n, max, c);
    }
    return n;
}
