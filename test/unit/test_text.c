/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compositions as text: HiCCL's table II and random trees over sparse ranks, on random shapes and
 * machines, through the checker at sizes other than those of the proof; and what is said of wrong
 * ones.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/compose/text.h"
#include "planners/check/check.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"

enum { TEXT = 16384, RANKS = 20 };

/* INT64_MIN */
#define LEAST "0 - 67108864*67108864*1024 - 67108864*67108864*1024"

/* A text that grows. */
struct page {
    char text[TEXT];
    size_t n;
};

static void __attribute__((format(printf, 2, 3))) put(struct page *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    p->n += (size_t)vsnprintf(p->text + p->n, TEXT - p->n, format, arguments);
    va_end(arguments);
    must(p->n < TEXT, "the page is full");
}

/* Texts stay until the process ends, and there may be 64: each is proved in a process of its own,
   where Check forks, or the oldest names serve again. */
static int serves(struct plan_request *q, const char *text, char *recipe, char *why, size_t size)
{
    int rc = text_keep("a.text", text, strlen(text), NULL, recipe, 64, why, size);

    q->recipe = recipe;
    return rc ? rc : plan_text.accepts(q, why, size);
}

/* A machine that may suit the shape. */
static void put_machine(struct page *p, struct rng *r, const struct topo *t)
{
    int d = 1 + (int)rng_below(r, (uint32_t)t->nranks);
    char hierarchy[64] = "hierarchy=";

    if (t->nranks % d)
        snprintf(hierarchy, sizeof hierarchy, "ring=1");
    else if (rng_below(r, 2) && t->nranks / d % 2 == 0)
        snprintf(hierarchy, sizeof hierarchy, "ring=1, hierarchy=%d:2:%d", d, t->nranks / d / 2);
    else if (rng_below(r, 2))
        snprintf(hierarchy, sizeof hierarchy, "hierarchy=%d:%d", d, t->nranks / d);
    else
        snprintf(hierarchy, sizeof hierarchy, "ring=%d", t->nnodes);
    put(p, "machine(%s, stripe=%u, pipeline=%u)\n", hierarchy, 1 + rng_below(r, 4),
        1 + rng_below(r, 4));
}

/* A random tree: the rank that each one gets its part from, and after which step it has it. */
struct tree {
    int from[RANKS], step[RANKS], steps;
};

static void grow(struct tree *t, struct rng *r, int nranks, int root)
{
    int left = nranks - 1;

    for (int i = 0; i < nranks; i++)
        t->step[i] = i == root ? 0 : -1;
    for (t->steps = 0; left; t->steps++)
        for (int i = 0; i < nranks; i++) {
            int from = (int)rng_below(r, (uint32_t)nranks);

            if (t->step[i] < 0 && t->step[from] >= 0 && t->step[from] <= t->steps &&
                rng_below(r, 2)) {
                t->from[i] = from;
                t->step[i] = t->steps + 1;
                left--;
            }
        }
}

/* The step's primitives on blocks first ... last. */
static void put_step(struct page *p, const struct tree *t, int nranks, int step, int reduces,
                     int first, int last)
{
    for (int root = 0; root < nranks; root++) {
        int any = 0;

        for (int i = 0; i < nranks; i++)
            any |= t->step[i] == step && t->from[i] == root;
        if (!any)
            continue;
        put(p, reduces ? "reduction(%d" : "multicast(%d; ", root);
        for (int i = 0, n = 0; i < nranks; i++)
            if (t->step[i] == step && t->from[i] == root)
                put(p, reduces || n++ ? ",%d" : "%d", i);
        if (reduces)
            put(p, "; %d", root);
        put(p, "; block %d..%d%s)\n", first, last, reduces ? "; op" : "");
    }
}

/* Random trees: up to a root, down from it, or both, apart for two parts of the vector. */
static void put_trees(struct page *p, struct rng *r, const struct plan_request *q)
{
    int n = q->topo->nranks, cut = n > 1 ? 1 + (int)rng_below(r, (uint32_t)n - 1) : 1;
    int parts = cut < n ? 2 : 1, up = q->collective != COLL_BCAST,
        down = q->collective != COLL_REDUCE;

    for (int part = 0; part < parts; part++) {
        int first = part ? cut : 0, last = part || parts < 2 ? n - 1 : cut - 1;
        int root = q->collective == COLL_ALLREDUCE ? (int)rng_below(r, (uint32_t)n) : q->root;
        struct tree t;

        grow(&t, r, n, root);
        for (int step = t.steps; up && step > 0; step--) {
            put_step(p, &t, n, step, 1, first, last);
            put(p, "fence\n");
        }
        if (up && n == 1)
            put(p, "reduction(0; 0; op)\n");
        grow(&t, r, n, root);
        for (int step = 1; down && step <= t.steps; step++) {
            put_step(p, &t, n, step, 0, first, last);
            put(p, "fence\n");
        }
    }
}

