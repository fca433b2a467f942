/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/choose/tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "config/base/nearest.h"
#include "planners/links/cost.h"
#include "planners/links/load.h"

static void no_collective(const char *path, const struct profile_row *r, struct cfg *c)
{
    struct nearest n = nearest_to(r->collective);

    for (int i = 0; i < COLL_COUNT; i++)
        nearest_offer(&n, plan_collective_name((enum plan_collective)i));
    cfg_problem(c, "%s:%d: no collective '%s'; %s%s (the row is left out)", path, r->line,
                r->collective, n.best ? "the nearest is " : "`collshim info` lists them",
                n.best ? n.best : "");
}

/* why: what plan_algorithm_parse said. */
static void no_algorithm(const char *path, const struct profile_row *r, enum plan_collective id,
                         const char *why, struct cfg *c)
{
    struct nearest n = nearest_to(r->algorithm);

    nearest_offer(&n, PROFILE_NATIVE);
    for (int i = 0; i < plan_row_count; i++)
        if (plan_algorithms[i]->collectives & 1u << id)
            nearest_offer(&n, plan_algorithms[i]->name);
    cfg_problem(c, "%s:%d: %s%s%s (the row is left out)", path, r->line, why,
                n.best ? "; the nearest is " : "", n.best ? n.best : "");
}

static void no_variant(const char *path, const struct profile_row *r, enum plan_collective id,
                       struct cfg *c)
{
    struct nearest n = nearest_to(r->algorithm);

    nearest_offer(&n, PROFILE_NATIVE);
    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].library == VARIANT_NCCL && plan_variants[i].collective == id)
            nearest_offer(&n, plan_variants[i].row.name);
    cfg_problem(c, "%s:%d: NCCL has no '%s' for %s; %s%s (the row is left out)", path, r->line,
                r->algorithm, r->collective, n.best ? "the nearest is " : "it may be native",
                n.best ? n.best : "");
}

/* NCCL takes fewer channels by itself where these algorithms have fewer. For others it would use
   channels that are not there. */
static int takes_channels(const struct plan_variant *v)
{
    const char *name = v ? plan_variant_name(v) : "";

    return !strncmp(name, "ring/", 5) || !strncmp(name, "tree/", 5);
}

static int is_native(const char *algorithm)
{
    return !strcmp(algorithm, PROFILE_NATIVE) ||
           !strncmp(algorithm, PROFILE_NATIVE ":", strlen(PROFILE_NATIVE ":"));
}

/* A row `native` or `native:NAME`. Returns 1 if the name exists. */
static int look_up_native(const char *path, const struct profile_row *r, struct cfg *c,
                          struct tuning_row *row)
{
    const size_t prefix = strlen(PROFILE_NATIVE ":");

    if (strcmp(r->algorithm, PROFILE_NATIVE) != 0) {
        row->variant = plan_variant_named(VARIANT_NCCL, row->collective, r->algorithm + prefix);
        if (!row->variant) {
            no_variant(path, r, row->collective, c);
            return 0;
        }
    }
    return 1;
}

/* Returns 1 if the names exist. */
static int look_up(const char *path, const struct profile_row *r, struct cfg *c,
                   struct tuning_row *row)
{
    int id = plan_collective_find(r->collective);
    char why[256];

    if (id < 0) {
        no_collective(path, r, c);
        return 0;
    }
    *row = (struct tuning_row){.collective = (enum plan_collective)id,
                               .nodes = r->nodes,
                               .ranks = r->ranks,
                               .bytes = r->bytes,
                               .chunk_bytes = r->chunk_bytes,
                               .ppg = r->ppg,
                               .channels = r->channels};
    if (is_native(r->algorithm) && !look_up_native(path, r, c, row))
        return 0;
    if (r->channels && !takes_channels(row->variant)) {
        cfg_problem(c,
                    "%s:%d: channels= is for native:ring/... and native:tree/... (the row is left "
                    "out)",
                    path, r->line);
        return 0;
    }
    if (is_native(r->algorithm))
        return 1;
    row->algorithm = plan_algorithm_parse(row->collective, r->algorithm, row->recipe,
                                          sizeof row->recipe, why, sizeof why);
    if (!row->algorithm)
        no_algorithm(path, r, row->collective, why, c);
    return row->algorithm != NULL;
}

int tuning_open(const char *path, struct profile *p, struct cfg *c, struct tuning *t)
{
    *t = (struct tuning){0};
    memcpy(t->link, p->link, sizeof t->link);
    t->nodes = p->nodes;
    p->nodes = NULL;
    if (!p->nrows)
        return 0;
    t->row = calloc((size_t)p->nrows, sizeof *t->row);
    if (!t->row)
        return -ENOMEM;
    for (int i = 0; i < p->nrows; i++)
        t->nrows += look_up(path, &p->row[i], c, &t->row[t->nrows]);
    return 0;
}

void tuning_load(struct cfg *c, struct tuning *t)
{
    struct profile p;

    *t = (struct tuning){0};
    if (!c->profile[0])
        return;
    if (profile_read(c->profile, c, &p) < 0 || tuning_open(c->profile, &p, c, t) < 0)
        cfg_problem(c, "%s: out of memory; no rows are used", c->profile);
    profile_free(&p);
}

static int within(const struct profile_range *r, uint64_t value)
{
    return r->from <= value && value <= r->to;
}

