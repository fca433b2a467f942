/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/rounds/pace.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/links/cost.h"

enum {
    CHUNK_LEAST = 4 << 10,
    CHUNK_MOST = 16 << 20, /* takes longer than many launches, and takes memory */
    TAPER_MOST = 4
};

/* Times the best one so far: finer cuts, with yet more rounds, will not be better. */
static const double behind_the_best = 1.1;

size_t pace_chunk(size_t bytes)
{
    enum { WHOLE = 256 };

    return bytes < PLAN_MOST_CHUNK ? (bytes + WHOLE - 1) / WHOLE * WHOLE : PLAN_MOST_CHUNK;
}

static int peers_inside(const struct topo *t)
{
    int most = cost_largest_node(t) - 1;

    return most > 0 ? most : 1;
}

/* Rate of a rank to all its peers in the node. */
static double near_rate(const struct plan_request *q)
{
    double known = topo_link_least(q->topo, TOPO_LINK_NVLINK);
    double links =
        known > 0 ? known
                  : rates_assumed.link[TOPO_LINK_NVLINK].bw_bytes_per_s * peers_inside(q->topo);

    return cost_inside_rate(q, links);
}

/* How much faster the links inside a node are, shared among the peers there, than a rail. */
static uint32_t fast_chunks(const struct plan_request *q)
{
    enum { MOST = 8 };
    double ratio = near_rate(q) / cost_rail_rate(q->topo) / peers_inside(q->topo);

    return ratio < 1 ? 1 : ratio > MOST ? MOST : (uint32_t)(ratio + 0.5);
}

/* All that the rounds of a request are made of, however it is cut. */
struct material {
    const struct plan_request *q;
    const struct plan_algorithm *algorithm;
    int32_t *group; /* [nranks] */
    struct plan **plan;
};

/* A way to cut it. */
struct cut {
    size_t chunk;
    uint32_t fast, taper;
};

static int build(const struct material *m, struct cut cut, struct rounds **rounds)
{
    struct plan_request theirs = *m->q;
    int nranks = theirs.topo->nranks, rc = 0;
    struct rounds_links links = {.group = m->group,
                                 .fast_chunks = cut.fast,
                                 .taper = cut.taper,
                                 .shared = theirs.demand != NULL,
                                 .bytes_per_s = {near_rate(&theirs), cost_rail_rate(theirs.topo)},
                                 .most_messages = theirs.most_messages};

    theirs.chunk_bytes = cut.chunk;
    for (theirs.rank = 0; theirs.rank < nranks && !rc; theirs.rank++)
        rc = m->algorithm->build(&theirs, &m->plan[theirs.rank]);
    if (!rc)
        rc = rounds_build((const struct plan *const *)m->plan, nranks, m->q->rank, &links, rounds);
    for (int r = 0; r < nranks; r++) {
        plan_free(m->plan[r]);
        m->plan[r] = NULL;
    }
    return rc;
}

/* Its cost for stream and host: groups and launches take either's time. */
static double cost(const struct rounds *r)
{
    return r->seconds + r->launch_s;
}

/* Keep the better one; of equal ones the first. */
static void keep(struct rounds **best, struct rounds *next)
{
    struct rounds *worse = next;

    if (!*best || cost(next) < cost(*best)) {
        worse = *best;
        *best = next;
    }
    rounds_free(worse);
}

/* The longest message in `middle` chunks, and the two ends that a taper makes. */
static size_t chunk_of(uint64_t whole, uint32_t middle, uint32_t taper)
{
    return pace_chunk(whole * taper / (middle * taper + (taper > 1 ? 2 : 0)));
}

/* Every cut of that kind that may be the best one. whole: a chunk of so many may cut no message. */
static int halve(const struct material *m, struct cut cut, uint64_t whole, struct rounds **best)
{
    double last = 0, least = 0;
    struct rounds *next;

    for (uint32_t middle = 1;; middle *= 2) {
        int rc;

        cut.chunk = chunk_of(whole, middle, cut.taper);
        if (cut.chunk > CHUNK_MOST)
            continue;
        if (cut.chunk < CHUNK_LEAST || last > behind_the_best * least)
            return 0;
        rc = build(m, cut, &next);
        if (rc)
            return rc;
        if (whole > next->whole_bytes)
            whole = next->whole_bytes;
        last = cost(next);
        least = least > 0 && least < last ? least : last;
        keep(best, next);
    }
}

static int pace_choose(const struct material *m, const struct rounds *like, struct rounds **best)
{
    uint32_t fastest = fast_chunks(m->q);
    int rc = 0;

    if (m->q->chunk_bytes)
        return build(m, (struct cut){m->q->chunk_bytes, fastest, 1}, best);
    if (like)
        return build(m, (struct cut){like->chunk_bytes, like->fast_chunks, like->taper}, best);
    for (uint32_t fast = 1; fast <= fastest && !rc; fast *= 2)
        rc = halve(m, (struct cut){.fast = fast, .taper = 1}, CHUNK_MOST, best);
    for (uint32_t taper = 2; taper <= TAPER_MOST && !rc; taper *= 2)
        rc = halve(m, (struct cut){.fast = (*best)->fast_chunks, .taper = taper},
                   (*best)->whole_bytes, best);
    return rc;
}

int pace_rounds(const struct plan_request *q, const struct plan_algorithm *a,
                const struct rounds *like, struct rounds **rounds_p)
{
    size_t nranks = (size_t)q->topo->nranks;
    struct material m = {.q = q,
                         .algorithm = a,
                         .group = calloc(nranks, sizeof *m.group),
                         .plan = calloc(nranks, sizeof *m.plan)};
    struct rounds *best = NULL;
    int rc = m.group && m.plan ? 0 : -ENOMEM;

    for (size_t r = 0; r < nranks && !rc; r++)
        m.group[r] = q->topo->rank[r].node;
    if (!rc)
        rc = pace_choose(&m, like, &best);
    free(m.group);
    free(m.plan);
    if (rc)
        rounds_free(best);
    else
        *rounds_p = best;
    return rc;
}
