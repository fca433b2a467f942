/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The optimization space (HiCCL, section IV-A): the parameters of a recipe, and their defaults. The
 * paper leaves all parameters to the user. Here each has a default from the topology: one level of
 * nodes and one of ranks, a ring over the nodes, and stripes as wide as a node.
 *
 * A hierarchy is a shape. It fits the nodes if all factors but the last make their number, and the
 * last is the largest one's ranks. Then its last groups are the nodes themselves, of any size.
 * Otherwise the ranks, node by node and socket by socket, are cut into equal groups, as in the
 * paper.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/compose/compose_parts.h"
#include "planners/plan/recipe.h"

static const struct compose_library libraries[] = {
    {"auto", 0, 0},
    {"mpi", 0, 1},
    {"shm", 1, 0},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static const char *const steps_words[] = {"single", "multi", "rooted", NULL};

enum { HIERARCHY, STRIPE, RING, PIPELINE, LIBRARY, STEPS, KEYS };
static const struct recipe_key keys[KEYS] = {
    [HIERARCHY] = {.name = "hierarchy"},
    [STRIPE] = {.name = "stripe", .least = 1, .most = 1 << 20},
    [RING] = {.name = "ring", .least = 1, .most = 1 << 20},
    [PIPELINE] = {.name = "pipeline", .least = 1, .most = 1 << 20},
    [LIBRARY] = {.name = "library"},
    [STEPS] = {.name = "steps", .words = steps_words},
};

struct reader {
    struct compose_shape *s;
    struct recipe_value value[KEYS];
    char hierarchy[96]; /* as text, for messages */
    char *why;
    size_t why_size;
};

#define WRONG(r, ...) (snprintf((r)->why, (r)->why_size, __VA_ARGS__), -EINVAL)

int compose_rank_at(const struct compose_shape *s, uint64_t address)
{
    uint64_t last = s->factor[s->levels - 1];

    if (!s->by_node)
        return s->order[address];
    int node = (int)(address / last);
    return topo_node_rank(s->t, node, (int)(address % last) % topo_node_size(s->t, node));
}

uint64_t compose_address(const struct compose_shape *s, int rank)
{
    const struct topo_rank *r = &s->t->rank[rank];

    return s->by_node ? (uint64_t)r->node * s->factor[s->levels - 1] + (uint64_t)r->local
                      : (uint64_t)s->place[rank];
}

const struct compose_library *compose_library_between(const struct compose_shape *s, int a, int b)
{
    uint64_t at = compose_address(s, a), to = compose_address(s, b);
    int level = 0;

    while (level < s->levels - 1 && at / s->width[level + 1] == to / s->width[level + 1])
        level++;
    return &libraries[s->library[level]];
}

int compose_is_own(const struct compose_shape *s, uint64_t address)
{
    uint64_t last = s->factor[s->levels - 1];

    return !s->by_node || address % last < (uint64_t)topo_node_size(s->t, (int)(address / last));
}

static int largest_node(const struct topo *t)
{
    int most = 0;

    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > most)
            most = topo_node_size(t, n);
    return most;
}

/* The product of the first factors; far beyond any number of ranks it stops growing. */
static uint64_t product(const struct compose_shape *s, int levels)
{
    uint64_t all = 1;

    for (int l = 0; l < levels && all < UINT32_MAX; l++)
        all *= s->factor[l];
    return all;
}

/* The least number of levels whose factors make so many groups, or -1. */
static int levels_making(const struct compose_shape *s, uint64_t groups)
{
    for (int levels = 0; levels <= s->levels; levels++)
        if (product(s, levels) == groups)
            return levels;
    return -1;
}

/* Levels a ring can be made of: unequal nodes have no ring of ranks, but one of nodes. */
static int ring_levels(const struct compose_shape *s)
{
    return s->width[0] == (uint64_t)s->t->nranks ? s->levels : s->levels - 1;
}

/* The next element of a text a:b:c; returns where the one behind it starts, or NULL. */
static const char *element(const char *at, const char *end, size_t *length)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));

    *length = (size_t)((colon ? colon : end) - at);
    return colon ? colon + 1 : NULL;
}

