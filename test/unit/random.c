/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/random.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t rng_seeds(uint64_t most)
{
    return getenv("UNIT_QUICK") && *getenv("UNIT_QUICK") ? (most + 9) / 10 : most;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((r->state >> 33) % n);
}

void rng_rates(struct rng *r, struct topo *t, uint32_t most)
{
    size_t n = 2 * (size_t)t->nnodes * (size_t)t->nrails;
    double *rate = malloc(n * sizeof *rate);

    ck_assert_ptr_nonnull(rate);
    for (size_t i = 0; i < n; i++)
        rate[i] = 1e6 * (1 + rng_below(r, most));
    for (size_t i = 0; rng_below(r, 2) && i < n; i++) /* ways that are mostly alike */
        rate[i] = rate[i / 2 * 2];
    ck_assert_int_eq(topo_set_rail_rates(t, rate), 0);
    free(rate);
}

struct topo *rng_topo(struct rng *r, int most)
{
    int n = 1 + (int)rng_below(r, (uint32_t)most);
    int nodes = 1 + (int)rng_below(r, (uint32_t)n);
    int shape = (int)rng_below(r, 3);
    struct topo_report *report = calloc((size_t)n, sizeof *report);
    struct topo *t = NULL;
    int sockets = 1 + (int)rng_below(r, 3), scattered = (int)rng_below(r, 2);

    ck_assert_ptr_nonnull(report);
    for (int i = 0; i < n; i++) {
        uint64_t node = shape == 0   ? (uint64_t)(i * nodes / n) /* blocks */
                        : shape == 1 ? (uint64_t)(i % nodes)     /* cyclic */
                                     : rng_below(r, (uint32_t)nodes);
        report[i] = (struct topo_report){.node_key = node * 77 + 5,
                                         .socket = scattered ? (int)rng_below(r, (uint32_t)sockets)
                                                             : i * sockets / n,
                                         .gpu = -1,
                                         .world_rank = i};
    }
    ck_assert_int_eq(topo_from_reports(report, n, (int)rng_below(r, 5), &t), 0);
    free(report);
    if (rng_below(r, 2))
        for (int rail = 0; rail < t->nrails; rail++)
            t->rail[rail].bw_bytes_per_s = 1e6 * (1 + rng_below(r, 8));
    if (rng_below(r, 3) == 0)
        rng_rates(r, t, 8);
    return t;
}

static size_t *unequal_sizes(struct rng *r, int n, uint32_t most, size_t grain)
{
    size_t *bytes = malloc((size_t)n * sizeof *bytes);
    uint32_t shape = rng_below(r, 4), base = rng_below(r, most);

    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = grain * (shape == 0   ? base
                            : shape == 1 ? base + (rng_below(r, 2) && base < most)
                            : shape == 2 ? rng_below(r, most)
                                         : (rng_below(r, 4) ? 0 : rng_below(r, most)));
    return bytes;
}

/* Silent ranks, ranks that receive nothing, hot ones, nothing at all. */
static uint64_t *random_demand(struct rng *r, int n, uint32_t most)
{
    uint64_t *demand = calloc((size_t)n * (size_t)n, sizeof *demand);
    uint32_t shape = rng_below(r, 6), hot = rng_below(r, (uint32_t)n);

    ck_assert_ptr_nonnull(demand);
    for (uint32_t i = 0; shape && i < (uint32_t)(n * n); i++) {
        uint32_t from = i / (uint32_t)n, to = i % (uint32_t)n;
        int silent = (shape == 2 && from % 3 == 1) || (shape == 3 && to % 3 == 1) ||
                     (shape == 4 && to != hot && rng_below(r, 8));
        demand[i] = silent ? 0 : shape == 5 ? most : rng_below(r, most);
    }
    return demand;
}

struct plan_request rng_request(struct rng *r, enum plan_collective c, int most_ranks,
                                uint32_t most_elements)
{
    struct topo *t = rng_topo(r, most_ranks);
    size_t grain = plan_is(c, PLAN_COMBINES) ? 1u << rng_below(r, 4) : 1;
    int may_be_in_place = plan_gathers(c) || plan_scatters(c) || plan_is_prefix(c) ||
                          c == COLL_ALLREDUCE ||
                          (plan_is(c, PLAN_SPREADS) && !plan_is(c, PLAN_ROOTED));
    struct plan_request q = {.collective = c,
                             .topo = t,
                             .root = (int)rng_below(r, (uint32_t)t->nranks),
                             .nbytes = grain * rng_below(r, most_elements),
                             .grain = grain,
                             .in_place = may_be_in_place && rng_below(r, 2),
                             .chunk_bytes = grain * (1 + rng_below(r, most_elements / 2)),
                             .memory = rng_below(r, 2) ? PLAN_ON_DEVICE : PLAN_IN_HOST};

    if (plan_is(c, PLAN_BY_RANK))
        q.bytes = unequal_sizes(r, t->nranks, most_elements, grain);
    if (plan_has_demand(c)) {
        q.nbytes = 0;
        q.demand = random_demand(r, t->nranks, most_elements);
        q.chunk_bytes = 1 + rng_below(r, most_elements / 8); /* of which a long message has many */
    }
    return q;
}

void rng_request_free(struct plan_request *q)
{
    free((size_t *)(uintptr_t)q->bytes);
    free((uint64_t *)(uintptr_t)q->demand);
    topo_free((struct topo *)(uintptr_t)q->topo);
}

const char *rng_request_text(const struct plan_request *q, char *text)
{
    int n = snprintf(text, 1024, "%s of %zu bytes, root %d, grain %zu, chunk %zu%s%s, on ",
                     plan_collective_name(q->collective), q->nbytes, q->root, q->grain,
                     q->chunk_bytes, q->in_place ? ", in place" : "",
                     q->memory == PLAN_ON_DEVICE ? ", device memory" : "");

    topo_print(q->topo, text + n, 1024 - (size_t)n);
    return text;
}
