/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule that NCCL calls try: the fastest by its rounds, one for a size class, on all ranks.
 */
#include <check.h>
#include <stdlib.h>

#include "planners/rounds/pace.h"
#include "planners/rounds/pick.h"
#include "test/unit/suites.h"

#define FOUR_RAILS "node:2 gpu:4 rail:4@25GB/s link_nvlink:300GB/s"
#define ONE_RAIL "node:4 gpu:4 rail:1@25GB/s link_nvlink:300GB/s"

static const enum plan_collective collectives[] = {
    COLL_ALLREDUCE, COLL_ALLGATHER, COLL_REDUCE_SCATTER_BLOCK, COLL_BCAST, COLL_REDUCE};
enum { COLLECTIVES = sizeof collectives / sizeof collectives[0] };

static struct topo *topology(const char *text)
{
    struct topo *t = NULL;
    char why[256];

    ck_assert_msg(topo_parse(text, 0, &t, why, sizeof why) == 0, "%s: %s", text, why);
    return t;
}

static struct plan_request request(const struct topo *t, enum plan_collective c, uint64_t total)
{
    struct plan_request q = {.collective = c, .topo = t, .grain = 4, .nbytes = 1};

    q.nbytes = (size_t)(total / plan_total_bytes(&q)) / 16 * 16;
    q.in_place = c == COLL_ALLREDUCE;
    return q;
}

static double seconds(struct plan_request q, const struct plan_candidate *row)
{
    struct rounds *r;
    double s;

    q.recipe = row->recipe;
    ck_assert_int_eq(pace_rounds(&q, row->algorithm, NULL, &r), 0);
    s = r->seconds;
    rounds_free(r);
    return s;
}

/* Powers of 2, which stand for their classes. Returns how often the planners' first was not it. */
static int look(const char *text)
{
    struct topo *t = topology(text);
    struct picks picks = {.n = 0};
    int others = 0;

    for (int k = 0; k < COLLECTIVES; k++)
        for (uint64_t total = 1 << 20; total <= 16 << 20; total *= 4) {
            struct plan_request q = request(t, collectives[k], total);
            struct plan_candidate row[PLAN_CANDIDATES], way;
            int n = plan_candidates(&q, row, PLAN_CANDIDATES);

            ck_assert_int_gt(n, 0);
            way = row[0];
            pick_row(&picks, &q, 1, &way);
            for (int i = 0; i < n; i++)
                ck_assert_msg(seconds(q, &way) <= seconds(q, &row[i]), "%s, %s of %zu: not %s",
                              text, plan_collective_name(q.collective), q.nbytes,
                              way.algorithm->name);
            others += way.algorithm != row[0].algorithm;
        }
    topo_free(t);
    return others;
}

START_TEST(test_pick__no_candidate_has_faster_rounds)
{
    ck_assert_int_gt(look(FOUR_RAILS), 0);
    ck_assert_int_gt(look(ONE_RAIL), 0);
}
END_TEST

/* With any first request of the class, and after anything was forgotten. */
START_TEST(test_pick__one_answer_for_a_class_on_all_ranks)
{
    struct topo *t = topology(FOUR_RAILS);
    struct picks here = {.n = 0}, there = {.n = 0};

    for (int k = 0; k < COLLECTIVES; k++)
        for (uint64_t total = 1 << 18; total <= 16 << 20; total *= 8) {
            struct plan_request q = request(t, collectives[k], total),
                                p = request(t, collectives[k], total + total / 2);
            struct plan_candidate a[2], b[2];

            p.rank = p.root = 7;
            ck_assert_int_gt(plan_candidates(&q, a, 1), 0);
            a[1] = b[0] = b[1] = a[0];
            pick_row(&here, &q, 1, &a[0]);
            pick_row(&here, &p, 1, &a[1]);
            pick_row(&there, &p, 1, &b[0]);
            pick_row(&there, &q, 1, &b[1]);
            for (int i = 0; i < 2; i++)
                ck_assert(a[i].algorithm == b[0].algorithm && a[i].recipe == b[0].recipe &&
                          b[1].algorithm == b[0].algorithm && b[1].recipe == b[0].recipe);
        }
    topo_free(t);
}
END_TEST

START_TEST(test_pick__many_ranks_keep_what_is_predicted)
{
    struct topo *t = topology("node:9 gpu:8");
    struct plan_request q = request(t, COLL_BCAST, 64 << 20);
    struct plan_candidate way = {.algorithm = plan_algorithm_find(COLL_BCAST, "linear")};
    struct picks picks = {.n = 0};

    pick_row(&picks, &q, 1, &way);
    ck_assert_str_eq(way.algorithm->name, "linear");
    topo_free(t);
}
END_TEST

Suite *suite_pick(void)
{
    Suite *s = suite_create("pick");
    TCase *t = tcase_create("rows");

    tcase_add_test(t, test_pick__no_candidate_has_faster_rounds);
    tcase_add_test(t, test_pick__one_answer_for_a_class_on_all_ranks);
    tcase_add_test(t, test_pick__many_ranks_keep_what_is_predicted);
    suite_add_tcase(s, t);
    return s;
}
