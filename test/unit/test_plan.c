/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of the registry against the checker, on thousands of random shapes; a
 * new row is tested by being there.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/algorithms/prefix_chain.h"
#include "planners/algorithms/staggered_pairwise.h"
#include "planners/check/check.h"
#include "planners/links/load.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

static const struct plan_algorithm *nth(int i, int *collective)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c && i-- == 0) {
                *collective = c;
                return plan_algorithms[a];
            }
    return NULL;
}

static int rows(void)
{
    int n = 0, c;

    while (nth(n, &c))
        n++;
    return n;
}

static void check_shape(const struct plan_algorithm *a, int c, uint64_t seed, int most)
{
    struct rng r = {seed};
    struct plan_request q = rng_request(&r, (enum plan_collective)c, most, 200);
    char why[256] = "", text[1024];
    int rc = plan_check_algorithm(&q, a, why, sizeof why);

    ck_assert_msg(rc == 0, "%s, seed %llu, %s: %s", a->name, (unsigned long long)seed,
                  rng_request_text(&q, text), why);
    rng_request_free(&q);
}

START_TEST(test_plan__every_algorithm_passes_the_checker_on_random_shapes)
{
    int c = 0;
    const struct plan_algorithm *a = nth(_i, &c);

    for (uint64_t seed = 1; seed <= rng_seeds(2000); seed++)
        check_shape(a, c, seed, 12);
    for (uint64_t seed = 1; seed <= rng_seeds(40); seed++)
        check_shape(a, c, seed, 40);
}
END_TEST

/* The paper's own case: four nodes of four, whole blocks, every ring on one local rank. */
START_TEST(test_rings__equal_nodes_move_whole_blocks_along_local_ranks)
{
    struct topo *t = test_topo_parse("node:4 gpu:4 rail:4");
    struct plan *p = NULL;

    for (int rank = 0; rank < 16; rank++) {
        struct plan_request q = REQUEST(COLL_ALLGATHER, t, 1000, 64, .rank = rank);
        int ring_blocks = 0;

        ck_assert_int_eq(plan_parallel_rings.build(&q, &p), 0);
        for (uint32_t i = 0; i < p->nqueues; i++) {
            int peer = p->queues[i].peer;
            if (peer < 0 || t->rank[peer].node == t->rank[rank].node)
                continue;
            ck_assert_int_eq(t->rank[peer].local, t->rank[rank].local);
            ck_assert_int_eq(p->queues[i].nops, 3);
            for (uint32_t o = 0; o < p->queues[i].nops; o++)
                ck_assert_uint_eq(p->ops[p->queues[i].first_op + o].length, 1000);
            ring_blocks += 3;
        }
        ck_assert_int_eq(ring_blocks, 6); /* three received, three sent */
        plan_free(p);
    }
    topo_free(t);
}
END_TEST

/* Bytes that enter a node per rail follow the rails' rates. */
START_TEST(test_rings__a_slow_rail_carries_its_share)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4");
    uint64_t in[4] = {0};

    for (int rail = 0; rail < 4; rail++)
        t->rail[rail].bw_bytes_per_s = rail == 3 ? 5e6 : 1e7;
    for (int rank = 4; rank < 8; rank++) {
        struct plan *p = NULL;
        struct plan_request q = REQUEST(COLL_ALLGATHER, t, 7000, 64, .rank = rank);

        ck_assert_int_eq(plan_parallel_rings.build(&q, &p), 0);
        for (uint32_t i = 0; i < p->nops; i++) {
            const struct plan_queue *queue = &p->queues[p->ops[i].queue];
            if (queue->kind == PLAN_RECV && queue->peer < 4)
                in[t->rank[rank].rail] += p->ops[i].length;
        }
        plan_free(p);
    }
    ck_assert_uint_eq(in[0] + in[1] + in[2] + in[3], 28000);
    for (int rail = 0; rail < 4; rail++) { /* 28000 * 5 / 35 and * 10 / 35, to a byte */
        uint64_t share = rail == 3 ? 4000 : 8000;
        ck_assert(in[rail] + 1 >= share && in[rail] <= share + 1);
    }
    topo_free(t);
}
END_TEST