static void check_trees(enum plan_collective c, uint64_t seed, int *served)
{
    struct rng r = {seed * 7919 + (uint64_t)c};
    struct plan_request q = rng_request(&r, c, 12, 120);
    struct page p = {.n = 0};
    char recipe[64], why[256] = "", text[1024];

    put_machine(&p, &r, q.topo);
    put_trees(&p, &r, &q);
    int rc = serves(&q, p.text, recipe, why, sizeof why);
    int suits = !strstr(why, "machine(") && !strstr(why, "64 texts");
    must(!rc || !suits, "seed %llu, %s\n%s%s", (unsigned long long)seed, rng_request_text(&q, text),
         p.text, why);
    if (!rc) {
        (*served)++;
        rc = plan_check_algorithm(&q, &plan_text, why, sizeof why);
        must(!rc, "seed %llu, %s\n%s%s", (unsigned long long)seed, rng_request_text(&q, text),
             p.text, why);
    }
    rng_request_free(&q);
}

/* In groups, because a process keeps few texts. */
START_TEST(test_text__random_trees_over_sparse_ranks_pass_the_checker)
{
    static const enum plan_collective of[] = {COLL_BCAST, COLL_REDUCE, COLL_ALLREDUCE};
    int served = 0;

    for (uint64_t seed = 1; seed <= 60; seed++)
        check_trees(of[_i % 3], seed + 1000 * (uint64_t)_i, &served);
    ck_assert_int_ge(served, 20);
}
END_TEST

/* HiCCL's table II, and more than one step through blocks of scratch. */
static const struct {
    enum plan_collective c;
    const char *text;
} table[] = {
    {COLL_BCAST, "multicast(root; others)"},
    {COLL_BCAST, "for i in all { multicast(root; i; block i) } fence "
                 "for i in all { multicast(i; others; block i) }"},
    {COLL_REDUCE, "reduction(all; root; op)"},
    {COLL_REDUCE, "for i in all { reduction(all; i; block i; op) } fence "
                  "for i in all { multicast(i; root; block i) }"},
    {COLL_GATHER, "for i in all { multicast(i; root; block i) }"},
    {COLL_GATHERV, "for i in all { multicast(i; root; block i) }"},
    {COLL_SCATTER, "for i in all { multicast(root; i; block i) }"},
    {COLL_SCATTERV, "for i in all { multicast(root; i; block i) }"},
    {COLL_ALLGATHER, "for i in all { multicast(i; all; block i) }"},
    {COLL_ALLGATHERV, "for i in all { multicast(i; root; block i) } fence "
                      "multicast(root; others)"},
    {COLL_REDUCE_SCATTER, "for i in all { reduction(all; i; block i; op) }"},
    {COLL_REDUCE_SCATTER_BLOCK, "reduction(all; p-1; op) fence "
                                "for i in all { multicast(p-1; i; block i) }"},
    {COLL_ALLREDUCE, "for i in all { reduction(all; i; block i; op) } fence "
                     "for i in all { multicast(i; all; block i) }"},
    {COLL_ALLREDUCE, "reduction(all; p/2; op) fence multicast(p/2; others)"},
    {COLL_ALLREDUCE, "for n in 0..nodes-1 { reduction(on(n); rank(n,0); op) } fence "
                     "for n in 1..nodes-1 { reduction(rank(0,0), rank(n,0); rank(0,0); op) fence }"
                     "multicast(rank(0,0); others)"},
    {COLL_ALLTOALL, "for i in all { for j in all { multicast(i; j; block j -> block i) } }"},
    {COLL_ALLTOALL, "for i in all { for j in all { multicast(i; (i+j)%p; "
                    "block (i+j)%p -> block p+i) } } fence "
                    "for j in all { multicast(j; j; block p..2*p-1 -> whole) }"},
};

