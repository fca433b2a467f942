/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/pace.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/cost.h"

/* Times the best one so far: finer cuts, with yet more rounds, will not be better. */
static const double behind_the_best = 1.1;

size_t pace_chunk(size_t bytes)
{
    enum { WHOLE = 256 };

    return (bytes + WHOLE - 1) / WHOLE * WHOLE;
}

static int peers_inside(const struct topo *t)
{
    int most = cost_largest_node(t) - 1;

    return most > 0 ? most : 1;
}

/* Of a rank, to all its peers in the node. */
static double near_rate(const struct topo *t)
{
    double known = t->link[TOPO_LINK_NVLINK].bw_bytes_per_s;

    return known > 0 ? known : COST_GPU_BYTES_PER_S * peers_inside(t);
}

/* How much faster the links inside a node are, shared among the peers there, than a rail. */
static uint32_t fast_chunks(const struct topo *t)
{
    enum { MOST = 8 };
    double ratio = near_rate(t) / cost_rail_rate(t) / peers_inside(t);

    return ratio < 1 ? 1 : ratio > MOST ? MOST : (uint32_t)(ratio + 0.5);
}

/* All that the rounds of a request are made of, however it is cut. */
struct material {
    const struct plan_request *q;
    const struct plan_algorithm *algorithm;
    int32_t *group; /* [nranks] */
    struct plan **plan;
};

static int build(const struct material *m, size_t chunk, uint32_t fast, struct rounds **rounds)
{
    struct plan_request theirs = *m->q;
    int nranks = theirs.topo->nranks, rc = 0;
    struct rounds_links links = {
        .group = m->group,
        .fast_chunks = fast,
        .shared = theirs.demand != NULL,
        .bytes_per_s = {near_rate(theirs.topo), cost_rail_rate(theirs.topo)}};

    theirs.chunk_bytes = chunk;
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

/* Keep the faster one; of equal ones the first. */
static void keep(struct rounds **best, struct rounds *next)
{
    struct rounds *worse = next;

    if (!*best || next->seconds < (*best)->seconds) {
        worse = *best;
        *best = next;
    }
    rounds_free(worse);
}

/* Every cut that may be the best with near messages of so many chunks. */
static int halve(const struct material *m, uint32_t fast, struct rounds **best)
{
    enum {
        LEAST = 4 << 10,
        MOST = 8 << 20 /* takes longer than many launches, and takes memory */
    };
    size_t chunk = MOST;
    struct rounds *next;
    double seconds, shortest = 0;

    do {
        int rc = build(m, chunk, fast, &next);

        if (rc)
            return rc;
        if (chunk > next->whole_bytes)
            chunk = next->whole_bytes;
        chunk = pace_chunk(chunk / 2);
        seconds = next->seconds;
        shortest = shortest > 0 && shortest < seconds ? shortest : seconds;
        keep(best, next);
    } while (chunk >= LEAST && seconds <= behind_the_best * shortest);
    return 0;
}

static int choose(const struct material *m, const struct rounds *like, struct rounds **best)
{
    uint32_t fastest = fast_chunks(m->q->topo);
    int rc = 0;

    if (m->q->chunk_bytes)
        return build(m, m->q->chunk_bytes, fastest, best);
    if (like)
        return build(m, like->chunk_bytes, like->fast_chunks, best);
    for (uint32_t fast = 1; fast <= fastest && !rc; fast *= 2)
        rc = halve(m, fast, best);
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
        rc = choose(&m, like, &best);
    free(m.group);
    free(m.plan);
    if (rc)
        rounds_free(best);
    else
        *rounds_p = best;
    return rc;
}
