/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HiCCL's claims for its composition: the load of each rail (Table III), the length of paths, and
 * the depth of the pipeline. Also, a rank computes no more than its own part.
 */
#include <check.h>
#include <stdlib.h>

#include "planners/algorithms/compose/compose.h"
#include "planners/links/load.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

/* The busiest rail of all, in bytes. */
static double busiest_rail(const char *topo, int collective, size_t nbytes, const char *recipe)
{
    struct topo *t = test_topo_parse(topo);
    struct plan_request q =
        REQUEST((enum plan_collective)collective, t, nbytes, 4096, .root = 5, .recipe = recipe);
    struct load l;
    double busiest;

    ck_assert_int_eq(load_open(t, &l), 0);
    for (q.rank = 0; q.rank < t->nranks; q.rank++) {
        struct plan *p = NULL;

        ck_assert_int_eq(plan_compose.build(&q, &p), 0);
        load_add(&l, t, p);
        plan_free(p);
    }
    busiest = load_time(&l, t);
    load_free(&l);
    topo_free(t);
    return busiest;
}

/* Table III, as bytes of each of a node's four rails, for 16 blocks of B bytes. */
START_TEST(test_compose__every_collective_loads_the_rails_as_the_bound_says)
{
    enum { B = 1 << 16 };
    static const struct {
        int collective;
        size_t nbytes;
        double rail_bytes;
    } bound[] = {
        {COLL_BCAST, 16 * B, 4 * B},     {COLL_REDUCE, 16 * B, 4 * B},
        {COLL_ALLGATHER, B, 3 * B},      {COLL_REDUCE_SCATTER_BLOCK, B, 3 * B},
        {COLL_ALLREDUCE, 16 * B, 6 * B}, {COLL_GATHER, B, 3 * B},
        {COLL_SCATTER, B, 3 * B},        {COLL_ALLTOALL, B, 12 * B},
    };
    static const char *const recipes[] = {NULL, "hierarchy=4:4,stripe=4,ring=4",
                                          "hierarchy=4:4,stripe=4,ring=4,pipeline=16"};

    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++)
        for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++)
            ck_assert_msg(busiest_rail("node:4 gpu:4 rail:4", bound[i].collective, bound[i].nbytes,
                                       recipes[r]) == bound[i].rail_bytes,
                          "%s, recipe %zu", plan_collective_name(bound[i].collective), r);
    /* The gain of each optimisation for a broadcast: a rail carries 3 x 16, 16, 4 blocks. */
    ck_assert_double_eq(
        busiest_rail("node:4 gpu:4 rail:4", COLL_BCAST, 16 * B, "hierarchy=4:4,stripe=1,ring=1"),
        48 * B);
    ck_assert_double_eq(
        busiest_rail("node:4 gpu:4 rail:4", COLL_BCAST, 16 * B, "hierarchy=4:4,stripe=1,ring=4"),
        16 * B);
    ck_assert_double_eq(
        busiest_rail("node:4 gpu:4 rail:4", COLL_BCAST, 16 * B, "hierarchy=2:2:4,stripe=4,ring=1"),
        8 * B);
}
END_TEST

/* Stripes are as wide as their rails: three rails of 10 and one of 5 carry 35. */
START_TEST(test_compose__a_slow_rail_carries_its_share)
{
    enum { B = 70000 };
    static const struct {
        int collective;
        size_t nbytes;
        const char *recipe;
        double bytes; /* that enter the node which takes most, or leave it */
    } cases[] = {
        {COLL_BCAST, 16 * B, NULL, 16 * B},
        {COLL_REDUCE, 16 * B, NULL, 16 * B},
        {COLL_ALLREDUCE, 16 * B, NULL, 24 * B},
        {COLL_ALLGATHER, B, "stripe=4", 12 * B},
        {COLL_REDUCE_SCATTER_BLOCK, B, "stripe=4", 12 * B},
        {COLL_GATHER, B, "stripe=4", 12 * B},
        {COLL_SCATTER, B, "stripe=4", 12 * B},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds = busiest_rail("node:4 gpu:4 rail:4@80Mbit,80Mbit,40Mbit,80Mbit",
                                      cases[i].collective, cases[i].nbytes, cases[i].recipe);
        double bound = cases[i].bytes / 35e6;

        ck_assert_msg(seconds >= 0.999 * bound && seconds < 1.001 * bound, "%s: %g s, bound %g s",
                      plan_collective_name(cases[i].collective), seconds, bound);
    }
}
END_TEST

/* Hops from the root to the farthest rank of an unstriped broadcast. */
static int longest_path(const char *recipe)
{
    struct topo *t = test_topo_parse("node:8 gpu:2 rail:2");
    struct plan_request q = REQUEST(COLL_BCAST, t, 1000, 100, .root = 3, .recipe = recipe);
    int parent[16], longest = 0;

    for (q.rank = 0; q.rank < 16; q.rank++) {
        struct plan *p = NULL;

        ck_assert_int_eq(plan_compose.build(&q, &p), 0);
        parent[q.rank] = -1;
        for (uint32_t i = 0; i < p->nqueues; i++)
            if (p->queues[i].kind == PLAN_RECV) {
                ck_assert_int_eq(parent[q.rank], -1);
                parent[q.rank] = p->queues[i].peer;
            }
        plan_free(p);
    }
    for (int rank = 0; rank < 16; rank++) {
        int hops = 0;

        for (int at = rank; at != q.root; at = parent[at], hops++)
            ck_assert_int_ge(parent[at], 0);
        longest = hops > longest ? hops : longest;
    }
    topo_free(t);
    return longest;
}

