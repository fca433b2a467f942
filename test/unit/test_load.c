/* SPDX-License-Identifier: BSD-3-Clause */
/* The bounds: closed forms on equal and unequal nodes, and which bytes measure a rail. */
#include <check.h>

#include "planners/links/load.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

#define NEAR 1e-6

/* HiCCL's Table III, as times: p ranks, g per node, k rails of f; d is the payload of Table I. */
START_TEST(test_load__equal_nodes_have_the_bounds_of_table_III)
{
    double p = 12, g = 4, kf = 2e7, d = 12e6, block = d / p;
    struct topo *t = test_topo_parse("node:3 rank:4 rail:2@80Mbit");
    const double expected[COLL_COUNT] = {
        [COLL_BCAST] = d / kf,
        [COLL_REDUCE] = d / kf,
        [COLL_SCAN] = d / kf,
        [COLL_EXSCAN] = d / kf,
        [COLL_GATHER] = d * (p - g) / (p * kf),
        [COLL_GATHERV] = d * (p - g) / (p * kf),
        [COLL_SCATTER] = d * (p - g) / (p * kf),
        [COLL_SCATTERV] = d * (p - g) / (p * kf),
        [COLL_ALLGATHER] = d * (p - g) / (p * kf),
        [COLL_ALLGATHERV] = d * (p - g) / (p * kf),
        [COLL_REDUCE_SCATTER] = d * (p - g) / (p * kf),
        [COLL_REDUCE_SCATTER_BLOCK] = d * (p - g) / (p * kf),
        [COLL_ALLREDUCE] = 2 * d * (p - g) / (p * kf),
        [COLL_ALLTOALL] = g * d * (p - g) / (p * kf), /* d: what one rank sends */
        [COLL_ALLTOALLV] = g * d * (p - g) / (p * kf),
        [COLL_NEIGHBOR_ALLGATHER] = g * d * (p - g) / (p * kf), /* all are neighbours */
        [COLL_NEIGHBOR_ALLTOALL] = g * d * (p - g) / (p * kf),
    };

    static uint64_t even[12 * 12];

    for (int i = 0; i < 12 * 12; i++) /* an alltoallv that is an alltoall */
        even[i] = (uint64_t)block;
    for (int c = 0; c < COLL_COUNT; c++) {
        int vector = plan_is_vector((enum plan_collective)c);
        struct plan_request q =
            REQUEST((enum plan_collective)c, t, (size_t)(vector ? d : block), 1, .root = 5,
                    .demand = plan_has_demand((enum plan_collective)c) ? even : NULL);

        ck_assert_msg(expected[c] > 0, "%s has no expectation", plan_collective_name(c));
        ck_assert_msg(load_bound(&q) > expected[c] * (1 - NEAR) &&
                          load_bound(&q) < expected[c] * (1 + NEAR),
                      "%s: %g instead of %g", plan_collective_name(c), load_bound(&q), expected[c]);
    }
    topo_free(t);
}
END_TEST

