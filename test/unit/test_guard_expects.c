/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard before its first trials: models, near classes, earlier jobs, and first calls, which are
 * cold. The machine is that of guarded.h.
 */
#include <check.h>
#include <math.h>

#include "test/unit/guarded.h"
#include "test/unit/suites.h"

static const struct machine quiet = {.ranks = 3, .reroutes = 3, .native = 1e-3, .rng = {1}};

/* One that is cold again and again is not. */
START_TEST(test_guard_expects__a_cold_start_is_forgiven)
{
    for (int cold = 1; cold <= 64; cold *= 2) {
        struct machine m = quiet;
        m.reroutes = 1;
        m.share[0] = .5;
        m.cold[0] = cold;
        int best = machine_settled_on(&m);
        ck_assert_msg(best == 1, "cold %d: settled on %d", cold, best);
    }
}
END_TEST

/* The next size class begins with the findings of this one. */
START_TEST(test_guard_expects__a_class_learns_from_the_one_beside_it)
{
    struct machine m = quiet;

    m.share[0] = 1.4;
    m.share[1] = .5;
    m.share[2] = 1.5;
    machine_settled_on(&m);
    int ran = m.ran[2];
    for (int i = 0; i < 100; i++)
        machine_call(&m, 2 * MIB);
    ck_assert_int_eq(guard_find(&m.guard[0], COLL_BCAST, 0, 2 * MIB)->best, 2);
    ck_assert_int_ge(m.ran[2] - ran, 95);
}
END_TEST

static int agree_alone(void *context, double *value, int n)
{
    (void)context, (void)value, (void)n;
    return 0;
}

/* A call on a rank alone, of so many seconds by contender. Returns whether it ended a round. */
static int call_alone(struct guard *g, struct guard_entry *e, const double *seconds,
                      guard_agree agree)
{
    int slot;

    if (guard_settled(e))
        return 0;
    int i = guard_pick(g, e, MIB, &slot);
    if (slot == GUARD_UNTIMED)
        return 0;
    guard_note(e, slot, seconds[i]);
    if (!guard_due(e))
        return 0;
    guard_conclude(g, e, agree, NULL);
    return 1;
}

/* Some rows have no model, and others beside them do. */
START_TEST(test_guard_expects__a_row_without_a_model_has_its_trial_beside_others)
{
    struct plan_candidate c[] = {
        {.seconds = INFINITY}, {.seconds = INFINITY}, {.seconds = 1e-3}, {.seconds = 2e-3}};
    struct guard g;

    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_ALLTOALLV, 0, MIB);
    guard_begin(&g, e, MIB, c, 4);
    for (int call = 0; call < 20; call++)
        call_alone(&g, e, (double[]){.19, .05, .19, .19, .19}, agree_alone);
    ck_assert_int_eq(e->best, 1);
}
END_TEST

static double passed, agreeing = 3e-4; /* seconds */

static double clock_now(void)
{
    return passed;
}

static int agree_slowly(void *context, double *value, int n)
{
    (void)context, (void)value, (void)n;
    passed += agreeing;
    return 0;
}

/* An agreement that takes a third of a call is not made after 4 calls, and after 8 more. */
START_TEST(test_guard_expects__looks_are_rare_where_agreements_are_slow)
{
    struct plan_candidate c = {.seconds = 1};
    struct guard g;
    int looks = 0;

    guard_open(&g, 0, clock_now);
    struct guard_entry *e = guard_find(&g, COLL_ALLREDUCE, 0, MIB);
    guard_begin(&g, e, MIB, &c, 1);
    for (int call = 0; call < 400; call++)
        if (call_alone(&g, e, (double[]){1e-3, 3e-3}, agree_slowly) && e->look.left) {
            ck_assert_uint_ge(e->look.left, 15);
            looks++;
        }
    ck_assert_int_ge(looks, 3);
}
END_TEST

/* Calls through the guard, which take a microsecond by the library and by a reroute, and an
   agreement so many of them. Returns the agreements in that many calls. */