START_TEST(test_compose__a_tree_is_logarithmic_and_a_ring_is_not)
{
    ck_assert_int_eq(longest_path("hierarchy=2:2:2:2,ring=1,stripe=1"), 4);
    ck_assert_int_eq(longest_path("hierarchy=2:2:2:2,ring=2,stripe=1"), 4);
    ck_assert_int_eq(longest_path("hierarchy=2:2:2:2,ring=4,stripe=1"), 5);
    ck_assert_int_eq(longest_path("hierarchy=8:2,ring=8,stripe=1"), 8);
    ck_assert_int_eq(longest_path("hierarchy=8:2,ring=1,stripe=1"), 2);
    ck_assert_int_eq(longest_path("hierarchy=16,ring=1,stripe=1"), 1);
}
END_TEST

/* Ranks that alternate between sockets, as launchers often place them: a level is a socket still.
 */
START_TEST(test_compose__groups_inside_a_node_are_sockets)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4");
    struct plan_request q = {.collective = COLL_BCAST,
                             .topo = t,
                             .nbytes = 1000,
                             .grain = 1,
                             .chunk_bytes = 100,
                             .recipe = "hierarchy=2:2:2,stripe=1"};
    int across = 0;

    for (int rank = 0; rank < 8; rank++)
        t->rank[rank].socket = rank % 2;
    for (q.rank = 0; q.rank < 8; q.rank++) {
        struct plan *p = NULL;

        ck_assert_int_eq(plan_compose.build(&q, &p), 0);
        for (uint32_t i = 0; i < p->nqueues; i++) {
            const struct plan_queue *queue = &p->queues[i];
            if (queue->kind == PLAN_SEND && t->rank[queue->peer].node == t->rank[q.rank].node)
                across += t->rank[queue->peer].socket != t->rank[q.rank].socket;
        }
        plan_free(p);
    }
    ck_assert_int_eq(across, 2); /* once on each node */
    topo_free(t);
}
END_TEST

/* Pipeline depth m: what a stripe moves, in m chunks of whole elements, the same on all ranks. */
START_TEST(test_compose__the_pipeline_sets_the_chunk)
{
    static const struct {
        int collective;
        size_t nbytes;
        const char *recipe;
        uint64_t chunk;
    } cases[] = {
        {COLL_BCAST, 64000, "pipeline=16", 1000},
        {COLL_BCAST, 64000, "stripe=1,pipeline=16", 4000},
        {COLL_BCAST, 64000, "stripe=1,pipeline=3", 21336},
        {COLL_ALLGATHER, 64000, "pipeline=16", 4000},
        {COLL_ALLREDUCE, 64000, "pipeline=2", 2000},
        {COLL_ALLREDUCE, 64000, "pipeline=2,steps=rooted", 32000},
        {COLL_BCAST, 8, "pipeline=1000", 8},
        {COLL_BCAST, 0, "pipeline=4", 8},
        {COLL_BCAST, (size_t)8 << 30, "pipeline=1", 16 << 20}, /* it travels by pinned cells */
        {COLL_BCAST, 64000, "", 800},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = test_topo_parse("node:4 gpu:4");
        struct plan_request q = {.collective = (enum plan_collective)cases[i].collective,
                                 .topo = t,
                                 .nbytes = cases[i].nbytes,
                                 .grain = 8,
                                 .chunk_bytes = 800,
                                 .recipe = cases[i].recipe};

        for (q.rank = 0; q.rank < t->nranks; q.rank++) {
            struct plan *p = NULL;

            ck_assert_int_eq(plan_compose.build(&q, &p), 0);
            ck_assert_uint_eq(p->chunk_bytes, cases[i].chunk);
            plan_free(p);
        }
        topo_free(t);
    }
}
END_TEST

/* A rank's plan grows with what it moves itself, not with what all ranks do. */
START_TEST(test_compose__one_rank_of_many_is_small)
{
    static const struct {
        int collective;
        uint32_t operations; /* at most */
    } cases[] = {
        {COLL_BCAST, 40},           {COLL_REDUCE, 40},
        {COLL_SCATTER, 2 * 1024},   {COLL_GATHER, 2 * 1024},
        {COLL_ALLGATHER, 3 * 8192}, {COLL_REDUCE_SCATTER_BLOCK, 3 * 8192},
        {COLL_ALLREDUCE, 6 * 8192}, {COLL_ALLTOALL, 4 * 8192},
    };
    struct topo *t = test_topo_parse("node:1024 gpu:8 rail:8");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *p = NULL;
        struct plan_request q = REQUEST((enum plan_collective)cases[i].collective, t, 1 << 20,
                                        1 << 16, .rank = 4321, .root = 1);

        ck_assert_int_eq(plan_compose.build(&q, &p), 0);
        ck_assert_uint_gt(p->nops, 0);
        ck_assert_msg(p->nops <= cases[i].operations, "%s: %u operations",
                      plan_collective_name(q.collective), p->nops);
        plan_free(p);
    }
    topo_free(t);
}
END_TEST

Suite *suite_compose(void)
{
    Suite *s = suite_create("compose");
    TCase *t = tcase_create("compose");

    tcase_add_test(t, test_compose__every_collective_loads_the_rails_as_the_bound_says);
    tcase_add_test(t, test_compose__a_slow_rail_carries_its_share);
    tcase_add_test(t, test_compose__a_tree_is_logarithmic_and_a_ring_is_not);
    tcase_add_test(t, test_compose__groups_inside_a_node_are_sockets);
    tcase_add_test(t, test_compose__the_pipeline_sets_the_chunk);
    tcase_add_test(t, test_compose__one_rank_of_many_is_small);
    suite_add_tcase(s, t);
    return s;
}