/* A plan's memory on a large machine, also where hosts have rails of unequal rate. */
START_TEST(test_plan__one_rank_of_8192_is_small)
{
    static const struct {
        const struct plan_algorithm *algorithm;
        enum plan_collective collective;
    } rows[] = {
        {&plan_parallel_rings, COLL_ALLGATHER}, {&plan_parallel_rings, COLL_REDUCE_SCATTER_BLOCK},
        {&plan_parallel_rings, COLL_BCAST},     {&plan_parallel_rings, COLL_REDUCE},
        {&plan_parallel_rings, COLL_GATHER},    {&plan_parallel_rings, COLL_SCATTER},
        {&plan_lane, COLL_ALLREDUCE},           {&plan_staggered_pairwise, COLL_ALLTOALL},
        {&plan_prefix_chain, COLL_SCAN},
    };
    static const char *const shapes[] = {
        "node:1024 gpu:8 rail:8",
        "node:1024 gpu:8 rail:8@100Gbit rail_rate:5.2@50Gbit,9.3@25Gbit,77.0out@1Gbit"};

    for (size_t shape = 0; shape < 2; shape++) {
        struct topo *t = test_topo_parse(shapes[shape]);

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int rank = 37; rank < t->nranks; rank += 1447) {
                struct plan_request q =
                    REQUEST(rows[i].collective, t, 1 << 20, 1 << 16, .rank = rank);
                struct plan *p = NULL;

                ck_assert_int_eq(rows[i].algorithm->build(&q, &p), 0);
                ck_assert_uint_le(plan_footprint(p), 1 << 20);
                plan_free(p);
            }
        topo_free(t);
    }
}
END_TEST

START_TEST(test_plan__queues_keep_the_order_in_which_operations_were_added)
{
    struct plan_builder *b = plan_build_begin(0, 4, 16);
    struct plan *p = NULL;

    ck_assert_ptr_nonnull(b);
    for (int i = 0; i < 300; i++) {
        uint32_t received = plan_recv(b, 1 + i % 3, 0, PLAN_OUTPUT, (uint64_t)i * 8, 8);
        plan_send(b, 1 + (i + 1) % 3, 0, PLAN_OUTPUT, (uint64_t)i * 8, 8);
        plan_after(b, received);
    }
    ck_assert_uint_eq(plan_copy(b, 0, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 0), PLAN_NO_OP);
    ck_assert_int_eq(plan_build_finish(b, "test", 0, 2400, 0, 0, &p), 0);
    ck_assert_uint_eq(p->nqueues, 6);
    for (uint32_t q = 0; q < p->nqueues; q++)
        for (uint32_t o = 1; o < p->queues[q].nops; o++) {
            const struct plan_op *op = &p->ops[p->queues[q].first_op + o];
            uint64_t before = op[-1].src == PLAN_NONE ? op[-1].dst_off : op[-1].src_off;
            ck_assert_uint_lt(before, op->src == PLAN_NONE ? op->dst_off : op->src_off);
        }
    for (uint32_t i = 0; i < p->nops; i++)
        for (uint32_t d = 0; d < p->ops[i].ndeps; d++)
            ck_assert_uint_eq(p->ops[p->deps[p->ops[i].first_dep + d]].dst_off, p->ops[i].src_off);
    plan_free(p);
}
END_TEST

