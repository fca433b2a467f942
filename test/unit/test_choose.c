/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that are tried when the user forces none: alike on all ranks, in order, never the slow
   ones. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/choose/choose.h"
#include "planners/links/cost.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

static struct topo *topology(const char *text)
{
    struct topo *t = NULL;
    char why[256];

    ck_assert_msg(topo_parse(text, 0, &t, why, sizeof why) == 0, "%s: %s", text, why);
    return t;
}

static int same_candidates(const struct plan_candidate *a, int n, const struct plan_candidate *b,
                           int m)
{
    if (n != m)
        return 0;
    for (int i = 0; i < n; i++)
        if (a[i].algorithm != b[i].algorithm || a[i].chunk_bytes != b[i].chunk_bytes ||
            a[i].recipe != b[i].recipe || a[i].ppg != b[i].ppg)
            return 0;
    return 1;
}

/* The one that a measurement must judge: a row with a recipe that the user did not name. */
static int by_leaders(const struct plan_request *q, const struct plan_candidate *c)
{
    return !q->recipe && c->recipe;
}

static void check_request(struct plan_request *q, const char *text)
{
    struct plan_candidate c[PLAN_CANDIDATES], other[PLAN_CANDIDATES];
    int n = plan_candidates_all(q, c, PLAN_CANDIDATES);

    ck_assert_msg(n >= 0 && n <= PLAN_CANDIDATES, "%s: %d candidates", text, n);
    for (int i = 0; i < n; i++) {
        ck_assert_msg(c[i].algorithm->collectives & 1u << q->collective, "%s", text);
        ck_assert_msg(c[i].chunk_bytes > 0 && c[i].chunk_bytes % q->grain == 0, "%s", text);
        ck_assert_msg(c[i].seconds >= 0, "%s: predicts %g s", text, c[i].seconds);
        for (int k = 0; k < i; k++)
            ck_assert_msg(c[i].algorithm != c[k].algorithm || c[i].recipe != c[k].recipe ||
                              c[i].chunk_bytes != c[k].chunk_bytes || c[i].ppg != c[k].ppg,
                          "%s: twice the same", text);
    }
    for (int rank = 0; rank < q->topo->nranks; rank++) {
        q->rank = rank;
        q->in_place = rank & 1;
        ck_assert_msg(same_candidates(c, n, other, plan_candidates_all(q, other, PLAN_CANDIDATES)),
                      "%s: rank %d chooses otherwise", text, rank);
    }
    n = plan_candidates(q, c, PLAN_CANDIDATES);
    ck_assert_msg(!n || !plan_nothing_pays(q), "%s", text);
    for (int i = 0; i < n; i++)
        ck_assert_msg(by_leaders(q, &c[i]) || !c[i].algorithm->pays || !c[i].algorithm->pays(q),
                      "%s", text);
}

START_TEST(test_choose__all_ranks_choose_alike_on_random_shapes)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, (enum plan_collective)_i, 20, 100000);
        char text[1024];

        rng_request_text(&q, text);
        check_request(&q, text); /* with a chunk set */
        q.chunk_bytes = 0;
        check_request(&q, text);
        q.ppg = 1 + (int)(seed % 8); /* with helpers */
        check_request(&q, text);
        rng_request_free(&q);
    }
}
END_TEST

/* Whether a block of some eager messages is better sent whole depends on how the library uses the
   rails: both are tried, unless the rails were measured to prefer small messages. */
START_TEST(test_choose__blocks_of_medium_size_are_tried_whole)
{
    static const struct {
        size_t nbytes, prefers;
        int chunks;
    } cases[] = {{512 << 10, 0, 1},      {1 << 20, 0, 2},        {1 << 20, 256 << 10, 2},
                 {1 << 20, 32 << 10, 1}, {4 << 20, 32 << 10, 2}, {4 << 20, 256 << 10, 2}};
    struct topo *t = test_topo_parse("node:4 rank:4 rail:4");
    struct plan_request q = {.collective = COLL_ALLREDUCE, .topo = t, .grain = 8};
    size_t chunk[PLAN_CHUNKS] = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t->rail_chunk = cases[i].prefers;
        q.nbytes = cases[i].nbytes;
        ck_assert_int_eq(plan_chunks(&q, chunk), cases[i].chunks);
        if (q.nbytes == 1 << 20 && cases[i].chunks == 2)
            ck_assert_uint_ge(chunk[1], q.nbytes / 16);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_choose__a_chunk_that_is_set_is_kept_and_alone)
{
    struct topo *t = topology("node:4 gpu:4 rail:4");
    struct plan_request q = REQUEST(COLL_ALLGATHER, t, 1 << 20, 12345);
    struct plan_candidate c[PLAN_CANDIDATES];
    int n = plan_candidates(&q, c, PLAN_CANDIDATES);

    ck_assert_int_ge(n, 1);
    for (int i = 0; i < n; i++)
        ck_assert_uint_eq(c[i].chunk_bytes, 12345);
    q.chunk_bytes = 0;
    n = plan_candidates(&q, c, PLAN_CANDIDATES);
    ck_assert_int_ge(n, 2); /* the second chunk of the first row is among them */
    int again = 0;
    for (int i = 1; i < n; i++)
        again += c[i].algorithm == c[0].algorithm;
    ck_assert_int_eq(again, 1);
    ck_assert_int_eq(plan_candidates(&q, c, 1), 1);
    ck_assert_int_eq(plan_candidates(&q, c, 0), 0);
    topo_free(t);
}
END_TEST

