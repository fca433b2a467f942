/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HiCCL's composition: random recipes on random shapes through the checker, what is said of wrong
 * recipes, and the paper's own claims: the load of each rail (Table III), the length of paths.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/check.h"
#include "planners/compose.h"
#include "planners/load.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

/* A random recipe, and a hierarchy it is for. */
struct cook {
    struct rng *r;
    const struct topo *t;
    int levels, factor[8];
    int by_node;
    char text[256];
};

static void say(struct cook *c, const char *key, const char *value)
{
    size_t n = strlen(c->text);

    snprintf(c->text + n, sizeof c->text - n, "%s%s=%s", n ? "," : "", key, value);
}

static void say_number(struct cook *c, const char *key, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    say(c, key, text);
}

/* Some factors, in some order, whose product is n. */
static void add_factors(struct cook *c, int n)
{
    for (int d = 2; d <= n; d++)
        while (n % d == 0 && c->levels < 5 && rng_below(c->r, 4)) {
            c->factor[c->levels++] = d;
            n /= d;
        }
    if (n > 1 || !c->levels || !rng_below(c->r, 6))
        c->factor[c->levels++] = n;
    for (int i = c->levels - 1; i > 0; i--) {
        int j = (int)rng_below(c->r, (uint32_t)i + 1), f = c->factor[i];
        c->factor[i] = c->factor[j];
        c->factor[j] = f;
    }
}

static int product(const struct cook *c, int from, int to)
{
    int all = 1;

    for (int l = from; l < to; l++)
        all *= c->factor[l];
    return all;
}

static void cook_hierarchy(struct cook *c)
{
    int shape = (int)rng_below(c->r, 3), most = 0;
    char text[64] = "";

    for (int n = 0; n < c->t->nnodes; n++)
        if (topo_node_size(c->t, n) > most)
            most = topo_node_size(c->t, n);
    if (shape == 0) {
        add_factors(c, c->t->nranks);
    } else {
        if (shape == 1)
            add_factors(c, c->t->nnodes);
        else
            c->factor[c->levels++] = c->t->nnodes;
        c->factor[c->levels++] = most;
        c->by_node = 1;
    }
    for (int l = 0; l < c->levels; l++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", l ? ":" : "",
                 c->factor[l]);
    if (shape != 2)
        say(c, "hierarchy", text);
}

/* The least number of levels that make so many groups, or -1. */
static int levels_of(const struct cook *c, int groups)
{
    for (int l = 0; l <= c->levels; l++)
        if (product(c, 0, l) == groups)
            return l;
    return -1;
}

static void cook_ring_and_stripe(struct cook *c)
{
    int ring = c->t->nnodes, levels;

    if (rng_below(c->r, 2)) {
        /* A ring of all ranks needs equal nodes. */
        int most = product(c, 0, c->levels) == c->t->nranks ? c->levels : c->levels - 1;

        ring = product(c, 0, (int)rng_below(c->r, (uint32_t)most + 1));
        say_number(c, "ring", ring);
    }
    levels = levels_of(c, ring);
    if (levels <= 0)
        levels = c->levels > 1;
    if (rng_below(c->r, 3))
        say_number(c, "stripe", 1 + (int)rng_below(c->r, (uint32_t)product(c, levels, c->levels)));
}

static void cook_library(struct cook *c)
{
    char text[64] = "";

    for (int l = 0; l < c->levels; l++)
        strcat(strcat(text, l ? ":" : ""), c->by_node && l == c->levels - 1 ? "shm" : "mpi");
    say(c, "library", text);
}

static void cook_recipe(struct cook *c, int collective)
{
    static const char *const steps[] = {"single", "multi", "rooted"};
    int choices = collective == COLL_ALLREDUCE                               ? 3
                  : collective >= COLL_GATHER && collective <= COLL_ALLTOALL ? 1
                                                                             : 2;

    cook_hierarchy(c);
    cook_ring_and_stripe(c);
    if (rng_below(c->r, 2))
        say_number(c, "pipeline", 1 + (int)rng_below(c->r, 9));
    if (rng_below(c->r, 2))
        cook_library(c);
    if (rng_below(c->r, 3))
        say(c, "steps", steps[rng_below(c->r, (uint32_t)choices)]);
}

static void check_recipe(int collective, uint64_t seed, int most)
{
    struct rng r = {seed * 7919 + (uint64_t)collective};
    struct plan_request q = rng_request(&r, (enum plan_collective)collective, most, 120);
    struct cook c = {.r = &r, .t = q.topo};
    char why[256] = "", text[1024];
    int rc;

    cook_recipe(&c, collective);
    q.recipe = c.text;
    rc = plan_compose.accepts(&q, why, sizeof why);
    ck_assert_msg(rc == 0, "'%s', seed %llu, %s: %s", c.text, (unsigned long long)seed,
                  rng_request_text(&q, text), why);
    rc = plan_check_algorithm(&q, &plan_compose, why, sizeof why);
    ck_assert_msg(rc == 0, "'%s', seed %llu, %s: %s", c.text, (unsigned long long)seed,
                  rng_request_text(&q, text), why);
    rng_request_free(&q);
}

