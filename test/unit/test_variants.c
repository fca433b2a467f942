/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges inside a node: what is said of each beyond being right, which the property tests
 * of the registry show. Steps, messages, bytes across the link between sockets, recipes.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/algorithms/parallel_rings/rings_trees.h"
#include "planners/check/check.h"
#include "planners/plan/recipe.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"

static struct topo *topo_of(const char *text)
{
    struct topo *t = NULL;
    char why[256];

    ck_assert_msg(topo_parse(text, 0, &t, why, sizeof why) == 0, "%s", why);
    return t;
}

static struct plan *plan_of(const struct plan_request *q, const struct plan_algorithm *a)
{
    struct plan *p = NULL;

    ck_assert_int_eq(a->build(q, &p), 0);
    return p;
}

/* The paper's Table I, for the data of rank 0 of four: the sender of each rank. */
START_TEST(test_variants__four_ranks_follow_the_papers_table)
{
    static const struct {
        enum rings_intra intra;
        int parent[4];
    } table[] = {
        {RINGS_LINEAR, {-1, 0, 0, 0}},
        {RINGS_BINOMIAL_DOUBLING, {-1, 0, 0, 1}},
        {RINGS_BINOMIAL_HALVING, {-1, 0, 0, 2}},
        {RINGS_KNOMIAL, {-1, 0, 0, 0}},
        {RINGS_RECURSIVE_DOUBLING, {-1, 0, 0, 1}},
        {RINGS_SOCKETS, {-1, 0, 0, 2}},
    };
    struct topo *t = topo_of("node:1 socket:2 gpu:2");

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct rings_trees w;

        ck_assert_int_eq(rings_trees_open(&w, t, 0, table[i].intra, 4), 0);
        for (int l = 0; l < 4; l++)
            ck_assert_int_eq(rings_parent(&w, 0, l), table[i].parent[l]);
        rings_trees_close(&w);
    }
    /* the paper's ring across the sockets: 0 -> 2 -> 1 -> 3 -> 0 */
    struct rings_trees w;
    static const int next[4] = {2, 3, 1, 0};
    ck_assert_int_eq(rings_trees_open(&w, t, 0, RINGS_SOCKETS, 0), 0);
    for (int root = 0; root < 4; root++)
        for (int l = 0; l < 4; l++)
            if (l / 2 != root / 2)
                ck_assert_int_eq(rings_parent(&w, root, l) == root, l == next[root]);
    rings_trees_close(&w);
    topo_free(t);
}
END_TEST

/* No tree is deeper than its kind allows, for any number of ranks. */
START_TEST(test_variants__trees_are_as_deep_as_they_must_be)
{
    for (int size = 1; size <= 33; size++) {
        char text[32];
        int log2 = 0, log4 = 0;

        snprintf(text, sizeof text, "node:1 rank:%d", size);
        struct topo *t = topo_of(text);
        while (1 << log2 < size)
            log2++;
        while (1 << 2 * log4 < size)
            log4++;
        int exchange = size & (size - 1) ? log2 + 1 : log2; /* floor(log2), in and out */
        int most[RINGS_INTRA_COUNT] = {size > 1, log2, log2, log4, exchange, size > 1};
        for (int intra = 0; intra < RINGS_INTRA_COUNT; intra++) {
            struct rings_trees w;

            ck_assert_int_eq(rings_trees_open(&w, t, 0, (enum rings_intra)intra, 4), 0);
            for (int i = 0; i < size * size; i++)
                ck_assert_int_le(w.depth[i], most[intra]);
            rings_trees_close(&w);
        }
        topo_free(t);
    }
}
END_TEST

/* Eight blocks side by side in three steps: three messages out, three in. */
START_TEST(test_variants__recursive_doubling_sends_one_message_a_step)
{
    struct topo *t = topo_of("node:1 rank:8");

    for (int rank = 0; rank < 8; rank++) {
        struct plan_request q = REQUEST(COLL_ALLGATHER, t, 1000, 1 << 20, .rank = rank);
        struct plan *p = plan_of(&q, &plan_recursive_doubling);
        int ops[PLAN_KINDS] = {0};

        for (uint32_t i = 0; i < p->nops; i++)
            ops[p->queues[p->ops[i].queue].kind]++;
        ck_assert_int_eq(ops[PLAN_SEND], 3);
        ck_assert_int_eq(ops[PLAN_RECV], 3);
        plan_free(p);
    }
    topo_free(t);
}
END_TEST