static int agreements(struct guard *g, double times, int calls)
{
    struct plan_candidate c = {.seconds = 1};
    int n = 0;

    agreeing = 1e-6 * times;
    guard_open(g, 0, clock_now);
    struct guard_entry *e = guard_find(g, COLL_ALLREDUCE, 0, MIB);
    guard_begin(g, e, MIB, &c, 1);
    for (int call = 0; call < calls; call++)
        n += call_alone(g, e, (double[]){1e-6, 1e-6}, agree_slowly);
    agreeing = 3e-4;
    return n;
}

/* One agreement is held up for as long as a thousand calls. */
START_TEST(test_guard_expects__an_agreement_that_is_held_up_decides_nothing)
{
    struct plan_candidate one = {.seconds = 1};
    struct guard g;
    int n = 0;

    guard_open(&g, 0, clock_now);
    struct guard_entry *e = guard_find(&g, COLL_ALLREDUCE, 0, MIB);
    guard_begin(&g, e, MIB, &one, 1);
    for (int call = 0; call < 2000; call++) {
        agreeing = n == 2 ? 1 : 1e-4;
        n += call_alone(&g, e, (double[]){1e-3, 5e-4}, agree_slowly);
    }
    agreeing = 3e-4;
    ck_assert_int_eq(e->best, 1);
    ck_assert_int_gt(n, 5);
    ck_assert_double_lt(e->cost.agreeing, .5);
}
END_TEST

/* An agreement may take longer than many calls. Then looks are rarer. */
START_TEST(test_guard_expects__calls_that_are_shorter_than_agreements_are_rarely_looked_at)
{
    struct guard g;
    int n = agreements(&g, 15.5, 200000);

    ck_assert_int_gt(n, 8);
    ck_assert_double_lt(n * 15.5, 200000 / 50); /* looks take a percent, and the first rounds */
    n = agreements(&g, 40, 100000);
    ck_assert_int_gt(n, 8);
    ck_assert_int_lt(n * 40, 100000 / 25);
}
END_TEST

/* The job begins settled, with hardly a trial; where the machine is another one, it finds out. */
START_TEST(test_guard_expects__an_earlier_job_is_believed_until_it_is_wrong)
{
    for (int change = 0; change < 2; change++)
        for (int best = 0; best < 2; best++) {
            struct machine m = quiet;
            double share = best ? .6 : 1.6, now = change ? 1 / share : share;
            m.reroutes = 1;
            m.noise = .05;
            m.recalled[1] = (struct estimate){log(share), .03};
            m.share[0] = now;
            machine_call(&m, MIB);
            ck_assert_int_eq(machine_entry(&m)->best, best);
            machine_calls(&m, 200);
            ck_assert_int_ge(m.ran[best], change ? 4 : 195);
            machine_calls(&m, 3800);
            int right = change ? !best : best;
            ck_assert_msg(machine_entry(&m)->best == right, "recalled %g, now %g: %d", share, now,
                          machine_entry(&m)->best);
            ck_assert_int_ge(m.ran[right], change ? 3000 : 3950);
        }
}
END_TEST

Suite *suite_guard_expects(void)
{
    Suite *s = suite_create("guard_expects");
    TCase *t = tcase_create("trials");

    tcase_add_test(t, test_guard_expects__a_cold_start_is_forgiven);
    tcase_add_test(t, test_guard_expects__a_class_learns_from_the_one_beside_it);
    tcase_add_test(t, test_guard_expects__a_row_without_a_model_has_its_trial_beside_others);
    tcase_add_test(t, test_guard_expects__looks_are_rare_where_agreements_are_slow);
    tcase_add_test(t, test_guard_expects__an_agreement_that_is_held_up_decides_nothing);
    tcase_add_test(t,
                   test_guard_expects__calls_that_are_shorter_than_agreements_are_rarely_looked_at);
    tcase_add_test(t, test_guard_expects__an_earlier_job_is_believed_until_it_is_wrong);
    suite_add_tcase(s, t);
    return s;
}
