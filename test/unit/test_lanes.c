/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: each way between nodes on random shapes, and what is said of steps, bytes and choice
 * beyond being right.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/lane/lanes_stage.h"
#include "planners/check/check.h"
#include "planners/links/lanes_cut.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

static const char *const inters[] = {"inter=ring", "inter=recursive_doubling", "inter=rabenseifner",
                                     "inter=direct"};

/* Messages to other nodes and their bytes, of rank 0's plan. */
static void outside(const struct plan_request *q, int *messages, uint64_t *bytes)
{
    struct plan *p = NULL;

    ck_assert_int_eq(plan_lane.build(q, &p), 0);
    *messages = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < p->nops; i++) {
        const struct plan_queue *queue = &p->queues[p->ops[i].queue];
        if (queue->kind == PLAN_SEND &&
            q->topo->rank[queue->peer].node != q->topo->rank[q->rank].node) {
            ck_assert_int_eq(q->topo->rank[queue->peer].local, q->topo->rank[q->rank].local);
            *messages += 1;
            *bytes += p->ops[i].length;
        }
    }
    plan_free(p);
}

START_TEST(test_lanes__every_way_between_nodes_passes_the_checker)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rng r = {seed};
        struct plan_request q =
            rng_request(&r, COLL_ALLREDUCE, seed % 10 ? 12 : 40, seed % 3 ? 200 : 3);
        char why[256] = "", text[1024];

        q.recipe = inters[_i];
        ck_assert_int_eq(plan_lane.accepts(&q, why, sizeof why), 0);
        ck_assert_msg(plan_check_algorithm(&q, &plan_lane, why, sizeof why) == 0,
                      "%s, seed %d, %s: %s", q.recipe, (int)seed, rng_request_text(&q, text), why);
        rng_request_free(&q);
    }
}
END_TEST

START_TEST(test_lanes__any_number_of_lanes_passes_the_checker)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng r = {seed};
        int c = 0;

        for (int skip = (int)(seed % 7); !(plan_lane.collectives & 1u << c) || skip-- > 0;)
            c++;
        struct plan_request q = rng_request(&r, (enum plan_collective)c, 12, seed % 3 ? 200 : 3);
        char why[256] = "", text[1024], recipe[32];

        snprintf(recipe, sizeof recipe, "lanes=%d", 1 + (int)(seed % 3));
        q.recipe = recipe;
        ck_assert_msg(plan_check_algorithm(&q, &plan_lane, why, sizeof why) == 0,
                      "%s, seed %d, %s: %s", q.recipe, (int)seed, rng_request_text(&q, text), why);
        rng_request_free(&q);
    }
}
END_TEST

/* The first two of a node's ranks exchange with other nodes, and carry half of it each. */
START_TEST(test_lanes__as_many_ranks_as_lanes_cross)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4");

    for (int rank = 0; rank < 8; rank++) {
        struct plan_request q =
            REQUEST(COLL_ALLGATHER, t, 1000, 1 << 20, .rank = rank, .recipe = "lanes=2");
        int messages;
        uint64_t bytes;

        outside(&q, &messages, &bytes);
        ck_assert_int_eq(messages, rank % 4 < 2);
        ck_assert_uint_eq(bytes, rank % 4 < 2 ? 2000 : 0);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_lanes__a_wrong_recipe_says_what_would_do)
{
    struct topo *t = test_topo_parse("node:2 rank:2");
    char why[256] = "";

    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = t,
                             .nbytes = 64,
                             .grain = 4,
                             .chunk_bytes = 64,
                             .recipe = "inter=tree"};
    struct plan *p = NULL;
    ck_assert_int_eq(plan_lane.accepts(&q, why, sizeof why), -22);
    ck_assert_str_eq(why, "inter=tree: must be ring, recursive_doubling, rabenseifner or direct");
    ck_assert_int_lt(plan_lane.build(&q, &p), 0);
    ck_assert_ptr_null(p);
    topo_free(t);
}
END_TEST

/* Eight nodes of four, a slice of 8000 bytes: the table in lanes_stage.h, to the byte. */
START_TEST(test_lanes__steps_and_bytes_are_those_of_the_table)
{
    static const struct {
        int messages;
        uint64_t bytes;
    } want[] = {{14, 14000}, {3, 24000}, {6, 14000}};
    struct topo *t = test_topo_parse("node:8 gpu:4 rail:4");

    for (int i = 0; i < 3; i++) {
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .rank = 13,
                                 .nbytes = 32000,
                                 .grain = 4,
                                 .chunk_bytes = 1 << 20,
                                 .recipe = inters[i]};
        int messages;
        uint64_t bytes;

        outside(&q, &messages, &bytes);
        ck_assert_int_eq(messages, want[i].messages);
        ck_assert_uint_eq(bytes, want[i].bytes);
    }
    topo_free(t);
}
END_TEST

/* Thirteen nodes in four steps, although every node's unit enters (leaves) each other node but
   once. */