/* Node 0 has ranks 0-2 and both rails (30 MB/s); node 1 has rank 3 on rail 1 (20 MB/s). */
START_TEST(test_load__unequal_nodes_and_rails)
{
    static const size_t bytes[] = {1000000, 2000000, 3000000, 8000000};
    static const struct {
        enum plan_collective c;
        int root;
        double seconds;
    } cases[] = {
        {COLL_ALLGATHERV, 3, 8e6 / 20e6}, /* with any root */
        {COLL_REDUCE_SCATTER, 3, 8e6 / 20e6},
        {COLL_ALLGATHERV, 0, 8e6 / 20e6},     /* node 1 sends 8 MB on one rail */
        {COLL_REDUCE_SCATTER, 0, 8e6 / 20e6}, /* and receives as much */
        {COLL_GATHERV, 0, 8e6 / 20e6},        /* out of node 1 */
        {COLL_GATHERV, 3, 6e6 / 20e6},        /* into node 1 */
        {COLL_SCATTERV, 1, 8e6 / 20e6},
        {COLL_SCATTERV, 3, 6e6 / 20e6},
        {COLL_ALLTOALL, 0, 3 * 1e6 / 20e6}, /* 1 MB from each of 3 to rank 3 */
        {COLL_BCAST, 0, 1e6 / 20e6},
        {COLL_REDUCE, 3, 1e6 / 20e6},
        {COLL_ALLREDUCE, 0, 1e6 / 20e6}, /* more than 2 MB / 50 MB/s */
        {COLL_SCAN, 0, 1e6 / 20e6},      /* into node 1 */
        {COLL_EXSCAN, 3, 1e6 / 20e6},
    };
    struct topo *t = test_topo_parse("node:2 rank:3,1 rail:2@80Mbit,160Mbit rail_of:0,1,-1,1");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_request q = REQUEST(cases[i].c, t, 1000000, 1, .root = cases[i].root);

        if (plan_is(q.collective, PLAN_BY_RANK))
            q.bytes = bytes;
        ck_assert_msg(load_bound(&q) > cases[i].seconds * (1 - NEAR) &&
                          load_bound(&q) < cases[i].seconds * (1 + NEAR),
                      "case %zu: %g instead of %g", i, load_bound(&q), cases[i].seconds);
    }
    topo_free(t);
}
END_TEST

/* A call of 16 ranks. size: of a block, of the vector, or of a message of an Alltoallv (0: to rank
   0 alone, instead of to all). Returns how many such calls come before the rails are measured like
   that; 99: as many at least. */
static int calls_before(enum load_worth worth, const struct topo *t, enum plan_collective c,
                        int to_all, uint64_t size, int rank)
{
    static uint64_t demand[16 * 16];
    static size_t bytes[16];
    struct load_crossed crossed = {0};
    int calls = 0;

    for (int i = 0; i < 16 * 16; i++)
        demand[i] = to_all || i % 16 == 0 ? size : 0;
    for (int r = 0; r < 16; r++)
        bytes[r] = size;
    struct plan_request q =
        REQUEST(c, t, size, 1, .rank = rank, .root = 3, .bytes = c == COLL_GATHERV ? bytes : NULL,
                .demand = c == COLL_ALLTOALLV ? demand : NULL);
    while (calls < 99 && load_worth_measuring(&q, 1. / 16, &crossed) < worth)
        calls++;
    return calls;
}

/* In each of these calls 3/4 MiB cross a rail; a glance, the brief form and the whole send 96 KiB,
   .8 and 2.6 MiB. */
START_TEST(test_load__rails_are_measured_once_16_times_as_many_bytes_have_crossed)
{
    static const struct {
        enum plan_collective c;
        int to_all;
        uint64_t size;
    } cases[] = {
        {COLL_ALLGATHER, 1, 256 << 10}, /* blocks: of 12 ranks elsewhere, by 4 rails */
        {COLL_ALLREDUCE, 1, 2 << 20},   /* vector: 2 (4 - 1) times over 16 rails */
        {COLL_BCAST, 1, 3 << 20},       /* vector: once by 4 rails */
        {COLL_GATHERV, 1, 256 << 10},   /* blocks: 12 into the root's node */
        {COLL_ALLTOALL, 1, 64 << 10},   /* blocks: 4 ranks have one for 12 others, each */
        {COLL_ALLTOALLV, 1, 64 << 10},  /* messages: likewise */
        {COLL_ALLTOALLV, 0, 256 << 10}, /* messages: 12 into one node */
    };
    static const struct {
        enum load_worth worth;
        int calls;
    } forms[] = {{LOAD_WORTH_GLANCE, 2}, {LOAD_WORTH_BRIEF, 18}, {LOAD_WORTH_FULL, 56}};
    struct topo *t = test_topo_parse("node:4 rank:4 rail:4"),
                *one = test_topo_parse("node:1 rank:16");
    struct topo *known = test_topo_parse("node:4 rank:4 rail:4@100Mbit");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum plan_collective c = cases[i].c;
        int all = cases[i].to_all;

        for (int k = 0; k < 3; k++)
            for (int rank = 0; rank < 16; rank += 5) {
                enum load_worth worth = forms[k].worth;

                ck_assert_int_eq(calls_before(worth, t, c, all, cases[i].size, rank),
                                 forms[k].calls);
                ck_assert_int_eq(calls_before(worth, one, c, all, cases[i].size, rank), 99);
                ck_assert_int_eq(calls_before(worth, known, c, all, cases[i].size, rank), 99);
            }
    }
    topo_free(t);
    topo_free(one);
    topo_free(known);
}
END_TEST