static int read_hierarchy(struct reader *r)
{
    const struct recipe_value *v = &r->value[HIERARCHY];
    const char *at = v->text, *end = v->text + v->length;
    size_t length;

    for (r->s->levels = 0; at; r->s->levels++) {
        const char *next = element(at, end, &length);
        uint64_t factor = 0;

        for (size_t i = 0; i < length && factor <= 1 << 24; i++)
            factor = at[i] >= '0' && at[i] <= '9' ? 10 * factor + (uint64_t)(at[i] - '0') : 1 << 25;
        if (!factor || factor > 1 << 24)
            return WRONG(r, "hierarchy=%.*s: '%.*s' must be a number of groups, as in 4:4",
                         (int)v->length, v->text, (int)length, at);
        if (r->s->levels == COMPOSE_LEVELS)
            return WRONG(r, "hierarchy=%.*s: at most %d levels", (int)v->length, v->text,
                         COMPOSE_LEVELS);
        r->s->factor[r->s->levels] = factor;
        at = next;
    }
    return 0;
}

static int take_hierarchy(struct reader *r)
{
    struct compose_shape *s = r->s;
    const struct topo *t = s->t;
    int most = largest_node(t), rc = 0;

    if (r->value[HIERARCHY].text) {
        rc = read_hierarchy(r);
    } else {
        s->levels = 2;
        s->factor[0] = (uint64_t)t->nnodes;
        s->factor[1] = (uint64_t)most;
    }
    if (rc)
        return rc;
    for (int l = 0, n = 0; l < s->levels && n < (int)sizeof r->hierarchy; l++)
        n += snprintf(r->hierarchy + n, sizeof r->hierarchy - (size_t)n, "%s%llu", l ? ":" : "",
                      (unsigned long long)s->factor[l]);
    s->by_node = product(s, s->levels - 1) == (uint64_t)t->nnodes &&
                 s->factor[s->levels - 1] == (uint64_t)most;
    if (!s->by_node && product(s, s->levels) != (uint64_t)t->nranks)
        return WRONG(r, "hierarchy=%s: there are %d ranks on %d nodes of up to %d; %d:%d would do",
                     r->hierarchy, t->nranks, t->nnodes, most, t->nnodes, most);
    s->width[s->levels] = 1;
    for (int l = s->levels - 1; l >= 0; l--)
        s->width[l] = s->width[l + 1] * s->factor[l];
    return 0;
}

static int take_ring(struct reader *r)
{
    struct compose_shape *s = r->s;
    int levels;

    s->ring = s->same_order ? 1 : (uint64_t)s->t->nnodes;
    if (r->value[RING].text)
        s->ring = (uint64_t)r->value[RING].number;
    levels = levels_making(s, s->ring);
    if (levels > ring_levels(s))
        levels = -1;
    if (levels < 0 && r->value[RING].text) {
        char fits[64] = "1 (no ring)";
        size_t n = strlen(fits);

        for (int l = 1; l <= ring_levels(s) && n < sizeof fits; l++)
            if (product(s, l) > product(s, l - 1))
                n += (size_t)snprintf(fits + n, sizeof fits - n, ", %llu",
                                      (unsigned long long)product(s, l));
        return WRONG(r, "ring=%llu: hierarchy=%s makes rings of %s", (unsigned long long)s->ring,
                     r->hierarchy, fits);
    }
    if (s->same_order && levels)
        return WRONG(r,
                     "ring=%llu: here all ranks must combine in one order, which a ring does "
                     "not; ring=1, or steps=multi",
                     (unsigned long long)s->ring);
    if (levels < 0)
        s->ring = 1;
    s->ring_levels = levels < 0 ? 0 : levels;
    return 0;
}

/* Stripes stay within one group of the ring, or of the first level. */
static int take_stripe(struct reader *r, int wanted)
{
    struct compose_shape *s = r->s;
    int top = s->ring_levels ? s->ring_levels : s->levels > 1;
    int nodes = levels_making(s, (uint64_t)s->t->nnodes);

    s->stripe = !wanted ? 1 : (int)s->width[nodes < top ? top : nodes];
    if (r->value[STRIPE].text)
        s->stripe = r->value[STRIPE].number;
    if ((uint64_t)s->stripe > s->width[top])
        return WRONG(r,
                     "stripe=%d: hierarchy=%s with ring=%llu has groups of %llu; 1 to %llu "
                     "would do",
                     s->stripe, r->hierarchy, (unsigned long long)s->ring,
                     (unsigned long long)s->width[top], (unsigned long long)s->width[top]);
    if (s->same_order && s->stripe > 1)
        return WRONG(r,
                     "stripe=%d: here all ranks must combine in one order, which stripes do "
                     "not; stripe=1, or steps=multi",
                     s->stripe);
    s->stripe_depth = s->levels;
    while (s->stripe_depth > top && s->width[s->stripe_depth] < (uint64_t)s->stripe)
        s->stripe_depth--;
    return 0;
}

