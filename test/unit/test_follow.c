/* SPDX-License-Identifier: BSD-3-Clause */
/* Rails that change: which rank notices it and when, and the cost, with invented times for each
   rank. */
#include <check.h>
#include <string.h>

#include "shim/decide/choose/follow.h"
#include "shim/decide/choose/rails_level.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { RANKS = 4, KEY = 7 };

/* A job of ranks that all follow the same rails. */
struct job {
    struct rng rng;
    struct follow rank[RANKS];
    double agreement; /* seconds */
    double least;     /* seconds that rails need for a call; 0: not known */
    double cost;      /* of a measurement */
    int agreements, measured, probed;
};

static double noise(struct rng *r)
{
    return .95 + .1 * rng_below(r, 1000) / 1000;
}

/* One call that takes seconds[rank]. All ranks must do the same behind it. */
static enum follow_answer call(struct job *j, const double *seconds)
{
    double most[FOLLOW_VALUES] = {-1e9, -1e9, -1e9, -1e9};
    enum follow_answer answer = FOLLOW_ON;
    int due = 0;

    for (int r = 0; r < RANKS; r++) {
        follow_call(&j->rank[r], KEY, seconds[r], 1e6, j->least);
        due += follow_due(&j->rank[r]);
    }
    ck_assert(due == 0 || due == RANKS);
    if (!due)
        return FOLLOW_ON;
    j->agreements++;
    for (int r = 0; r < RANKS; r++) {
        double value[FOLLOW_VALUES];

        follow_tell(&j->rank[r], value);
        for (int i = 0; i < FOLLOW_VALUES; i++)
            most[i] = value[i] > most[i] ? value[i] : most[i];
    }
    for (int r = 0; r < RANKS; r++) {
        enum follow_answer own = follow_hear(&j->rank[r], most, j->agreement * (1 + r));

        ck_assert(r == 0 || own == answer);
        answer = own;
    }
    j->measured += answer == FOLLOW_MEASURE;
    j->probed += answer == FOLLOW_PROBE;
    return answer;
}

static void measured(struct job *j, int changed, int unequal)
{
    for (int r = 0; r < RANKS; r++)
        follow_measured(&j->rank[r], changed, unequal, j->cost, 0);
}

/* A call of some seconds, of which rank 2 alone sees all that it is slower. */
static enum follow_answer usual_call(struct job *j, double seconds, double slower)
{
    double time[RANKS];

    for (int r = 0; r < RANKS; r++)
        time[r] = seconds * noise(&j->rng) * (r == 2 ? slower : 1);
    return call(j, time);
}

static void usual_calls(struct job *j, int n)
{
    while (n--)
        usual_call(j, .3, 1);
}

START_TEST(test_follow__a_drop_is_measured_within_five_calls)
{
    struct rng r = {(uint64_t)_i + 1};
    struct job j = {.rng = r, .agreement = 1e-4};
    int before = 20 + (int)rng_below(&j.rng, 40), calls = 0;
    double slower = _i % 2 ? 2 : 4;

    measured(&j, 1, 0);
    for (int i = 0; i < before; i++)
        ck_assert_int_eq(usual_call(&j, .3, 1), FOLLOW_ON);
    while (usual_call(&j, .3, slower) != FOLLOW_MEASURE)
        ck_assert_int_lt(++calls, 5);
    measured(&j, 1, 1);
    for (int i = 0; i < 30; i++)
        ck_assert_int_ne(usual_call(&j, .35, 1), FOLLOW_MEASURE);
}
END_TEST

/* Pairs of calls that noise slows: each measurement asks for more of them, and a rail that falls
   then is still found soon. */
START_TEST(test_follow__noise_is_told_from_a_rail)
{
    struct job j = {.rng = {11}, .agreement = 1e-4};
    int calls = 0;

    measured(&j, 1, 0);
    for (int i = 0; i < 10000; i++) {
        double slower = i % 60 < 2 ? 1.6 : 1;

        if (usual_call(&j, .02, slower) == FOLLOW_MEASURE)
            measured(&j, 0, 0);
    }
    ck_assert_int_ge(j.measured, 1);
    ck_assert_int_le(j.measured, 3);
    while (usual_call(&j, .02, 2) != FOLLOW_MEASURE)
        ck_assert_int_lt(++calls, 10);
}
END_TEST