/* Bytes from socket `from` to socket `to` of one node. */
static uint64_t across(const struct plan_request *all, int node, int from, int to)
{
    struct plan_request q = *all;
    uint64_t bytes = 0;

    for (q.rank = 0; q.rank < q.topo->nranks; q.rank++) {
        struct plan *p;

        if (q.topo->rank[q.rank].node != node || q.topo->rank[q.rank].socket != from)
            continue;
        p = plan_of(&q, &plan_parallel_rings);
        for (uint32_t i = 0; i < p->nops; i++) {
            const struct plan_queue *queue = &p->queues[p->ops[i].queue];
            if (queue->kind == PLAN_SEND && q.topo->rank[queue->peer].node == node &&
                q.topo->rank[queue->peer].socket == to)
                bytes += p->ops[i].length;
        }
        plan_free(p);
    }
    return bytes;
}

/*
 * The first bytes of each socket of a node - its own blocks, and the bytes that enter through its
 * rails - cross to each other socket exactly once: over all ordered pairs of s sockets, s - 1 times
 * the whole vector.
 */
START_TEST(test_variants__each_byte_crosses_between_two_sockets_once)
{
    /* allreduce: the contributions to each byte cross, combined, and then the result */
    static const struct {
        enum plan_collective collective;
        uint64_t times;
    } cases[] = {{COLL_ALLGATHERV, 1}, {COLL_ALLREDUCE, 2}};
    int met = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, cases[_i].collective, 14, 100);
        uint64_t total = plan_total_bytes(&q);

        for (int node = 0; node < q.topo->nnodes; node++) {
            int sockets = 0;
            uint64_t bytes = 0, used = 0;

            if (!rings_sockets_matter(q.topo, node))
                continue;
            met++;
            for (int l = 0; l < topo_node_size(q.topo, node); l++)
                used |= 1u << q.topo->rank[topo_node_rank(q.topo, node, l)].socket;
            sockets = __builtin_popcountll(used);
            for (int from = 0; from < 3; from++)
                for (int to = 0; to < 3; to++)
                    bytes += from == to ? 0 : across(&q, node, from, to);
            ck_assert_uint_eq(bytes, cases[_i].times * total * (uint64_t)(sockets - 1));
        }
        rng_request_free(&q);
    }
    ck_assert_int_gt(met, 100);
}
END_TEST

START_TEST(test_variants__sockets_matter_only_where_their_link_is_slower)
{
    struct topo *t = topo_of("node:2 socket:2 rank:2");

    ck_assert_int_eq(rings_sockets_matter(t, 0), 1);
    t->link[TOPO_LINK_SHM].bw_bytes_per_s = t->link[TOPO_LINK_SOCKET].bw_bytes_per_s = 1e9;
    ck_assert_int_eq(rings_sockets_matter(t, 1), 0);
    t->link[TOPO_LINK_SOCKET].bw_bytes_per_s = 5e8;
    ck_assert_int_eq(rings_sockets_matter(t, 1), 1);
    topo_free(t);
    t = topo_of("node:2 socket:2 rank:1"); /* no rank to pass it on to */
    ck_assert_int_eq(rings_sockets_matter(t, 0), 0);
    topo_free(t);
    t = topo_of("node:2 rank:4");
    ck_assert_int_eq(rings_sockets_matter(t, 0), 0);
    topo_free(t);
}
END_TEST