/* Are there ranks of two nodes in one group of that depth? Those are whom its level links. */
static int crosses_nodes(const struct compose_shape *s, int depth)
{
    for (uint64_t a = 1; a < s->width[0]; a++)
        if (a % s->width[depth] &&
            s->t->rank[compose_rank_at(s, a)].node != s->t->rank[compose_rank_at(s, a - 1)].node)
            return 1;
    return 0;
}

static int find_library(const char *name, size_t length)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (strlen(libraries[i].name) == length && !memcmp(libraries[i].name, name, length))
            return i;
    return -1;
}

static int wrong_library(struct reader *r, const char *name, size_t length)
{
    const struct recipe_value *v = &r->value[LIBRARY];
    char known[64] = "";
    size_t n = 0;

    for (int i = 0; i < LIBRARIES && n < sizeof known; i++)
        n +=
            (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", libraries[i].name);
    return WRONG(r, "library=%.*s: no library '%.*s'; there is %s", (int)v->length, v->text,
                 (int)length, name, known);
}

/* Each level's library, checked against what the level links. */
static int take_library(struct reader *r)
{
    struct compose_shape *s = r->s;
    const struct recipe_value *v = &r->value[LIBRARY];
    const char *at = v->text, *end = v->text + v->length;
    size_t length;
    int level = 0;

    for (; at; level++) {
        const char *next = element(at, end, &length);
        int library = find_library(at, length);

        if (library < 0)
            return wrong_library(r, at, length);
        if (level < s->levels && libraries[library].inside_node && crosses_nodes(s, level))
            return WRONG(r,
                         "library=%.*s: level %d of hierarchy=%s crosses nodes, which %s "
                         "cannot; mpi can",
                         (int)v->length, v->text, level + 1, r->hierarchy, libraries[library].name);
        if (level < s->levels)
            s->library[level] = (uint8_t)library;
        at = next;
    }
    if (v->text && level != s->levels)
        return WRONG(r, "library=%.*s: names %d, hierarchy=%s has %d levels; one for each",
                     (int)v->length, v->text, level, r->hierarchy, s->levels);
    return 0;
}

/* A node's ranks, socket by socket, each in local order. */
static void order_node(const struct topo *t, int node, int *order)
{
    for (int l = 0; l < topo_node_size(t, node); l++) {
        int rank = topo_node_rank(t, node, l), at = l;

        for (; at && t->rank[order[at - 1]].socket > t->rank[rank].socket; at--)
            order[at] = order[at - 1];
        order[at] = rank;
    }
}

static int order_ranks(struct compose_shape *s)
{
    const struct topo *t = s->t;

    if (s->by_node)
        return 0;
    s->order = calloc(2 * (size_t)t->nranks, sizeof *s->order);
    if (!s->order)
        return -ENOMEM;
    s->place = s->order + t->nranks;
    for (int n = 0; n < t->nnodes; n++)
        order_node(t, n, s->order + t->node_first[n]);
    for (int i = 0; i < t->nranks; i++)
        s->place[s->order[i]] = i;
    return 0;
}

int compose_shape_open(struct compose_shape *s, const struct plan_request *q,
                       enum compose_steps steps, const uint8_t nature[COMPOSE_CHOICES], char *why,
                       size_t why_size)
{
    struct reader r = {.s = s, .why = why, .why_size = why_size};
    int rc;

    *s = (struct compose_shape){.t = q->topo};
    r.value[STEPS].number = (int)steps;
    rc = recipe_read(q->recipe, keys, KEYS, r.value, why, why_size);
    s->steps = (enum compose_steps)r.value[STEPS].number;
    s->same_order = nature[s->steps] == COMPOSE_SAME_ORDER;
    if (!rc)
        rc = take_hierarchy(&r);
    if (!rc)
        rc = order_ranks(s);
    if (!rc)
        rc = take_ring(&r);
    if (!rc)
        rc = take_stripe(&r, nature[s->steps] == COMPOSE_ONE);
    if (!rc && r.value[LIBRARY].text)
        rc = take_library(&r);
    if (!rc)
        rc = compose_weigh_rails(s);
    s->pipeline = r.value[PIPELINE].number;
    if (rc)
        compose_shape_close(s);
    return rc;
}

void compose_shape_close(struct compose_shape *s)
{
    free(s->order);
    free(s->weight);
    s->order = NULL;
    s->weight = NULL;
}