START_TEST(test_plan__a_dependency_asks_for_the_shared_bytes_only)
{
    struct plan_op arrival = {.src = PLAN_NONE, .dst = PLAN_OUTPUT, .dst_off = 100, .length = 50};
    struct plan_op onward = {.src = PLAN_OUTPUT, .dst = PLAN_NONE, .src_off = 90, .length = 100};
    struct plan_op other = {.src = PLAN_SCRATCH, .dst = PLAN_NONE, .src_off = 90, .length = 100};

    struct plan_op staged = {.src = PLAN_HOST, .dst = PLAN_NONE, .src_off = 90, .length = 100};
    struct plan_op stage = {.src = PLAN_INPUT, .dst = PLAN_HOST, .dst_off = 100, .length = 50};

    ck_assert_uint_eq(plan_dep_need(&staged, 1, &other), 100); /* two buffers share no bytes */
    ck_assert_uint_eq(plan_dep_need(&staged, 40, &stage), 30);
    ck_assert_uint_eq(plan_dep_need(&onward, 10, &arrival), 0);
    ck_assert_uint_eq(plan_dep_need(&onward, 11, &arrival), 1);
    ck_assert_uint_eq(plan_dep_need(&onward, 40, &arrival), 30);
    ck_assert_uint_eq(plan_dep_need(&onward, 100, &arrival), 50);
    ck_assert_uint_eq(plan_dep_need(&other, 1, &arrival), 50);
    ck_assert_uint_eq(plan_dep_need(&arrival, 20, &onward), 30); /* overwriting what was read */
}
END_TEST

static unsigned with_trait(enum plan_trait trait)
{
    unsigned mask = 0;

    for (int c = 0; c < COLL_COUNT; c++)
        mask |= (unsigned)plan_is((enum plan_collective)c, trait) << c;
    return mask;
}

/* As the MPI standard has them. */
START_TEST(test_collective__traits_are_asked_by_name)
{
#define BIT(c) (1u << COLL_##c)
    ck_assert_uint_eq(with_trait(PLAN_COMBINES),
                      BIT(ALLREDUCE) | BIT(REDUCE) | BIT(REDUCE_SCATTER) |
                          BIT(REDUCE_SCATTER_BLOCK) | BIT(SCAN) | BIT(EXSCAN));
    ck_assert_uint_eq(with_trait(PLAN_ROOTED), BIT(BCAST) | BIT(REDUCE) | BIT(GATHER) |
                                                   BIT(GATHERV) | BIT(SCATTER) | BIT(SCATTERV));
    ck_assert_uint_eq(with_trait(PLAN_BY_RANK),
                      BIT(ALLGATHERV) | BIT(REDUCE_SCATTER) | BIT(GATHERV) | BIT(SCATTERV));
    ck_assert_uint_eq(with_trait(PLAN_SPREADS), BIT(ALLGATHER) | BIT(ALLGATHERV) | BIT(BCAST));
    for (int c = 0; c < COLL_COUNT; c++) {
        ck_assert_int_eq(plan_is_vector((enum plan_collective)c),
                         c == COLL_ALLREDUCE || c == COLL_REDUCE || c == COLL_BCAST ||
                             c == COLL_SCAN || c == COLL_EXSCAN);
        ck_assert_int_eq(plan_is_prefix((enum plan_collective)c),
                         c == COLL_SCAN || c == COLL_EXSCAN);
        ck_assert_int_eq(plan_gathers((enum plan_collective)c),
                         c == COLL_GATHER || c == COLL_GATHERV);
        ck_assert_int_eq(plan_scatters((enum plan_collective)c),
                         c == COLL_SCATTER || c == COLL_SCATTERV);
    }
#undef BIT
}
END_TEST

