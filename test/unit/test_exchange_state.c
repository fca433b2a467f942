/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of an exchange as a machine: calls with an invented demand. Wanted: skew is found and
 * kept, little is asked where there is none, and demands that change do not make it oscillate.
 */
#include <check.h>

#include "shim/decide/choose/exchange_state.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

/* The kind of a call. */
struct demand_of {
    int small, slower; /* too small to be looked at; measured slower where it is rerouted */
    double balanced;   /* congestion, of 1 when direct */
};

struct tally {
    struct exchange_state w;
    int calls, passed, asked, exchanged, rerouted, predicted, changes;
    int last_change, closest; /* call number; fewest calls between two changes */
};

/* One call, as alltoallv.c takes it. */
static void one_call(struct tally *t, struct demand_of d)
{
    int was = t->w.active;
    enum exchange_action action = exchange_next(&t->w);

    t->calls++;
    t->passed += action == EXCHANGE_PASS;
    t->asked += action == EXCHANGE_ASK;
    t->exchanged += action == EXCHANGE_TELL || (action == EXCHANGE_ASK && !d.small);
    if (action != EXCHANGE_PASS) {
        int now = !d.small;

        if (d.small) {
            exchange_was_vain(&t->w);
        } else if (exchange_wants_prediction(&t->w)) {
            t->predicted++;
            now = exchange_predicted(&t->w, 1, d.balanced);
        }
        if (now && d.slower)
            exchange_was_slower(&t->w);
        t->rerouted += now && !d.slower;
    }
    if (t->w.active != was) {
        int since = t->calls - t->last_change;

        if (t->changes++ && since < t->closest)
            t->closest = since;
        t->last_change = t->calls;
    }
}

static struct tally fresh(void)
{
    return (struct tally){.closest = 1 << 30};
}

START_TEST(test_exchange_state__skew_is_found_at_once_and_kept)
{
    struct tally t = fresh();

    for (int i = 0; i < 1000; i++)
        one_call(&t, (struct demand_of){.balanced = .5});
    ck_assert_int_eq(t.rerouted, 1000);
    ck_assert_int_eq(t.asked, 1);
    ck_assert_int_eq(t.changes, 1);
    ck_assert_int_eq(t.predicted, 1000 / EXCHANGE_PERIOD);
}
END_TEST

/* Questions after 0, 1, 2, 4 ... 64 calls in between. */
START_TEST(test_exchange_state__small_or_balanced_calls_are_asked_about_rarely)
{
    for (int small = 0; small < 2; small++) {
        struct tally t = fresh();

        for (int i = 0; i < 7 + 127 + 65 * 10; i++)
            one_call(&t, (struct demand_of){.small = small, .balanced = .95});
        ck_assert_int_eq(t.asked, 7 + 1 + 9);
        ck_assert_int_eq(t.exchanged, small ? 0 : t.asked);
        ck_assert_int_eq(t.rerouted, 0);
        ck_assert_int_eq(t.changes, 0);
    }
}
END_TEST

START_TEST(test_exchange_state__a_question_stands_for_the_calls_that_passed)
{
    struct tally t = fresh();
    int told = 0;

    for (int i = 0; i < 400; i++) {
        int passed = t.passed, asked = t.asked;
        uint32_t before = t.w.wait ? 0 : exchange_passed(&t.w);

        one_call(&t, (struct demand_of){.small = 1});
        told += t.asked > asked ? (int)before : 0;
        if (t.asked > asked)
            ck_assert_int_eq(told, passed);
    }
    ck_assert_int_gt(told, 300);
}
END_TEST

START_TEST(test_exchange_state__skew_that_comes_later_is_found_within_the_longest_wait)
{
    struct tally t = fresh();
    int before;

    for (int i = 0; i < 5000; i++)
        one_call(&t, (struct demand_of){.small = 1});
    for (before = 0; !t.rerouted; before++)
        one_call(&t, (struct demand_of){.balanced = .7});
    ck_assert_int_le(before, EXCHANGE_MOST_WAIT + 1);
}
END_TEST

START_TEST(test_exchange_state__between_the_margins_nothing_changes)
{
    struct tally idle = fresh(), busy = fresh();

    one_call(&busy, (struct demand_of){.balanced = .5});
    for (int i = 0; i < 500; i++) {
        one_call(&idle, (struct demand_of){.balanced = .93});
        one_call(&busy, (struct demand_of){.balanced = .93});
    }
    ck_assert_int_eq(idle.changes, 0);
    ck_assert_int_eq(busy.changes, 1);
    ck_assert_int_eq(busy.rerouted, 501);
}
END_TEST

