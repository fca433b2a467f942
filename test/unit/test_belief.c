/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of a sample of one contender on the others, and the next trial. */
#include <check.h>
#include <math.h>

#include "planners/variants.h"
#include "shim/decide/worth.h"
#include "test/unit/suites.h"

enum { CONTENDERS = 5 };
static const uint8_t two_kinds[CONTENDERS] = {BELIEF_CHOICE, BELIEF_OURS, BELIEF_OURS,
                                              BELIEF_LIBRARY, BELIEF_LIBRARY};
static const double all_alike_but_for_one[CONTENDERS] = {0, 0, .1, .2, .3};

/* A round of the library's choice and contender i, which takes so many times as long. */
static struct belief learned(int i, double times)
{
    const int to[EVIDENCE_ARMS] = {0, 1, 2, 3, 4, -1, -1, -1};
    struct samples s = {.rounds = 1, .in = {(uint8_t)(1u << i | 1)}};
    struct belief b;

    belief_begin(&b, all_alike_but_for_one, two_kinds, CONTENDERS);
    for (int k = 0; k < EVIDENCE_ARMS; k++)
        s.variance[k] = .01;
    s.log[0][i] = log(times);
    belief_learn(&b, &s, to);
    return b;
}

START_TEST(test_belief__an_error_is_shared_by_its_kind_alone)
{
    for (int i = 1; i < CONTENDERS; i++) {
        struct belief b = learned(i, 9), before;

        belief_begin(&before, all_alike_but_for_one, two_kinds, CONTENDERS);
        for (int k = 1; k < CONTENDERS; k++) {
            double moved = belief_compare(&b, k, 0).mean - belief_compare(&before, k, 0).mean;

            if (k == i)
                ck_assert_double_gt(moved, log(9) - .6);
            else if (two_kinds[k] == two_kinds[i])
                ck_assert_msg(moved > .6, "%d is slow: %d moves by %g", i, k, moved);
            else
                ck_assert_msg(fabs(moved) < .01, "%d is slow: %d moves by %g", i, k, moved);
        }
    }
}
END_TEST

static int agreed_by_all(void *context, double *value, int n)
{
    (void)context;
    (void)value;
    return n > 0 ? 0 : -1;
}

/* A candidate that took so many times as long as the fastest in a class of 64 KiB. */
static int climbs(double times, uint64_t total, const struct plan_candidate *c)
{
    static struct guard g;
    static const struct plan_algorithm row;

    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, 65536);
    e->n = 3;
    e->reroute[0] = (struct plan_candidate){.algorithm = &row, .ppg = 1};
    e->reroute[1] = (struct plan_candidate){.algorithm = plan_algorithms[0], .ppg = 1};
    e->found[1] = (struct estimate){log(times) - .5, .1};
    e->found[2] = (struct estimate){-.5, .1};
    e->best = 2;
    e->verdict.known = 1;
    return worth_climbing(&g, COLL_BCAST, 0, total, c ? c : &e->reroute[0], 2);
}

START_TEST(test_belief__trials_climb_from_class_to_class)
{
    const struct plan_candidate other = {.algorithm = plan_algorithms[1], .ppg = 1};

    ck_assert(climbs(1.9, 131072, NULL));
    ck_assert(climbs(1.9, 1 << 20, NULL));
    ck_assert(!climbs(1.9, 1 << 21, NULL)); /* too far away */
    ck_assert(!climbs(1.9, 65536, NULL));   /* its own class is no smaller one */
    ck_assert(!climbs(1.9, 32768, NULL));
    ck_assert(!climbs(2.1, 131072, NULL)); /* too slow there */
    ck_assert(!climbs(1, 131072, &other)); /* never tried */
}
END_TEST

/* Trials of a variant beside one of ours in so many calls; an agreement takes that share of one. */
static int variants_tried(double agreeing, int calls)
{
    static struct guard g;
    static const struct plan_algorithm row;
    struct plan_candidate c[] = {{.algorithm = &row, .seconds = 1e-3, .ppg = 1},
                                 {.algorithm = &plan_variants[0].row, .seconds = 9e-4, .ppg = 1}};
    int slot;

    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, 65536);
    guard_begin(&g, e, 65536, c, 2, 1);
    e->agreeing = agreeing;
    for (int i = 0; i < calls; i++) {
        if (guard_settled(e))
            continue;
        int contender = guard_pick(&g, e, 65536, &slot);
        if (slot != GUARD_UNTIMED)
            guard_note(e, slot, contender == 1 ? .9e-3 : 1e-3, 0);
        if (guard_due(e)) {
            guard_conclude(&g, e, agreed_by_all, NULL);
            e->agreeing = agreeing;
        }
    }
    return e->evidence.tries[2];
}

START_TEST(test_belief__a_variant_that_is_dear_to_get_ready_waits)
{
    ck_assert_int_gt(variants_tried(.01, 20), 0);
    ck_assert_int_eq(variants_tried(.1, 150), 0); /* its communicator takes 10 agreements */
    ck_assert_int_gt(variants_tried(.1, 600), 0);
}
END_TEST

Suite *suite_belief(void)
{
    Suite *s = suite_create("belief");
    TCase *t = tcase_create("kinds");

    tcase_add_test(t, test_belief__an_error_is_shared_by_its_kind_alone);
    tcase_add_test(t, test_belief__trials_climb_from_class_to_class);
    tcase_add_test(t, test_belief__a_variant_that_is_dear_to_get_ready_waits);
    suite_add_tcase(s, t);
    return s;
}