/* Something else slows calls for a while, again and again. */
START_TEST(test_follow__measuring_without_a_change_has_a_bounded_cost)
{
    struct job j = {.rng = {13}, .agreement = 1e-4, .cost = .2};

    measured(&j, 1, 0);
    for (int i = 0; i < 10000; i++)
        if (usual_call(&j, .02, i % 60 < 20 ? 1.6 : 1) == FOLLOW_MEASURE)
            measured(&j, 0, 0);
    ck_assert_int_ge(j.measured, 3);
    ck_assert_int_le(j.measured, 7);
}
END_TEST

/* A call at 1 %: it is measured behind that very call if agreeing costs next to nothing. */
START_TEST(test_follow__a_rail_that_hardly_moves_costs_one_call)
{
    struct job j = {.rng = {7}, .agreement = 1e-4};

    measured(&j, 1, 0);
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(usual_call(&j, .3, 1), FOLLOW_ON);
    ck_assert_int_eq(usual_call(&j, .3, 80), FOLLOW_MEASURE);
}
END_TEST

/* The rail falls right behind the first measurement, and no call has shown what is usual. */
START_TEST(test_follow__slow_from_the_first_call_on_is_not_usual)
{
    for (int slower = 2; slower <= 80; slower *= 2) {
        struct job j = {.rng = {9}, .agreement = 1e-3, .least = .28};
        int calls = 0;

        measured(&j, 1, 0);
        while (usual_call(&j, .3, slower) != FOLLOW_MEASURE)
            ck_assert_int_lt(++calls, 5);
        ck_assert_int_eq(calls == 0, slower >= 8); /* once is enough */
    }
}
END_TEST

/* A rail at 1 %: a probe takes a second. The first one waits until it is worth it, too. */
START_TEST(test_follow__a_probe_of_a_rail_that_hardly_moves_is_rare)
{
    struct job j = {.rng = {15}, .agreement = 1e-4};

    measured(&j, 1, 0);
    usual_calls(&j, 10);
    for (int r = 0; r < RANKS; r++)
        follow_measured(&j.rank[r], 1, 1, 0, 1);
    usual_calls(&j, 700);
    ck_assert_int_eq(j.probed, 0);
    usual_calls(&j, 300);
    ck_assert_int_gt(j.probed, 0);
}
END_TEST

/* Calls that take longer than their rails need, for another reason, are measured once. */
START_TEST(test_follow__calls_far_above_the_least_are_measured_in_vain_once)
{
    struct job j = {.rng = {11}, .agreement = 1e-3, .least = .1};

    measured(&j, 1, 0);
    for (int i = 0; i < 3000; i++)
        if (usual_call(&j, .3, 1) == FOLLOW_MEASURE)
            measured(&j, 0, 0);
    ck_assert_int_eq(j.measured, 1);
}
END_TEST

/* The first calls are slow by themselves, and measuring them finds nothing. A fall behind them is
   found. */
START_TEST(test_follow__slow_first_calls_hide_no_fall)
{
    for (int before = 4; before <= 24; before++) {
        struct job j = {.rng = {17}, .agreement = 1e-4, .least = .28};
        int calls = 0;

        measured(&j, 1, 0);
        ck_assert_int_eq(usual_call(&j, .6, 1), FOLLOW_ON);
        ck_assert_int_eq(usual_call(&j, .6, 1), FOLLOW_MEASURE);
        measured(&j, 0, 0);
        usual_calls(&j, before);
        while (usual_call(&j, .3, 2) != FOLLOW_MEASURE)
            ck_assert_int_lt(++calls, 5);
    }
}
END_TEST

/* A rail that stalls for 5 seconds now and then: each time one measurement at most. */
START_TEST(test_follow__a_stall_costs_one_measurement)
{
    struct job j = {.rng = {13}, .agreement = 1e-4};
    int stalls = 0;

    measured(&j, 1, 0);
    for (int i = 1; i < 3000; i++) {
        stalls += i % 500 == 0;
        if (usual_call(&j, .3, i % 500 ? 1 : 18) == FOLLOW_MEASURE)
            measured(&j, 0, 0);
    }
    ck_assert_int_ge(j.measured, 1);
    ck_assert_int_le(j.measured, stalls);
}
END_TEST