/* With the smallest chunk that a user asks for, a large call stays a matter of seconds. */
START_TEST(test_chunks__a_wish_is_kept_unless_it_cuts_the_call_too_finely)
{
    static const struct {
        size_t nbytes, grain, wanted, chunk;
    } cases[] = {{1 << 20, 1, 100, 100},
                 {1 << 20, 1, 1, 65},
                 {1 << 20, 24, 1, 72},
                 {1000, 1, 1, 1},
                 {1000, 8, 1, 8},
                 {1000, 8, 100, 96},
                 {0, 8, 1, 8},
                 {64 << 20, 1, 1, 4096},
                 {(size_t)1 << 40, 1, 1, 4096},
                 {(size_t)1 << 40, 24, 1, 4080},
                 {(size_t)1 << 40, 1, 5000, 5000}};
    struct topo *t = test_topo_parse("node:2 rank:2");
    struct rng r = {1};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_request q = {.collective = COLL_BCAST,
                                 .topo = t,
                                 .nbytes = cases[i].nbytes,
                                 .grain = cases[i].grain};

        ck_assert_uint_eq(plan_chunk(&q, cases[i].wanted), cases[i].chunk);
    }
    for (int i = 0; i < 10000; i++) {
        struct plan_request q = {.collective = COLL_ALLTOALL,
                                 .topo = t,
                                 .nbytes = rng_below(&r, 1u << rng_below(&r, 28)),
                                 .grain = 1 + rng_below(&r, 32)};
        size_t wanted = 1 + rng_below(&r, 5000), chunk = plan_chunk(&q, wanted);

        ck_assert_uint_eq(chunk % q.grain, 0);
        ck_assert_uint_gt(chunk, 0);
        ck_assert(chunk + q.grain > PLAN_SMALL_CHUNK ||
                  plan_total_bytes(&q) <= (uint64_t)PLAN_MANY_CHUNKS * chunk);
    }
    topo_free(t);
}
END_TEST

/* The load of a collective's plans, as a share of the bound. */
static double share_of_bound(struct plan_request q, const struct plan_algorithm *a)
{
    struct load load;

    ck_assert_int_eq(load_open(q.topo, &load), 0);
    for (q.rank = 0; q.rank < q.topo->nranks; q.rank++) {
        struct plan *p = NULL;

        ck_assert_int_eq(a->build(&q, &p), 0);
        load_add(&load, q.topo, p);
        plan_free(p);
    }
    double share = load_bound(&q) / load_time(&load, q.topo);
    load_free(&load);
    return share;
}

/* A rank whose rail is slow, or whose block is large, leaves to the others what its rail cannot
   carry in time. */
START_TEST(test_plan__every_rail_gets_its_share)
{
    static const size_t large[] = {1 << 15, 1 << 10, 0, 1 << 10, 1 << 20, 0, 1 << 10, 1 << 12};
    static const struct {
        const char *shape;
        enum plan_collective collective;
        const size_t *bytes;
    } cases[] = {
        {"node:3 rank:5 rail:4@100Mbit", COLL_ALLTOALL, NULL},
        {"node:2 rank:4 rail:4@3x100Mbit,50Mbit", COLL_ALLTOALL, NULL},
        {"node:3 rank:4,3,5 rail:4@100Mbit", COLL_ALLTOALL, NULL},
        {"node:2 rank:4 rail:4@3x100Mbit,50Mbit", COLL_GATHER, NULL},
        {"node:2 rank:4 rail:4@3x100Mbit,50Mbit", COLL_SCATTER, NULL},
        {"node:4 rank:4 rail:4@2x100Mbit,40Mbit,10Mbit", COLL_GATHER, NULL},
        {"node:2 rank:4 rail:4@100Mbit", COLL_GATHERV, large},
        {"node:2 rank:4 rail:4@100Mbit", COLL_SCATTERV, large},
        {"node:3 rank:4 rail:4@3x100Mbit,50Mbit", COLL_SCAN, NULL},
        {"node:3 rank:4 rail:4@100Mbit place:cyclic", COLL_EXSCAN, NULL},
        {"rail:4@100Mbit place:0,1,1,0,2,2,0,2,0", COLL_SCAN, NULL},
    };
    char why[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = NULL;

        ck_assert_int_eq(topo_parse(cases[i].shape, 0, &t, why, sizeof why), 0);
        struct plan_request q =
            REQUEST(cases[i].collective, t, 70000, 1 << 15, .bytes = cases[i].bytes);
        const struct plan_algorithm *a = plan_is_prefix(q.collective)    ? &plan_prefix_chain
                                         : q.collective == COLL_ALLTOALL ? &plan_staggered_pairwise
                                                                         : &plan_parallel_rings;
        double share = share_of_bound(q, a);

        ck_assert_msg(share >= .999, "%s on %s: %.4f of the bound",
                      plan_collective_name(q.collective), cases[i].shape, share);
        topo_free(t);
    }
}
END_TEST

