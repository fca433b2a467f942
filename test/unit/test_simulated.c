/* SPDX-License-Identifier: BSD-3-Clause */
/* The first choice against ways that were found faster once, all by the model. `make choices` draws
   many more. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "planners/algorithms/nimble/demand.h"
#include "planners/choose/simulated.h"
#include "planners/model/model.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

#define PERLMUTTER "node:4 gpu:4 rail:4@25GB/s link_nvlink:100GB/s"
#define TWO_NODES "node:2 gpu:4 rail:4@45.1GB/s link_nvlink:120GB/s"

static const struct {
    enum plan_collective collective;
    const char *machine;
    size_t nbytes;
    double hot; /* of exchanges */
    const char *rival;
} cases[] = {
    {COLL_ALLREDUCE, "node:16 gpu:4 rail:4@200Gbit link_nvlink:150GB/s", 128 << 20, 0,
     "lane(inter=ring)"},
    {COLL_ALLTOALL, PERLMUTTER, 1 << 20, 0, "linear"},
    {COLL_BCAST, PERLMUTTER, 16 << 20, 0, "compose"},
    {COLL_ALLGATHER, "node:8 rank:3 rail:3@400Gbit latency_rail:4us link_shm:5GB/s", 107584, 0,
     "linear"},
    {COLL_ALLTOALLV, TWO_NODES, 1 << 20, 0.7, "striped"},
    {COLL_ALLTOALLV, TWO_NODES, 8 << 20, 0.5, "striped"},
    {COLL_ALLTOALLV, TWO_NODES, 1 << 20, 0.1, "pairwise"},
    {COLL_ALLTOALLV,
     "node:1 socket:2 gpu:2 rail:1@25GB/s link_nvlink:100GB/s link_pcie:25GB/s link_socket:20GB/s",
     64 << 20, 0.9, "pairwise"},
};

static double seconds_of(const struct plan_request *q, const struct plan_algorithm *a)
{
    double seconds = INFINITY;

    ck_assert_int_eq(simulated_seconds(q, a, MODEL_CHUNKS, INFINITY, &seconds), 0);
    return seconds;
}

START_TEST(test_simulated__the_first_is_as_fast_as_a_known_way)
{
    struct topo *t = test_topo_parse(cases[_i].machine);
    struct plan_request q = {.collective = cases[_i].collective,
                             .topo = t,
                             .nbytes = cases[_i].nbytes,
                             .grain = 4,
                             .memory = t->rank[0].gpu >= 0 ? PLAN_ON_DEVICE : PLAN_IN_HOST};
    struct plan_candidate c[PLAN_CANDIDATES];
    static uint64_t demand[64];
    char recipe[64], why[256];

    if (plan_has_demand(q.collective)) {
        struct demand kind = demand_defaults;

        kind.hot = cases[_i].hot;
        kind.bytes = q.nbytes;
        kind.kind = t->nnodes == 1 ? DEMAND_LOCAL : DEMAND_SKEW;
        demand_fill(&kind, t, demand);
        q.demand = demand;
        q.nbytes = 0;
    }
    const struct plan_algorithm *rival =
        plan_algorithm_parse(q.collective, cases[_i].rival, recipe, sizeof recipe, why, sizeof why);
    int n = simulated_candidates(&q, c, PLAN_CANDIDATES);

    ck_assert_int_ge(n, 1);
    q.chunk_bytes = c[0].chunk_bytes;
    q.recipe = recipe[0] ? recipe : NULL;
    double known = seconds_of(&q, rival);
    q.recipe = c[0].recipe;
    double first = seconds_of(&q, c[0].algorithm);
    ck_assert_msg(first <= 1.03 * known, "%s: %s takes %g ms, %s %g", cases[_i].machine,
                  c[0].algorithm->name, first * 1e3, cases[_i].rival, known * 1e3);
    topo_free(t);
}
END_TEST

/* A way that a rank is told leads to the same list as finding it does, and no way comes twice. */
START_TEST(test_simulated__a_found_way_comes_first_and_once)
{
    struct topo *t = test_topo_parse(cases[1].machine);
    struct plan_request q = {
        .collective = COLL_BCAST, .topo = t, .nbytes = 64 << 20, .grain = 1, .root = 3};

    for (int way = 0; way <= plan_algorithm_count; way++)
        for (int max = 1; max <= PLAN_CANDIDATES; max++) {
            struct plan_candidate c[PLAN_CANDIDATES];
            double found[SIMULATED] = {way, 0.5};
            int before = plan_candidates(&q, c, max);
            double was = c[0].seconds;
            int n = simulated_prefer(found, c, before, max);

            ck_assert_int_le(n, max);
            ck_assert_int_ge(n, before);
            ck_assert(!way || c[0].seconds < was);
            for (int i = 1; i < n; i++)
                ck_assert(c[i].algorithm != c[0].algorithm || c[i].recipe != c[0].recipe ||
                          c[i].chunk_bytes != c[0].chunk_bytes);
        }
    topo_free(t);
}
END_TEST

START_TEST(test_simulated__not_where_it_takes_long_or_knows_too_little)
{
    static const char *const machines[] = {"node:17 gpu:4 rail:4@100Gbit", "node:4 gpu:4 rail:4"};

    for (size_t i = 0; i < 2; i++) {
        struct topo *t = test_topo_parse(machines[i]);
        struct plan_request q = {
            .collective = COLL_ALLREDUCE, .topo = t, .nbytes = 1 << 20, .grain = 4};
        struct plan_candidate c[PLAN_CANDIDATES];
        int n = plan_candidates(&q, c, PLAN_CANDIDATES);

        ck_assert_int_ge(n, 1);
        ck_assert(!simulated_is_worth_it(&q, c, n));
        topo_free(t);
    }
}
END_TEST

/* Reduce of 256 MiB on these 16 ranks takes 0.2 s to simulate, of 64 KiB 4 ms. */
START_TEST(test_simulated__the_price_grows_with_the_chunks)
{
    struct topo *t = test_topo_parse("node:1 rank:16");
    double price[2];

    for (int i = 0; i < 2; i++) {
        struct plan_request q = {
            .collective = COLL_REDUCE, .topo = t, .nbytes = i ? 256 << 20 : 65536, .grain = 4};
        struct plan_candidate c[PLAN_CANDIDATES];

        ck_assert_int_ge(plan_candidates(&q, c, PLAN_CANDIDATES), 1);
        price[i] = simulated_cost(&q, &c[0]);
    }
    ck_assert(price[1] > 10 * price[0]);
    topo_free(t);
}
END_TEST

Suite *suite_simulated(void)
{
    Suite *s = suite_create("simulated");
    TCase *t = tcase_create("choice");

    tcase_add_loop_test(t, test_simulated__the_first_is_as_fast_as_a_known_way, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(t, test_simulated__a_found_way_comes_first_and_once);
    tcase_add_test(t, test_simulated__not_where_it_takes_long_or_knows_too_little);
    tcase_add_test(t, test_simulated__the_price_grows_with_the_chunks);
    suite_add_tcase(s, t);
    return s;
}
