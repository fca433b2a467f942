/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of one node that stands for all: as the whole machine has it, or not at all. */
#include <check.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/choose/registry.h"
#include "planners/model/model.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

#define NEAR 1e-6

/* The way in which all nodes' plans are the same; 0: they are not. */
static unsigned folded_by(const struct topo *t, struct plan *const *plan)
{
    unsigned by = MODEL_FOLD_SHIFTED | MODEL_FOLD_TURNED;

    for (int r = 0; r < t->nranks; r++)
        by &= model_fold_by(t, plan[t->rank[r].local], plan[r]);
    return by;
}

/* Links of node 0 alone have carried what they do among those of all. */
static int check_folded(const char *text, const struct plan_algorithm *a, int c, const char *recipe)
{
    enum { MOST = 32 };
    struct plan *plan[MOST] = {NULL};
    const struct plan *const *all = (const struct plan *const *)plan;
    struct topo *t = test_topo_parse(text);
    struct plan_request q = REQUEST(c, t, 96000, 4096, .recipe = recipe);
    struct model_result whole, one;
    int folded = 0;

    ck_assert(model_fold_suits(t));
    if (!request_plans(q, a, plan) && (folded = (int)folded_by(t, plan))) {
        ck_assert_int_eq(model_run(t, all, &whole), 0);
        ck_assert_msg(!model_run_folded(t, all, (unsigned)folded, &one), "%s %s", a->name, text);
        ck_assert_msg(one.seconds > whole.seconds * (1 - NEAR) &&
                          one.seconds < whole.seconds * (1 + NEAR),
                      "%s of %s on %s, by %d: %g s folded, %g whole", a->name,
                      plan_collective_name(q.collective), text, folded, one.seconds, whole.seconds);
        ck_assert_uint_eq(one.chunks * (uint64_t)t->nnodes, whole.chunks);
        model_free(&whole);
        model_free(&one);
    }
    for (int r = 0; r < t->nranks; r++)
        plan_free(plan[r]);
    topo_free(t);
    return folded;
}

START_TEST(test_model_fold__one_of_nodes_that_are_alike_stands_for_all)
{
    static const char *const machines[] = {
        "node:4 gpu:4 rail:4@10Gbit link_nvlink:50GB/s", "node:5 rank:3 rail:2@10Gbit",
        "node:8 socket:2 gpu:2 rail:4@100Gbit link_socket:20GB/s", "node:4 rank:1 rail:2@10Gbit",
        "node:8 rank:4 rail:4@10Gbit link_flow:3Gbit"};
    int folded[COLL_COUNT] = {0};

    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (int a = 0; a < plan_algorithm_count; a++)
            for (int c = 0; c < COLL_COUNT; c++)
                if (plan_algorithms[a]->collectives & 1u << c && !plan_has_demand(c))
                    folded[c] += check_folded(machines[m], plan_algorithms[a], c, NULL) != 0;
    ck_assert_int_ge(folded[COLL_ALLGATHER], 5);
    ck_assert_int_ge(folded[COLL_REDUCE_SCATTER_BLOCK], 5);
    ck_assert_int_ge(folded[COLL_ALLREDUCE], 5);
    ck_assert_int_ge(folded[COLL_ALLTOALL], 5);
    ck_assert_int_eq(folded[COLL_SCAN], 0);
    ck_assert_int_eq(
        check_folded(machines[0], &plan_lane, COLL_ALLREDUCE, "inter=recursive_doubling"),
        MODEL_FOLD_TURNED);
    /* halves, of which some nodes pass on what arrives last */
    ck_assert_int_eq(check_folded("node:8 rank:1 rail:3@100Gbit", &plan_lane, COLL_ALLREDUCE, NULL),
                     0);
}
END_TEST

Suite *suite_model_fold(void)
{
    Suite *s = suite_create("model_fold");
    TCase *t = tcase_create("model_fold");

    tcase_add_test(t, test_model_fold__one_of_nodes_that_are_alike_stands_for_all);
    suite_add_tcase(s, t);
    return s;
}