START_TEST(test_text__table_II_serves_all_sizes_and_places)
{
    char recipe[64], why[256], shape[1024];

    for (uint64_t seed = 1; seed <= rng_seeds(200); seed++) {
        struct rng r = {seed * 7919 + (uint64_t)_i};
        struct plan_request q = rng_request(&r, table[_i].c, 12, 120);

        ck_assert_msg(!serves(&q, table[_i].text, recipe, why, sizeof why), "%s", why);
        int rc = plan_check_algorithm(&q, &plan_text, why, sizeof why);
        ck_assert_msg(!rc, "seed %llu, %s: %s: %s", (unsigned long long)seed,
                      rng_request_text(&q, shape), table[_i].text, why);
        rng_request_free(&q);
    }
}
END_TEST

/* A root that is also where a stripe would go; an input that others overwrite in the same step. */
START_TEST(test_text__a_rank_with_two_parts_does_both)
{
    static const struct {
        enum plan_collective c;
        const char *text;
    } both[] = {
        {COLL_REDUCE, "machine(hierarchy=2:2:2, ring=1, stripe=4)"
                      "reduction(0,1; 0; op) fence reduction(0,2..7; 0; op)"},
        {COLL_ALLREDUCE, "reduction(all; 1; whole -> block p..2*p-1; op) multicast(1; 0) fence"
                         "  multicast(1; all; block p..2*p-1 -> whole)"},
        {COLL_ALLREDUCE, "multicast(1; 0) reduction(all; 1; whole -> block p..2*p-1; op) fence"
                         "  multicast(1; all; block p..2*p-1 -> whole)"},
    };
    char why[256], recipe[64];
    struct topo *t;

    ck_assert_int_eq(topo_parse("rank:8", 0, &t, why, sizeof why), 0);
    for (int i = 0; i < 3; i++) {
        struct plan_request q = REQUEST(both[i].c, t, 64, 16);

        ck_assert_msg(!serves(&q, both[i].text, recipe, why, sizeof why), "%s", why);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_text__a_wrong_text_is_told_where_and_what_is_right)
{
    static const struct {
        enum plan_collective c;
        const char *text, *said;
    } wrong[] = {
        {COLL_BCAST, "multicast(0; 1)\nmulticast(1; 0)",
         "a.text:2:1: rank 0 gets, and in the same step reads, block 0 (line 1)"},
        {COLL_BCAST, "multicast(0; 1,2)", "it is no bcast: rank 3: output byte 0"},
        {COLL_BCAST, "multicast(0; others)\n\n multicast(0; 3)",
         "a.text:3:2: rank 3 gets twice in one step block 0 (line 1)"},
        {COLL_BCAST, "multicast(1; others)", "rank 1 sends what it does not have"},
        {COLL_BCAST, "multicast(0; 1..4)", "a.text:1:17: rank 4; there are 0 to 3"},
        {COLL_BCAST, "multicast(0; 1, 1)", "rank 1 stands there twice"},
        {COLL_BCAST, "multicast(0; others; block 3..2)", "blocks 3 to 2 are none"},
        {COLL_BCAST, "multicast(0; others; block 1/0)", "division by 0"},
        {COLL_BCAST, "multicast((" LEAST ") / (0-1); others)", "the value is too large"},
        {COLL_BCAST, "multicast((" LEAST ") % (0-1); 4)", "rank 4; there are 0 to 3"},
        {COLL_BCAST, "multicast(0; others", "a.text:1:20: the end; expected ')'"},
        {COLL_BCAST, "send(0; 1)", "'send'; expected machine"},
        {COLL_BCAST, "multicast(q; others)", "no value 'q'; there is p"},
        {COLL_BCAST, "machine(stripe=9)", "a.text:1:1: machine(stripe=9): stripe=9"},
        {COLL_BCAST, "machine(steps=multi)", "leave steps= out"},
        {COLL_BCAST, "for i in 0..9999999 { for j in 0..9999999 { } }", "take too long"},
        {COLL_BCAST, "for i in 0..999999 { multicast(0; others) }", "primitives"},
        {COLL_BCAST, "@", "no meaning"},
        {COLL_REDUCE, "reduction(all; 0; sum)", "op stands for it"},
        {COLL_REDUCE, "reduction(0..2; 0; op)", "it is no reduce"},
        {COLL_REDUCE, "reduction(all; 0; op) fence reduction(all; 0; op)", "it is no reduce"},
        {COLL_ALLREDUCE, "machine(hierarchy=4, ring=4) for i in all { reduction(all; i; op) }",
         "is combined in another order than on rank 0"},
        {COLL_ALLREDUCE,
         "machine(hierarchy=4, ring=4) for i in all { reduction(all; i; whole -> block p..2*p-1; "
         "op) } fence for i in all { multicast(i; i; block p..2*p-1 -> whole) }",
         "is combined in another order than on rank 0"},
        {COLL_ALLGATHER, "for i in all { multicast(i; others; block i) }",
         "it is no allgather: rank 0: output byte 0 is never written"},
        {COLL_ALLTOALL, "for i in all { multicast(i; all; block i) }", "it is no alltoall"},
    };
    struct topo *t;
    char why[256], recipe[64];

    ck_assert_int_eq(topo_parse("node:2 rank:2", 0, &t, why, sizeof why), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct plan_request q = REQUEST(wrong[i].c, t, 64, 16);

        why[0] = 0;
        ck_assert_int_eq(serves(&q, wrong[i].text, recipe, why, sizeof why), -EINVAL);
        ck_assert_msg(strstr(why, wrong[i].said), "%s: '%s', not '%s'", wrong[i].text, why,
                      wrong[i].said);
    }
    topo_free(t);
}
END_TEST

/* The proof has blocks of one size. Behind a move between blocks of other sizes, what it knows of
   each block is wrong, even if the sum is the same. */
START_TEST(test_text__blocks_move_to_blocks_of_their_own_size)
{
    static const char swap[] = "multicast(0; 0; block p..p+1 -> block p+2..p+3) fence "
                               "multicast(0; 0; block p+2 -> block p+1) "
                               "multicast(0; 0; block p+3 -> block p) fence ";
    size_t bytes[] = {1, 3, 3, 1};
    char text[1024], recipe[64], why[256];
    struct plan *p = NULL;
    struct topo *t;

    snprintf(text, sizeof text,
             "for i in all { multicast(i; 0; block i -> block p+i) } fence "
             "multicast(0; 0; block p+2..p+3 -> block 2..3) fence %s%s"
             "multicast(0; 0; block p..p+1 -> block 0..1) fence multicast(0; others)",
             swap, swap);
    ck_assert_int_eq(topo_parse("rank:4", 0, &t, why, sizeof why), 0);
    struct plan_request q = REQUEST(COLL_ALLGATHERV, t, 8, 16);
    ck_assert_msg(!serves(&q, text, recipe, why, sizeof why), "%s", why);
    q.bytes = bytes;
    ck_assert_int_eq(plan_text.build(&q, &p), -ENOTSUP);
    topo_free(t);
}
END_TEST

/* A text that may not be proved serves nothing, and is refused at once. */
START_TEST(test_text__too_many_ranks_are_refused)
{
    static const char *const text[] = {"for i in all { multicast(i; all; block i) }",
                                       "multicast(0; others)"};
    char why[256], recipe[64];
    struct topo *t;

    ck_assert_int_eq(topo_parse("node:1000 rank:100", 0, &t, why, sizeof why), 0);
    for (int i = 0; i < 2; i++) {
        struct plan_request q = REQUEST(i ? COLL_BCAST : COLL_ALLGATHER, t, 64, 16);
        struct plan *p;

        ck_assert_int_eq(serves(&q, text[i], recipe, why, sizeof why), -EINVAL);
        ck_assert_int_eq(plan_text.build(&q, &p), -ENOTSUP);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_text__a_hash_names_what_was_read)
{
    static const char text[] = "multicast(root; others)";
    char recipe[64], again[64], why[256];
    const char *hash;

    ck_assert_int_eq(text_keep("b", text, sizeof text - 1, NULL, recipe, 64, why, 256), 0);
    hash = strchr(recipe, '@') + 1;
    ck_assert_int_eq(text_keep("b", text, sizeof text - 1, hash, again, 64, why, 256), 0);
    ck_assert_str_eq(recipe, again);
    ck_assert_int_eq(text_keep("b", text, 4, hash, again, 64, why, 256), -EINVAL);
}
END_TEST

Suite *suite_text(void)
{
    Suite *s = suite_create("text");
    TCase *t = tcase_create("text");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_text__random_trees_over_sparse_ranks_pass_the_checker, 0,
                        (int)rng_seeds(60));
    tcase_add_loop_test(t, test_text__table_II_serves_all_sizes_and_places, 0,
                        (int)(sizeof table / sizeof *table));
    tcase_add_test(t, test_text__a_rank_with_two_parts_does_both);
    tcase_add_test(t, test_text__a_wrong_text_is_told_where_and_what_is_right);
    tcase_add_test(t, test_text__blocks_move_to_blocks_of_their_own_size);
    tcase_add_test(t, test_text__too_many_ranks_are_refused);
    tcase_add_test(t, test_text__a_hash_names_what_was_read);
    suite_add_tcase(s, t);
    return s;
}