START_TEST(test_follow__a_slow_rail_is_probed_within_fifty_calls)
{
    struct job j = {.rng = {3}, .agreement = 1e-4};
    int calls = 0;

    measured(&j, 1, 0);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_ne(usual_call(&j, .3, 1), FOLLOW_PROBE);
    measured(&j, 1, 1);
    while (usual_call(&j, .3, 1) != FOLLOW_PROBE)
        ck_assert_int_lt(++calls, 50);
    for (int r = 0; r < RANKS; r++)
        follow_probed(&j.rank[r], 1.2); /* four calls: so one in a thousand */
    for (int i = 0; i < 940; i++)
        ck_assert_int_ne(usual_call(&j, .3, 1), FOLLOW_PROBE);
    measured(&j, 1, 0);
    for (int i = 0; i < 2000; i++)
        ck_assert_int_ne(usual_call(&j, .3, 1), FOLLOW_PROBE);
}
END_TEST

/* Each call is late by chance on some rank, and one in a hundred is far slower. A measurement takes
   as long as three calls. */
START_TEST(test_follow__noise_costs_less_than_half_a_percent)
{
    enum { CALLS = 10000 };
    struct job j = {.rng = {(uint64_t)_i + 1}, .agreement = 1e-3};

    measured(&j, 1, 0);
    for (int i = 0; i < CALLS; i++) {
        double time[RANKS];

        for (int r = 0; r < RANKS; r++)
            time[r] = .3 * noise(&j.rng) * (rng_below(&j.rng, 100) ? 1 : 5) *
                      (rng_below(&j.rng, 20) ? 1 : 1.5);
        if (call(&j, time) == FOLLOW_MEASURE)
            measured(&j, 0, 0);
    }
    ck_assert_msg(3 * j.measured * .3 + j.agreements * j.agreement < .005 * CALLS * .3,
                  "%d measurements, %d agreements", j.measured, j.agreements);
}
END_TEST

/* Plans change 3, 6 ... 192 calls apart at least, by a fall or by a probe that finds the rail back.
   A rail that takes turns with every call seldom has two slow calls in a row, and keeps its plan.
 */
START_TEST(test_follow__a_rail_that_flaps_changes_plans_ever_more_rarely)
{
    static const int calls_each[] = {1, 3, 10, 33, 100}; /* of each state of the rail */
    enum { CALLS = 5000, EARLY = 7, QUIET = 300 };
    struct job j = {.rng = {5}, .agreement = 1e-4};
    int slow = 0, planned = 0, changes = 0, last = 0, apart = 3;

    measured(&j, 1, 0);
    for (int i = 0; i < CALLS; i++) {
        slow = i / calls_each[_i] % 2;
        enum follow_answer answer = usual_call(&j, .3, slow > planned ? 2 : 1);

        for (int r = 0; answer == FOLLOW_PROBE && r < RANKS; r++)
            follow_probed(&j.rank[r], 0);
        if (answer == FOLLOW_ON || slow == planned) {
            if (answer == FOLLOW_MEASURE)
                measured(&j, 0, planned);
            continue;
        }
        ck_assert_msg(!changes || i - last >= apart, "%d: %d calls after %d", changes, i - last,
                      last);
        apart = !changes || i - last >= QUIET ? 3 : apart < 192 ? 2 * apart : apart;
        last = i;
        changes++;
        planned = slow;
        measured(&j, 1, slow);
    }
    ck_assert_int_eq(changes > 1, _i > 0);
    ck_assert_int_le(changes, EARLY + CALLS / 100);
}
END_TEST

START_TEST(test_follow__agreements_are_few_where_they_are_dear)
{
    static const struct {
        double agreement, call;
        int most; /* of 3,000 calls */
    } cases[] = {{1e-5, .3, 3000}, {1e-3, .3, 1001}, {1e-3, .01, 130}, {1e-2, .001, 16}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {.rng = {i}, .agreement = cases[i].agreement};

        for (int k = 0; k < 3000; k++)
            usual_call(&j, cases[i].call, 1);
        ck_assert_int_le(j.agreements, cases[i].most);
        ck_assert_int_gt(j.agreements, 8);
    }
}
END_TEST