static const char *row_of(enum plan_collective c)
{
    return c == COLL_ALLTOALL    ? "staggered_pairwise"
           : c == COLL_ALLREDUCE ? "lane"
           : plan_is_prefix(c)   ? "prefix_chain"
                                 : "parallel_rings";
}

/* A slow rail of one host, or one each of two, on the root's host or on another. */
START_TEST(test_plan__a_slow_rail_of_one_host_costs_what_the_bound_says)
{
    static const char *const shapes[] = {"node:4 rank:4 rail:4@100Mbit",
                                         "node:3 rank:5 rail:5@100Mbit",
                                         "node:2 rank:4 rail:4@100Mbit"};
    static const struct {
        const char *rails;
        double least, allreduce; /* of the bound */
    } slow[] = {
        {"1.2@50Mbit", .99, .99},
        {"1.2@25Mbit", .99, .99},
        {"1.2@1Mbit", .98, .98},
        {"0.2@50Mbit,1.3@50Mbit", .99, .99},
        {"0.2@25Mbit,1.3@25Mbit", .99, .99},
        {"0.2@1Mbit,1.3@1Mbit", .98, .98},
    };

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
            for (int c = 0; c < COLL_COUNT; c++) {
                enum plan_collective collective = (enum plan_collective)c;
                char text[256];

                if (plan_has_demand(collective) || plan_is(collective, PLAN_BY_RANK))
                    continue;
                snprintf(text, sizeof text, "%s rail_rate:%s", shapes[s], slow[i].rails);
                struct topo *t = test_topo_parse(text);
                for (int root = 0; root < t->nranks; root += 5) {
                    double share =
                        share_of_bound(REQUEST(collective, t, 1 << 20, 1 << 15, .root = root),
                                       plan_algorithm_find(collective, row_of(collective)));

                    ck_assert_msg(share >=
                                      (c == COLL_ALLREDUCE ? slow[i].allreduce : slow[i].least),
                                  "%s, root %d, on %s: %.3f of the bound",
                                  plan_collective_name(collective), root, text, share);
                }
                topo_free(t);
            }
}
END_TEST

/* One rank each, one host at half speed: 2 vectors' time of its rail, where a ring takes 3. */
START_TEST(test_plan__an_allreduce_gives_a_slow_host_less_to_combine)
{
    struct topo *t = test_topo_parse("node:4 rail:1@100Mbit rail_rate:1.0@50Mbit");
    const struct plan_algorithm *lane = plan_algorithm_find(COLL_ALLREDUCE, "lane");
    struct plan_request q = REQUEST(COLL_ALLREDUCE, t, 1 << 20, 1 << 15);

    ck_assert_ptr_null(lane->pays(&q));
    ck_assert(share_of_bound(q, lane) > .99);
    ck_assert(share_of_bound(q, plan_algorithm_find(COLL_ALLREDUCE, "parallel_rings")) < .7);
    topo_free(t);
}
END_TEST

/* If the root's rails are the bottleneck, no rank hands anything to a neighbour. */
START_TEST(test_gather__a_leaf_uses_its_own_rail_where_it_can)
{
    struct plan_request q = REQUEST(
        COLL_GATHER, test_topo_parse("node:4 rank:4 rail:4@3x100Mbit,40Mbit"), 70000, 1 << 15);

    for (q.rank = 4; q.rank < q.topo->nranks; q.rank++) {
        struct plan *p = NULL;

        ck_assert_int_eq(plan_parallel_rings.build(&q, &p), 0);
        for (uint32_t i = 0; i < p->nqueues; i++)
            ck_assert_int_eq(q.topo->rank[p->queues[i].peer].node, 0);
        plan_free(p);
    }
    topo_free((struct topo *)(uintptr_t)q.topo);
}
END_TEST