static int matches(const struct tuning_row *r, enum plan_collective c, int nodes, int ranks,
                   uint64_t bytes)
{
    return r->collective == c && within(&r->bytes, bytes) && within(&r->nodes, (uint64_t)nodes) &&
           within(&r->ranks, (uint64_t)ranks);
}

/* Does the request's memory, the host's, prevent the algorithm? On a device it is then allowed, or
   refused for another reason, as if no rank has a device. */
static int wants_a_device(const struct plan_algorithm *a, const struct plan_request *q)
{
    struct plan_request there = *q;

    there.memory = PLAN_ON_DEVICE;
    return a && a->pays && a->pays(q) && a->pays(q) != a->pays(&there);
}

const struct tuning_row *tuning_find(const struct tuning *t, const struct plan_request *q,
                                     uint64_t bytes)
{
    for (int i = 0; i < t->nrows; i++) {
        const struct tuning_row *r = &t->row[i];

        if (matches(r, q->collective, q->topo->nnodes, cost_largest_node(q->topo), bytes) &&
            !r->variant && !wants_a_device(r->algorithm, q))
            return r;
    }
    return NULL;
}

const struct tuning_row *tuning_find_native(const struct tuning *t, enum plan_collective c,
                                            int nodes, int ranks, uint64_t bytes)
{
    for (int i = 0; i < t->nrows; i++) {
        const struct tuning_row *r = &t->row[i];

        if (!r->algorithm && matches(r, c, nodes, ranks, bytes))
            return r;
    }
    return NULL;
}

void tuning_fill_in(const struct tuning *t, struct topo *topo)
{
    for (int i = 0; i < TOPO_LINK_CLASSES; i++) {
        if (!(topo->link[i].bw_bytes_per_s > 0))
            topo->link[i].bw_bytes_per_s = t->link[i].bw_bytes_per_s;
        if (!(topo->link[i].latency_ns > 0))
            topo->link[i].latency_ns = t->link[i].latency_ns;
    }
}

/* Unless the topology has rates of its own. Returns 1 if it has the profile's now. */
static int fill_in_rails(const struct topo *known, struct topo *topo)
{
    size_t n = 2 * (size_t)topo->nnodes * (size_t)topo->nrails;
    double *rate = malloc(n * sizeof *rate);

    if (!rate)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        rate[i] = topo_rail_rate(known, (int)(i / 2) / topo->nrails, (int)(i / 2) % topo->nrails,
                                 (enum topo_way)(i % 2));
    topo_take_rail_rates(topo, rate);
    for (int r = 0; r < topo->nrails; r++)
        if (!(topo->rail[r].latency_ns > 0))
            topo->rail[r].latency_ns = known->rail[r].latency_ns;
    return 1;
}

/* The classes of which the topology knows nothing. */
static int fill_in_links(const struct topo *known, struct topo *topo)
{
    size_t n = (size_t)topo->nnodes * TOPO_LINK_CLASSES;
    double *rate = calloc(n, sizeof *rate);

    if (!rate)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct topo *from =
            topo->link[i % TOPO_LINK_CLASSES].bw_bytes_per_s > 0 ? topo : known;

        rate[i] = from->link_rate ? from->link_rate[i] : 0;
    }
    for (int c = 0; c < TOPO_LINK_CLASSES; c++)
        if (!(topo->link[c].bw_bytes_per_s > 0))
            topo->link[c] = known->link[c];
    int rc = topo_set_link_rates(topo, rate);
    free(rate);
    return rc;
}

int tuning_fill_in_nodes(const struct tuning *t, struct topo *topo)
{
    const struct topo *known = t->nodes;
    int known_here = 0;

    if (!known || known->nnodes != topo->nnodes || known->nrails != topo->nrails)
        return 0;
    for (int r = 0; r < topo->nrails; r++)
        known_here |= topo->rail[r].bw_bytes_per_s > 0;
    int rc = fill_in_links(known, topo);
    return rc || known_here || !load_rates_known(known) ? rc : fill_in_rails(known, topo);
}

uint64_t tuning_hash(const struct tuning *t)
{
    int any = t->nrows > 0 || t->nodes;
    uint64_t h = hash_bytes(HASH_SEED, t->link, sizeof t->link);

    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        any |= t->link[i].bw_bytes_per_s != 0 || t->link[i].latency_ns != 0;
    for (int i = 0; i < t->nrows; i++) {
        const struct tuning_row *r = &t->row[i];
        const uint64_t words[] = {
            r->collective, r->chunk_bytes, (uint64_t)r->ppg, (uint64_t)r->channels, r->nodes.from,
            r->nodes.to,   r->ranks.from,  r->ranks.to,      r->bytes.from,         r->bytes.to};

        h = hash_bytes(h, words, sizeof words);
        h = hash_text(h, r->algorithm ? r->algorithm->name : PROFILE_NATIVE);
        h = hash_text(h, r->variant ? r->variant->row.name : "");
        h = hash_text(h, r->recipe);
    }
    if (t->nodes) {
        uint64_t nodes = topo_hash(t->nodes);

        h = hash_bytes(h, &nodes, sizeof nodes);
    }
    return any ? h : 0;
}

void tuning_free(struct tuning *t)
{
    free(t->row);
    topo_free(t->nodes);
    *t = (struct tuning){0};
}