START_TEST(test_compose__random_recipes_pass_the_checker_on_random_shapes)
{
    for (uint64_t seed = 1; seed <= 2000; seed++)
        check_recipe(_i, seed, 14);
    for (uint64_t seed = 1; seed <= 25; seed++)
        check_recipe(_i, seed, 48);
}
END_TEST

static struct topo *topo_of(const char *text)
{
    struct topo *t = NULL;
    char why[256];

    ck_assert_msg(topo_parse(text, 0, &t, why, sizeof why) == 0, "%s", why);
    return t;
}

/* What is wrong and what would do, in one line. */
START_TEST(test_compose__a_wrong_recipe_is_told_what_would_do)
{
    static const struct {
        const char *topo;
        int collective;
        const char *recipe, *says;
    } wrong[] = {
        {"node:4 gpu:4", COLL_BCAST, "strype=4", "'strype': no such key"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:5", "there are 16 ranks on 4 nodes"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:5", "4:4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:", "must be a number of groups"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:x", "'x' must be a number"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=0:4", "'0' must be a number"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=16777216:16777216:16777216", "4:4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=1:1:1:1:1:1:1:4:4", "at most 8 levels"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:4,ring=3", "rings of 1 (no ring), 4, 16"},
        {"node:2 rank:1,3", COLL_BCAST, "ring=6", "rings of 1 (no ring), 2"},
        {"node:4 gpu:4", COLL_BCAST, "ring=0", "from 1"},
        {"node:4 gpu:4", COLL_BCAST, "stripe=5", "groups of 4; 1 to 4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=2:2:4,ring=2,stripe=9", "1 to 8 would do"},
        {"node:4 gpu:4", COLL_BCAST, "pipeline=0", "pipeline=0: must be"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi:ucx", "no library 'ucx'; there are mpi and shm"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi", "names 1, hierarchy=4:4 has 2 levels"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi:mpi:shm", "names 3"},
        {"node:4 gpu:4", COLL_BCAST, "library=shm:shm", "level 1 of hierarchy=4:4 crosses nodes"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=2:8,library=mpi:shm", "level 2 of hierarchy=2:8"},
        {"node:4 gpu:4", COLL_BCAST, "steps=rooted", "bcast has no such composition"},
        {"node:4 gpu:4", COLL_SCATTER, "steps=multi", "scatter has no such composition"},
        {"node:4 gpu:4", COLL_BCAST, "steps=two", "must be single, multi or rooted"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct topo *t = topo_of(wrong[i].topo);
        struct plan_request q = {.collective = (enum plan_collective)wrong[i].collective,
                                 .topo = t,
                                 .nbytes = 1000,
                                 .grain = 1,
                                 .chunk_bytes = 100,
                                 .recipe = wrong[i].recipe};
        struct plan *p = NULL;
        char why[256] = "";

        ck_assert_int_eq(plan_compose.accepts(&q, why, sizeof why), -EINVAL);
        ck_assert_msg(strstr(why, wrong[i].says), "'%s': %s", wrong[i].recipe, why);
        ck_assert_msg(!strchr(why, '\n'), "'%s': %s", wrong[i].recipe, why);
        ck_assert_int_eq(plan_compose.build(&q, &p), -ENOTSUP);
        ck_assert_ptr_null(p);
        topo_free(t);
    }
}
END_TEST

/* The busiest rail of all, in bytes. */
static double busiest_rail(const char *topo, int collective, size_t nbytes, const char *recipe)
{
    struct topo *t = topo_of(topo);
    struct plan_request q = {.collective = (enum plan_collective)collective,
                             .topo = t,
                             .root = 5,
                             .nbytes = nbytes,
                             .grain = 1,
                             .chunk_bytes = 4096,
                             .recipe = recipe};
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
    /* What each optimisation brings to a broadcast: a rail carries 3 x 16, 16, 4 blocks. */
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

/* Hops from the root to the farthest rank of an unstriped broadcast. */
static int longest_path(const char *recipe)
{
    struct topo *t = topo_of("node:8 gpu:2 rail:2");
    struct plan_request q = {.collective = COLL_BCAST,
                             .topo = t,
                             .root = 3,
                             .nbytes = 1000,
                             .grain = 1,
                             .chunk_bytes = 100,
                             .recipe = recipe};
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
        {COLL_BCAST, 64000, "", 800},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = topo_of("node:4 gpu:4");
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
    struct topo *t = topo_of("node:1024 gpu:8 rail:8");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *p = NULL;
        struct plan_request q = {.collective = (enum plan_collective)cases[i].collective,
                                 .topo = t,
                                 .rank = 4321,
                                 .root = 1,
                                 .nbytes = 1 << 20,
                                 .grain = 1,
                                 .chunk_bytes = 1 << 16};

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

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_compose__random_recipes_pass_the_checker_on_random_shapes, 0,
                        COLL_COUNT);
    tcase_add_test(t, test_compose__a_wrong_recipe_is_told_what_would_do);
    tcase_add_test(t, test_compose__every_collective_loads_the_rails_as_the_bound_says);
    tcase_add_test(t, test_compose__a_tree_is_logarithmic_and_a_ring_is_not);
    tcase_add_test(t, test_compose__the_pipeline_sets_the_chunk);
    tcase_add_test(t, test_compose__one_rank_of_many_is_small);
    suite_add_tcase(s, t);
    return s;
}