START_TEST(test_exchange_state__skew_that_ends_is_left_at_the_end_of_a_window)
{
    struct tally t = fresh();

    for (int i = 0; i < 3 * EXCHANGE_PERIOD; i++)
        one_call(&t, (struct demand_of){.balanced = .5});
    ck_assert_int_eq(t.w.active, 1);
    int more = 0;
    for (; t.w.active; more++)
        one_call(&t, (struct demand_of){.balanced = 1});
    ck_assert_int_le(more, EXCHANGE_PERIOD);
    ck_assert_int_eq(t.w.wait, EXCHANGE_PERIOD);
}
END_TEST

/* Skew or none at random, small calls between, and some programs to whom reroutes are slower. */
START_TEST(test_exchange_state__changing_demands_do_not_oscillate)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = {seed * 7919};
        struct tally t = fresh();
        int often = 1 + (int)(seed % 5), small = (int)(seed % 3), calls = 2000;

        for (int i = 0; i < calls; i++)
            one_call(&t,
                     (struct demand_of){.small = small && rng_below(&rng, 4) < (unsigned)small,
                                        .balanced = rng_below(&rng, 6) < (unsigned)often ? .5 : 1});
        ck_assert_msg(t.closest >= EXCHANGE_PERIOD, "seed %llu: changes %d calls apart",
                      (unsigned long long)seed, t.closest);
        ck_assert_int_gt(t.changes, 0);
    }
}
END_TEST

/* The worst there is: skewed whenever it is asked, balanced whenever it is confirmed. */
START_TEST(test_exchange_state__an_adversary_costs_little)
{
    struct tally t = fresh();
    int calls = 20000;

    for (int i = 0; i < calls; i++)
        one_call(&t, (struct demand_of){.balanced = t.w.active ? 1 : .5});
    ck_assert_int_ge(t.closest, EXCHANGE_PERIOD);
    ck_assert_int_le(t.exchanged,
                     calls * (EXCHANGE_PERIOD + 2) / (EXCHANGE_MOST_WAIT + EXCHANGE_PERIOD));
}
END_TEST

START_TEST(test_exchange_state__where_the_library_is_as_fast_it_rests)
{
    struct tally t = fresh();
    int calls = 100 * (EXCHANGE_REST + 1);

    for (int i = 0; i < calls; i++) /* a trial of ten calls, then the verdict */
        one_call(&t, (struct demand_of){.balanced = .5, .slower = i >= 10});
    ck_assert_int_le(t.exchanged, 10 + 2 * EXCHANGE_PERIOD + 100);
    ck_assert_int_le(t.asked, 102);
}
END_TEST

/* One size wins and another loses: the winner is not given up for it. */
START_TEST(test_exchange_state__a_size_that_loses_does_not_end_one_that_wins)
{
    struct tally t = fresh();

    for (int i = 0; i < 800; i++)
        one_call(&t, (struct demand_of){.balanced = .5, .slower = i % 4 == 3});
    ck_assert_int_eq(t.rerouted, 600);
}
END_TEST

START_TEST(test_exchange_state__a_prediction_that_failed_is_no_gain)
{
    struct exchange_state w = {0};

    ck_assert_int_eq(exchange_next(&w), EXCHANGE_ASK);
    ck_assert_int_eq(exchange_predicted(&w, 0, 0), 0);
    ck_assert_int_eq(w.active, 0);
}
END_TEST

Suite *suite_exchange_state(void)
{
    Suite *s = suite_create("exchange_state");
    TCase *t = tcase_create("exchange_state");

    tcase_add_test(t, test_exchange_state__skew_is_found_at_once_and_kept);
    tcase_add_test(t, test_exchange_state__small_or_balanced_calls_are_asked_about_rarely);
    tcase_add_test(t, test_exchange_state__a_question_stands_for_the_calls_that_passed);
    tcase_add_test(t, test_exchange_state__skew_that_comes_later_is_found_within_the_longest_wait);
    tcase_add_test(t, test_exchange_state__between_the_margins_nothing_changes);
    tcase_add_test(t, test_exchange_state__skew_that_ends_is_left_at_the_end_of_a_window);
    tcase_add_test(t, test_exchange_state__changing_demands_do_not_oscillate);
    tcase_add_test(t, test_exchange_state__an_adversary_costs_little);
    tcase_add_test(t, test_exchange_state__where_the_library_is_as_fast_it_rests);
    tcase_add_test(t, test_exchange_state__a_size_that_loses_does_not_end_one_that_wins);
    tcase_add_test(t, test_exchange_state__a_prediction_that_failed_is_no_gain);
    suite_add_tcase(s, t);
    return s;
}