START_TEST(test_load__a_plan_crosses_with_what_other_nodes_send_and_get)
{
    struct topo *t = test_topo_parse("node:2 rank:2 rail:2");
    struct plan_builder *b = plan_build_begin(0, 4, 1);
    struct plan *p;

    plan_send(b, 1, 0, PLAN_INPUT, 0, 1000); /* on its node */
    plan_recv(b, 1, 0, PLAN_OUTPUT, 0, 2000);
    plan_copy(b, 0, PLAN_INPUT, 0, PLAN_OUTPUT, 5000, 9);
    plan_send(b, 2, 0, PLAN_INPUT, 0, 30);
    plan_send(b, 2, 0, PLAN_INPUT, 30, 4);
    plan_send(b, 3, 1, PLAN_INPUT, 0, 100);
    plan_recv(b, 3, 0, PLAN_OUTPUT, 2000, 7);
    plan_recv_reduce(b, 2, 1, PLAN_INPUT, 0, PLAN_OUTPUT, 3000, 50);
    ck_assert_int_eq(plan_build_finish(b, "test", 10000, 10000, 0, 0, &p), 0);
    struct load_link crossing = load_crossing(t, p);
    ck_assert_double_eq_tol(crossing.out, 134, NEAR);
    ck_assert_double_eq_tol(crossing.in, 57, NEAR);
    plan_free(p);
    topo_free(t);
}
END_TEST

/* Calls of either size in turn, until they have paid for a glance. */
static int calls_until_a_glance(const struct topo *t, size_t first, size_t second)
{
    struct plan_request q = REQUEST(COLL_ALLGATHER, t, 0, 1);
    struct load_crossed crossed = {0};
    int calls = 0;

    do
        q.nbytes = calls++ % 2 ? second : first;
    while (load_worth_measuring(&q, 1. / 16, &crossed) < LOAD_WORTH_GLANCE);
    return calls;
}

START_TEST(test_load__calls_of_all_sizes_count)
{
    struct topo *t = test_topo_parse("node:4 rank:4 rail:4");
    int mixed = calls_until_a_glance(t, 32 << 10, 16 << 10);

    ck_assert_int_gt(mixed, calls_until_a_glance(t, 32 << 10, 32 << 10));
    ck_assert_int_lt(mixed, calls_until_a_glance(t, 16 << 10, 16 << 10));
    topo_free(t);
}
END_TEST

Suite *suite_load(void)
{
    Suite *s = suite_create("load");
    TCase *t = tcase_create("load");

    tcase_add_test(t, test_load__equal_nodes_have_the_bounds_of_table_III);
    tcase_add_test(t, test_load__unequal_nodes_and_rails);
    tcase_add_test(t, test_load__rails_are_measured_once_16_times_as_many_bytes_have_crossed);
    tcase_add_test(t, test_load__a_plan_crosses_with_what_other_nodes_send_and_get);
    tcase_add_test(t, test_load__calls_of_all_sizes_count);
    suite_add_tcase(s, t);
    return s;
}