START_TEST(test_choose__a_way_by_leaders_is_tried_last_and_for_few_bytes_only)
{
    struct {
        const char *shape;
        enum plan_collective collective;
        size_t nbytes, chunk; /* 0: there is none */
        const char *recipe;
    } const rows[] = {
        {"node:4 gpu:4 rail:4", COLL_BCAST, 64 << 10, 32 << 10, "stripe=1"},
        {"node:4 gpu:4 rail:4", COLL_REDUCE, 1 << 20, 64 << 10, "stripe=1"},
        {"node:4 gpu:4 rail:4", COLL_ALLREDUCE, 256 << 10, 0, NULL},
        {"node:4 gpu:4 rail:4", COLL_SCATTER, 16 << 10, 128 << 10, "lanes=1"},
        {"node:4 gpu:4 rail:4", COLL_ALLGATHER, 64 << 10, 256 << 10, "lanes=1"},
        {"node:4 gpu:4 rail:4", COLL_BCAST, 4 << 20, 0, NULL},
        {"node:4 gpu:4 rail:4", COLL_ALLTOALL, 64 << 10, 0, NULL},
        {"node:4 gpu:1 rail:4", COLL_BCAST, 1 << 20, 0, NULL},
        {"node:1 gpu:4 rail:4", COLL_BCAST, 1 << 20, 0, NULL},
        {"node:17 gpu:4 rail:4", COLL_BCAST, 1 << 20, 0, NULL},
    };

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct topo *t = topology(rows[k].shape);
        struct plan_request q = {
            .collective = rows[k].collective, .topo = t, .nbytes = rows[k].nbytes, .grain = 8};
        struct plan_candidate c[PLAN_CANDIDATES];
        int n = plan_candidates(&q, c, PLAN_CANDIDATES), found = 0;

        for (int i = 0; i < n; i++)
            found += by_leaders(&q, &c[i]);
        ck_assert_msg(found == (rows[k].chunk > 0), "row %zu: %d of %d", k, found, n);
        if (found) {
            ck_assert_int_ge(n, 2);
            ck_assert_uint_eq(c[n - 1].chunk_bytes, rows[k].chunk);
            ck_assert_str_eq(c[n - 1].recipe, rows[k].recipe);
        }
        topo_free(t);
    }
}
END_TEST

/* 256 nodes in a ring: 510 messages one after the other, where a tree needs 16. */
START_TEST(test_choose__a_long_ring_is_not_tried_for_few_bytes)
{
    struct topo *t = topology("node:256 gpu:4 rail:4");
    struct plan_request q = {
        .collective = COLL_ALLREDUCE, .topo = t, .nbytes = 64 << 10, .grain = 8};
    struct plan_candidate c[PLAN_CANDIDATES];
    int n = plan_candidates(&q, c, PLAN_CANDIDATES);

    for (int i = 0; i < n; i++)
        ck_assert_ptr_ne(c[i].algorithm, &plan_parallel_rings);
    ck_assert_ptr_null(plan_nothing_pays(&q)); /* the shape may gain, the size does not */
    n = plan_candidates_all(&q, c, PLAN_CANDIDATES);
    ck_assert_int_ge(n, 1);
    q.nbytes = 256 << 20;
    n = plan_candidates(&q, c, PLAN_CANDIDATES);
    int rings = 0;
    for (int i = 0; i < n; i++)
        rings += c[i].algorithm == &plan_parallel_rings;
    ck_assert_int_ge(rings, 1);
    topo_free(t);
}
END_TEST

static double rings_seconds(const char *text, enum plan_collective c, size_t nbytes, size_t chunk)
{
    struct topo *t = topology(text);
    struct plan_request q = REQUEST(c, t, nbytes, chunk);
    double seconds = plan_parallel_rings.cost(&q);

    topo_free(t);
    return seconds;
}

/* The emulated cluster: 1 MiB per rank took 272 ms, 4 MiB 1100 ms, on a bound of 263 and 1054. */
START_TEST(test_choose__rings_cost_what_was_measured)
{
    const char *cluster = "node:4 gpu:4 rail:4@95.6Mbit latency_rail:100us";
    double small = rings_seconds(cluster, COLL_ALLGATHER, 1 << 20, 32 << 10);
    double large = rings_seconds(cluster, COLL_ALLGATHER, 4 << 20, 32 << 10);

    ck_assert_msg(small > 0.263 && small < 0.290, "%g s", small);
    ck_assert_msg(large > 1.053 && large < 1.13, "%g s", large);
    /* Without rates: more bytes, more nodes and slower links cost more. */
    ck_assert(rings_seconds("node:4 gpu:4 rail:4", COLL_BCAST, 1 << 20, 1 << 15) <
              rings_seconds("node:4 gpu:4 rail:4", COLL_BCAST, 1 << 21, 1 << 15));
    ck_assert(rings_seconds("node:4 gpu:4 rail:4", COLL_ALLREDUCE, 1 << 16, 1 << 15) <
              rings_seconds("node:64 gpu:4 rail:4", COLL_ALLREDUCE, 1 << 16, 1 << 15));
}
END_TEST