/* A rank that carries for a slow rail of its node has few messages more than others. */
START_TEST(test_alltoall__one_rank_of_8192_is_small_where_rails_differ)
{
    struct plan_request q = REQUEST(
        COLL_ALLTOALL, test_topo_parse("node:1024 gpu:8 rail:8@100Gbit rail_rate:9.3@25Gbit"),
        1 << 20, 1 << 16, .rank = 74);
    struct plan *p = NULL;

    ck_assert_int_eq(plan_algorithm_find(COLL_ALLTOALL, "staggered_pairwise")->build(&q, &p), 0);
    ck_assert_uint_le(plan_footprint(p), 1200 << 10);
    struct load_link crossing = load_crossing(q.topo, p);
    double even = (8184. + 8184. * .75 / 7.25) * (1 << 20); /* 7.25 rails' worth carry 8 ranks' */
    ck_assert_double_le(crossing.out, 1.03 * even);
    ck_assert_double_le(crossing.in, 1.03 * even);
    plan_free(p);
    topo_free((struct topo *)(uintptr_t)q.topo);
}
END_TEST

/* Each of 4 x 4 ranks on equal rails sends one piece of a block per step. */
START_TEST(test_alltoall__begins_with_half_a_mebibyte_in_two_to_eight_steps)
{
    static const struct {
        size_t block, chunk;
        int steps;
    } cases[] = {{4 << 10, 32 << 10, 8},    {64 << 10, 64 << 10, 8},  {128 << 10, 256 << 10, 4},
                 {256 << 10, 256 << 10, 2}, {256 << 10, 32 << 10, 8}, {4 << 20, 512 << 10, 2}};
    struct plan_request q =
        REQUEST(COLL_ALLTOALL, test_topo_parse("node:4 rank:4 rail:4@100Mbit"), 0, 0);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *p = NULL;
        int at_once = 0;

        q.nbytes = cases[i].block;
        q.chunk_bytes = cases[i].chunk;
        ck_assert_int_eq(plan_staggered_pairwise.build(&q, &p), 0);
        for (uint32_t at = 0; at < p->nops; at++) {
            const struct plan_queue *queue = &p->queues[p->ops[at].queue];

            at_once += queue->kind == PLAN_SEND && q.topo->rank[queue->peer].node != 0 &&
                       !p->ops[at].ndeps;
        }
        ck_assert_int_eq(at_once, cases[i].steps);
        plan_free(p);
    }
    topo_free((struct topo *)(uintptr_t)q.topo);
}
END_TEST

Suite *suite_plan(void)
{
    Suite *s = suite_create("plan");
    TCase *t = tcase_create("plan");

    tcase_add_loop_test(t, test_plan__every_algorithm_passes_the_checker_on_random_shapes, 0,
                        rows());
    tcase_add_test(t, test_rings__equal_nodes_move_whole_blocks_along_local_ranks);
    tcase_add_test(t, test_rings__a_slow_rail_carries_its_share);
    tcase_add_test(t, test_plan__one_rank_of_8192_is_small);
    tcase_add_test(t, test_plan__queues_keep_the_order_in_which_operations_were_added);
    tcase_add_test(t, test_plan__a_dependency_asks_for_the_shared_bytes_only);
    tcase_add_test(t, test_collective__traits_are_asked_by_name);
    tcase_add_test(t, test_chunks__a_wish_is_kept_unless_it_cuts_the_call_too_finely);
    tcase_add_test(t, test_plan__every_rail_gets_its_share);
    tcase_add_test(t, test_alltoall__one_rank_of_8192_is_small_where_rails_differ);
    tcase_add_test(t, test_alltoall__begins_with_half_a_mebibyte_in_two_to_eight_steps);
    tcase_add_test(t, test_plan__a_slow_rail_of_one_host_costs_what_the_bound_says);
    tcase_add_test(t, test_plan__an_allreduce_gives_a_slow_host_less_to_combine);
    tcase_add_test(t, test_gather__a_leaf_uses_its_own_rail_where_it_can);
    suite_add_tcase(s, t);
    return s;
}