START_TEST(test_rails__what_measuring_cannot_tell_apart_is_equal)
{
    double room[8], equal[] = {100, 96, 104, 98, 0, 91}, slow[] = {100, 52, 96, 48, 0, 103};

    ck_assert(rails_alike(equal, 6));
    ck_assert(!rails_alike(slow, 6));
    ck_assert(rails_median(slow, 6, room) == 96);
    ck_assert(rails_median(slow, 2, room) == 76); /* of two, their mean */
    ck_assert(rails_lower_median(slow, 2, room) == 52);
    ck_assert(rails_lower_median(slow, 6, room) == 96);
    rails_level(slow, 6, room);
    ck_assert(slow[0] == slow[2] && slow[0] == slow[4] && slow[0] == slow[5]);
    ck_assert(slow[1] == 50 && slow[3] == 50);
    ck_assert(slow[0] > 95 && slow[0] < 103);
}
END_TEST

START_TEST(test_rails__too_much_for_a_rail_costs_more_than_too_little)
{
    double lucky[] = {100, 99, 136, 100, 101, 100, 24, 100},
           fast[] = {100, 200, 200, 100, 99, 101, 100, 98}, few[] = {100, 136, 100}, room[8];

    rails_level(lucky, 8, room);
    ck_assert(lucky[2] == lucky[0]);
    ck_assert(lucky[6] == 24);
    rails_level(fast, 8, room); /* of one rail, both ways */
    ck_assert(fast[1] == 200 && fast[2] == 200 && fast[0] < 101);
    rails_level(few, 3, room);
    ck_assert(few[1] == 136);
}
END_TEST

START_TEST(test_rails__changed_by_more_than_measuring_errs)
{
    static const double none[3] = {0}, equal[] = {100, 95, 90}, half[] = {100, 50, 100},
                        less[] = {100, 45, 98}, hundredth[] = {100, 1, 100},
                        thousandth[] = {100, .1, 100}, faster[] = {200, 100, 200};

    ck_assert(!rails_changed(none, none, 3));
    ck_assert(!rails_changed(none, equal, 3));
    ck_assert(rails_changed(none, half, 3));
    ck_assert(rails_changed(half, none, 3));
    ck_assert(!rails_changed(half, less, 3));
    ck_assert(!rails_changed(half, faster, 3)); /* all of them */
    ck_assert(rails_changed(half, hundredth, 3));
    ck_assert(!rails_changed(thousandth, hundredth, 3));
    ck_assert(rails_share(half, 3, 1) == .5 && rails_share(none, 3, 1) == 1);
}
END_TEST

Suite *suite_follow(void)
{
    Suite *s = suite_create("follow");
    TCase *t = tcase_create("follow");

    tcase_add_loop_test(t, test_follow__a_drop_is_measured_within_five_calls, 0, 20);
    tcase_add_test(t, test_follow__a_slow_rail_is_probed_within_fifty_calls);
    tcase_add_loop_test(t, test_follow__noise_costs_less_than_half_a_percent, 0, 5);
    tcase_add_test(t, test_follow__noise_is_told_from_a_rail);
    tcase_add_test(t, test_follow__measuring_without_a_change_has_a_bounded_cost);
    tcase_add_test(t, test_follow__a_rail_that_hardly_moves_costs_one_call);
    tcase_add_test(t, test_follow__slow_from_the_first_call_on_is_not_usual);
    tcase_add_test(t, test_follow__calls_far_above_the_least_are_measured_in_vain_once);
    tcase_add_test(t, test_follow__slow_first_calls_hide_no_fall);
    tcase_add_test(t, test_follow__a_stall_costs_one_measurement);
    tcase_add_test(t, test_follow__a_probe_of_a_rail_that_hardly_moves_is_rare);
    tcase_add_loop_test(t, test_follow__a_rail_that_flaps_changes_plans_ever_more_rarely, 0, 5);
    tcase_add_test(t, test_follow__agreements_are_few_where_they_are_dear);
    tcase_add_test(t, test_rails__what_measuring_cannot_tell_apart_is_equal);
    tcase_add_test(t, test_rails__too_much_for_a_rail_costs_more_than_too_little);
    tcase_add_test(t, test_rails__changed_by_more_than_measuring_errs);
    suite_add_tcase(s, t);
    return s;
}