static const struct {
    const struct plan_algorithm *algorithm;
    const char *recipe, *why; /* why: part of the line, or NULL if the recipe is good */
} recipes[] = {
    {&plan_parallel_rings, "", NULL},
    {&plan_parallel_rings, "intra=linear", NULL},
    {&plan_parallel_rings, "intra=binomial_doubling", NULL},
    {&plan_parallel_rings, "intra=binomial_halving", NULL},
    {&plan_parallel_rings, "intra=recursive_doubling", NULL},
    {&plan_parallel_rings, "intra=sockets", NULL},
    {&plan_parallel_rings, "intra=knomial,k=3", NULL},
    {&plan_parallel_rings, "k=3,intra=knomial", NULL},
    {&plan_knomial, "k=2", NULL},
    {&plan_knomial, "k=1024", NULL},
    {&plan_parallel_rings, "intra=tree", "intra=tree: must be linear, binomial_doubling"},
    {&plan_parallel_rings, "k=3", "goes with intra=knomial"},
    {&plan_parallel_rings, "inner=linear", "'inner': no such key; there is intra, k"},
    {&plan_parallel_rings, "intra=linear,", "last comma"},
    {&plan_parallel_rings, "intra=linear,intra=linear", "twice"},
    {&plan_knomial, "k=1", "k=1: must be a whole number from 2 to 1024"},
    {&plan_knomial, "k=99999999999999999999", "from 2 to 1024"},
    {&plan_knomial, "k=4x", "k=4x: must be"},
    {&plan_knomial, "k=", "k=VALUE"},
    {&plan_knomial, "k", "k=VALUE"},
    {&plan_knomial, "4", "'4': no such key; there is k"},
    {&plan_knomial, "k=(4", "parentheses"},
};

START_TEST(test_variants__recipes_are_served_or_refused_with_the_reason)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct rng r = {seed};
        enum plan_collective c = (enum plan_collective)(seed % COLL_COUNT);

        if (!(recipes[_i].algorithm->collectives & 1u << c))
            continue;
        struct plan_request q = rng_request(&r, c, 14, 100);
        char why[256] = "", text[1024];
        int accepted, built;

        q.recipe = recipes[_i].recipe;
        accepted = recipes[_i].algorithm->accepts(&q, why, sizeof why);
        built = plan_check_algorithm(&q, recipes[_i].algorithm, text, sizeof text);
        if (recipes[_i].why) {
            ck_assert_int_eq(accepted, -22);
            ck_assert_msg(strstr(why, recipes[_i].why) != NULL, "%s", why);
            ck_assert_int_ne(built, 0);
        } else {
            ck_assert_msg(accepted == 0, "%s", why);
            ck_assert_msg(built == 0, "%s, seed %d: %s", q.recipe, (int)seed, text);
        }
        rng_request_free(&q);
    }
}
END_TEST

/* Text for other planners: with commas, colons and parentheses of its own. */
START_TEST(test_recipe__values_keep_what_stands_in_their_parentheses)
{
    static const struct recipe_key keys[] = {{.name = "library"}, {.name = "ring", .most = 9}};
    struct recipe_value value[2] = {{.number = 0}, {.number = 5}};
    char why[128];

    ck_assert_int_eq(
        recipe_read("library=lane(inter=ring,a=b):shm,ring=7", keys, 2, value, why, sizeof why), 0);
    ck_assert_uint_eq(value[0].length, strlen("lane(inter=ring,a=b):shm"));
    ck_assert_int_eq(memcmp(value[0].text, "lane(inter=ring,a=b):shm", value[0].length), 0);
    ck_assert_int_eq(value[1].number, 7);
    ck_assert_int_eq(recipe_read(NULL, keys, 2, value, why, sizeof why), 0);
    ck_assert_ptr_null(value[0].text);
    ck_assert_int_eq(value[1].number, 7);
    ck_assert_int_eq(recipe_read("library=)(", keys, 2, value, NULL, 0), -22);
    ck_assert_int_eq(recipe_read("ring=7", keys, 2, value, why, 1), 0);
    ck_assert_int_eq(recipe_read("rung=7", keys, 2, value, why, 4), -22); /* a line cut short */
    ck_assert_str_eq(why, "'ru");
}
END_TEST

Suite *suite_variants(void)
{
    Suite *s = suite_create("variants");
    TCase *t = tcase_create("variants");

    tcase_add_test(t, test_variants__four_ranks_follow_the_papers_table);
    tcase_add_test(t, test_variants__trees_are_as_deep_as_they_must_be);
    tcase_add_test(t, test_variants__recursive_doubling_sends_one_message_a_step);
    tcase_add_loop_test(t, test_variants__each_byte_crosses_between_two_sockets_once, 0, 2);
    tcase_add_test(t, test_variants__sockets_matter_only_where_their_link_is_slower);
    tcase_add_loop_test(t, test_variants__recipes_are_served_or_refused_with_the_reason, 0,
                        sizeof recipes / sizeof *recipes);
    tcase_add_test(t, test_recipe__values_keep_what_stands_in_their_parentheses);
    suite_add_tcase(s, t);
    return s;
}