/* As in the simulation: lanes wait for chunks at each step, rings for latency at each node. */
START_TEST(test_choose__rings_for_many_bytes_lanes_for_few)
{
    static const struct {
        const char *topology;
        size_t nbytes;
        int ppg;
        const struct plan_algorithm *first;
    } cases[] = {
        {"node:4 rank:4 rail:4@10Gbit latency_rail:20us", 64 << 20, 0, &plan_parallel_rings},
        {"node:8 rank:4 rail:4@10Gbit latency_rail:20us", 64 << 20, 0, &plan_parallel_rings},
        {"node:16 rank:4 rail:4@10Gbit latency_rail:20us", 512 << 10, 0, &plan_lane},
        {"node:4 rail:1@200Mbit latency_rail:100us", 16 << 20, 4, &plan_parallel_rings},
        {"node:4 rail:1", 16 << 20, 4, &plan_parallel_rings},
        {"node:4 rail:1@200Mbit latency_rail:100us link_flow:50Mbit", 16 << 20, 4,
         &plan_parallel_rings},
        {"node:16 rail:1@10Gbit latency_rail:20us", 256 << 10, 2, &plan_lane},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = topology(cases[i].topology);
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = cases[i].nbytes,
                                 .grain = 4,
                                 .ppg = cases[i].ppg};
        struct plan_candidate c[PLAN_CANDIDATES];

        ck_assert_int_ge(plan_candidates(&q, c, PLAN_CANDIDATES), 1);
        ck_assert_msg(c[0].algorithm == cases[i].first, "%s, %zu bytes: %s", cases[i].topology,
                      cases[i].nbytes, c[0].algorithm->name);
        topo_free(t);
    }
}
END_TEST

/* Is a row among the candidates for a large Allreduce? */
static int tried_on(const char *text, const struct plan_algorithm *a)
{
    struct topo *t = topology(text);
    struct plan_request q = {
        .collective = COLL_ALLREDUCE, .topo = t, .nbytes = (size_t)1 << 30, .grain = 4};
    struct plan_candidate c[PLAN_CANDIDATES];
    int found = 0;

    for (int i = plan_candidates(&q, c, PLAN_CANDIDATES); i-- > 0;)
        found |= c[i].algorithm == a;
    topo_free(t);
    return found;
}

/* Four operations per rank of a node and node: 16 Ki of them on 512 nodes of 8. */
START_TEST(test_choose__on_many_nodes_lanes_replace_rings_for_allreduce)
{
    ck_assert(tried_on("node:512 rank:8 rail:8", &plan_parallel_rings));
    ck_assert(!tried_on("node:513 rank:8 rail:8", &plan_parallel_rings));
    ck_assert(tried_on("node:513 rank:8 rail:8", &plan_lane));
}
END_TEST

START_TEST(test_choose__one_node_has_nothing_for_rings_to_gain)
{
    struct topo *t = topology("node:1 rank:4");
    struct plan_request q = REQUEST(COLL_ALLGATHER, t, 1 << 20, 0);
    struct plan_candidate c[PLAN_CANDIDATES];
    int n = plan_candidates(&q, c, PLAN_CANDIDATES);

    for (int i = 0; i < n; i++)
        ck_assert_ptr_ne(c[i].algorithm, &plan_parallel_rings);
    ck_assert_int_eq(n == 0, plan_nothing_pays(&q) != NULL);
    topo_free(t);
}
END_TEST

Suite *suite_choose(void)
{
    Suite *s = suite_create("choose");
    TCase *t = tcase_create("candidates");

    tcase_add_loop_test(t, test_choose__all_ranks_choose_alike_on_random_shapes, 0, COLL_COUNT);
    tcase_add_test(t, test_choose__on_many_nodes_lanes_replace_rings_for_allreduce);
    tcase_add_test(t, test_choose__a_chunk_that_is_set_is_kept_and_alone);
    tcase_add_test(t, test_choose__a_way_by_leaders_is_tried_last_and_for_few_bytes_only);
    tcase_add_test(t, test_choose__blocks_of_medium_size_are_tried_whole);
    tcase_add_test(t, test_choose__a_long_ring_is_not_tried_for_few_bytes);
    tcase_add_test(t, test_choose__rings_cost_what_was_measured);
    tcase_add_test(t, test_choose__rings_for_many_bytes_lanes_for_few);
    tcase_add_test(t, test_choose__one_node_has_nothing_for_rings_to_gain);
    suite_add_tcase(s, t);
    return s;
}