START_TEST(test_lanes__a_vector_of_blocks_takes_the_logarithm_of_the_nodes_in_messages)
{
    struct topo *t = test_topo_parse("node:13 gpu:2 rail:2");
    int messages;
    uint64_t bytes;

    struct plan_request q = REQUEST(COLL_ALLGATHER, t, 1000, 1 << 20, .rank = 7);
    outside(&q, &messages, &bytes);
    ck_assert_int_eq(messages, 4);
    ck_assert_uint_eq(bytes, 12000);
    q.collective = COLL_REDUCE_SCATTER_BLOCK;
    outside(&q, &messages, &bytes);
    ck_assert_int_eq(messages, 4);
    ck_assert_uint_eq(bytes, 12000);
    topo_free(t);
}
END_TEST

/* A rank of a large machine plans its own part only. */
START_TEST(test_lanes__one_rank_of_8192_is_small)
{
    static const struct {
        enum plan_collective collective;
        const char *recipe;
        size_t most;
    } plans[] = {{COLL_ALLREDUCE, "inter=rabenseifner", 16 << 10},
                 {COLL_ALLREDUCE, "inter=recursive_doubling", 16 << 10},
                 {COLL_ALLREDUCE, "inter=ring", 512 << 10},
                 {COLL_BCAST, "", 16 << 10},
                 {COLL_ALLGATHER, "", 1 << 20},
                 {COLL_REDUCE_SCATTER, "", 1 << 20}};
    struct topo *t = test_topo_parse("node:1024 gpu:8 rail:8");

    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct plan_request q = {.collective = plans[i].collective,
                                 .topo = t,
                                 .rank = 4321,
                                 .nbytes = 1 << 20,
                                 .grain = 4,
                                 .chunk_bytes = 1 << 16,
                                 .recipe = plans[i].recipe};
        struct plan *p = NULL;

        ck_assert_int_eq(plan_lane.build(&q, &p), 0);
        ck_assert_uint_le(plan_footprint(p), plans[i].most);
        plan_free(p);
    }
    topo_free(t);
}
END_TEST

static enum lanes_inter chosen(const char *text, size_t nbytes)
{
    struct topo *t = NULL;
    char why[256];

    ck_assert_int_eq(topo_parse(text, 0, &t, why, sizeof why), 0);
    struct plan_request q = {.collective = COLL_ALLREDUCE, .topo = t, .nbytes = nbytes, .grain = 4};
    enum lanes_inter inter = lanes_inter_default(&q);
    topo_free(t);
    return inter;
}

START_TEST(test_lanes__the_default_follows_size_and_nodes)
{
    ck_assert_int_eq(chosen("node:2 rank:4", 1 << 30), LANES_RECURSIVE_DOUBLING);
    ck_assert_int_eq(chosen("node:8 rank:4", 1 << 10), LANES_RECURSIVE_DOUBLING);
    ck_assert_int_eq(chosen("node:8 rank:4", 1 << 20), LANES_RABENSEIFNER);
    ck_assert_int_eq(chosen("node:7 rank:4", 1 << 28), LANES_RING);
    ck_assert_int_eq(chosen("node:100 rank:4", 1 << 10), LANES_RECURSIVE_DOUBLING);
}
END_TEST

/* Lanes cover the slices; on each node one rank's slice holds a lane altogether. */
START_TEST(test_lanes__a_lane_has_one_rank_on_every_node)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng r = {seed};
        struct topo *t = rng_topo(&r, 14);
        uint64_t total = 4 * rng_below(&r, 100), covered = 0;

        for (int rank = 0; rank < t->nranks; rank++) {
            struct lanes l;

            ck_assert_int_eq(lanes_open(&l, t, rank, total, 4), 0);
            for (int i = 0; i < l.nlanes; i++) {
                ck_assert_uint_lt(l.lane[i].from, l.lane[i].to);
                covered += l.lane[i].to - l.lane[i].from;
                for (int node = 0; node < t->nnodes; node++) {
                    struct lanes there;
                    int who = lanes_rank(&l, l.lane[i], node);

                    ck_assert_int_eq(t->rank[who].node, node);
                    ck_assert_int_eq(lanes_open(&there, t, who, total, 4), 0);
                    ck_assert_uint_le(there.mine.from, l.lane[i].from);
                    ck_assert_uint_ge(there.mine.to, l.lane[i].to);
                    lanes_close(&there);
                }
            }
            lanes_close(&l);
        }
        ck_assert_uint_eq(covered, total * (uint64_t)t->nnodes);
        topo_free(t);
    }
}
END_TEST

Suite *suite_lanes(void)
{
    Suite *s = suite_create("lanes");
    TCase *t = tcase_create("lanes");

    tcase_add_loop_test(t, test_lanes__every_way_between_nodes_passes_the_checker, 0,
                        sizeof inters / sizeof *inters);
    tcase_add_test(t, test_lanes__any_number_of_lanes_passes_the_checker);
    tcase_add_test(t, test_lanes__as_many_ranks_as_lanes_cross);
    tcase_add_test(t, test_lanes__a_wrong_recipe_says_what_would_do);
    tcase_add_test(t, test_lanes__steps_and_bytes_are_those_of_the_table);
    tcase_add_test(t, test_lanes__a_vector_of_blocks_takes_the_logarithm_of_the_nodes_in_messages);
    tcase_add_test(t, test_lanes__one_rank_of_8192_is_small);
    tcase_add_test(t, test_lanes__the_default_follows_size_and_nodes);
    tcase_add_test(t, test_lanes__a_lane_has_one_rank_on_every_node);
    suite_add_tcase(s, t);
    return s;
}
