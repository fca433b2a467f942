/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard as a state machine: ranks are entries side by side, whose calls take times that a model
 * of the machine gives. Wanted: the same on all ranks with any measurements; the right choice; few
 * calls' worth of loss if a reroute does not pay; few timed calls once settled. bench/regret
 * measures the same on thousands of machines.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "test/unit/agreed.h"
#include "test/unit/guarded.h"
#include "test/unit/suites.h"

static const struct machine quiet = {.ranks = 3, .reroutes = 3, .native = 1e-3, .rng = {1}};

START_TEST(test_guard__the_fastest_wins)
{
    static const struct {
        double share[3];
        int best;
    } cases[] = {
        {{.5, .6, .7}, 1},   {{.7, .6, .5}, 3}, {{1.2, .5, 1.4}, 2}, {{.9, 3, 3}, 1},
        {{1.04, 1.1, 2}, 0}, {{3, 3, 3}, 0},    {{1.7, .9, 3}, 2},   {{0, .8, .9}, 2},
        {{0, 0, 0}, 0},      {{1.1, 0, .2}, 3}, {{20, 20, 20}, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine m = quiet;
        memcpy(m.share, cases[i].share, sizeof cases[i].share);
        int best = machine_settled_on(&m);
        ck_assert_msg(best == cases[i].best, "case %zu: settled on %d", i, best);
    }
}
END_TEST

START_TEST(test_guard__as_many_contenders_as_there_may_be_are_served)
{
    struct machine m = quiet;

    m.reroutes = GUARD_REROUTES;
    for (int i = 0; i < GUARD_REROUTES; i++)
        m.share[i] = 1.3 - .1 * i;
    ck_assert_int_eq(machine_settled_on(&m), GUARD_REROUTES);
}
END_TEST

/* A call takes a second, as predicted; trials may lose a 32nd of the calls. */
START_TEST(test_guard__an_offer_is_tried_once_it_is_paid_for)
{
    for (int gains = 0; gains <= 1; gains++) {
        struct machine m = quiet;
        m.native = 1;
        m.reroutes = 2;
        m.share[0] = .8;
        m.share[1] = 1.2;
        m.share[2] = gains ? .5 : 3;
        m.offer = 10;
        machine_calls(&m, 10 * GUARD_SHARE - 1);
        ck_assert_int_eq(m.ran[3], 0);
        machine_calls(&m, 2000);
        ck_assert_int_ge(m.ran[3], 1);
        ck_assert_int_eq(machine_way(machine_entry(&m), machine_entry(&m)->best), gains ? 3 : 1);
        ck_assert_int_le(m.ran[3], gains ? 2000 : 10);
    }
}
END_TEST

/* A topology may predict a second where calls take a millisecond. */
START_TEST(test_guard__a_prediction_that_is_too_long_pays_for_no_offer)
{
    struct machine m = quiet;

    m.native = 1e-3;
    m.reroutes = 2;
    m.share[0] = .8;
    m.share[1] = 1.2;
    m.share[2] = .5;
    m.offer = .1;
    machine_calls(&m, 90 * GUARD_SHARE);
    ck_assert_int_eq(machine_entry(&m)->n, 3);
    machine_calls(&m, 100 * GUARD_SHARE);
    ck_assert_int_eq(machine_entry(&m)->n, 4);
}
END_TEST

/* There is no place for one more. */
START_TEST(test_guard__an_offer_to_a_full_table_is_dropped)
{
    struct machine m = quiet;

    m.reroutes = GUARD_REROUTES;
    for (int i = 0; i < GUARD_REROUTES; i++)
        m.share[i] = .9;
    m.offer = 1e-3;
    machine_calls(&m, 500);
    ck_assert_int_eq(machine_entry(&m)->n, GUARD_CONTENDERS);
}
END_TEST

/* Whichever of the first calls it is, and by however much. */
START_TEST(test_guard__one_call_that_is_held_up_decides_nothing)
{
    for (double by = 2; by <= 128; by *= 4)
        for (int nth = 1; nth <= 20; nth++) {
            struct machine m = quiet;
            m.reroutes = 2;
            m.share[0] = .8;
            m.share[1] = .7;
            m.held_up = nth;
            m.held_up_by = by;
            int best = machine_settled_on(&m);
            ck_assert_msg(best == 2, "call %d held up by %g: settled on %d", nth, by, best);
        }
}
END_TEST

/* Connections of reroutes are made while the machine is busy, and the library needs none. */
START_TEST(test_guard__a_busy_start_does_not_decide)
{
    for (double by = 8; by <= 12; by += 2)
        for (int busy = 6; busy <= 24; busy++) {
            struct machine m = quiet;
            for (int i = 0; i < m.reroutes; i++)
                m.share[i] = .25 + .05 * i;
            m.busy = busy;
            m.busy_by = by;
            machine_calls(&m, 2 * FIRST_CALLS);
            ck_assert_msg(machine_entry(&m)->best != GUARD_NATIVE,
                          "busy for %d calls, %g times: settled on the library", busy, by);
        }
}
END_TEST

/* One call of a reroute takes a tenth of the usual. */
START_TEST(test_guard__one_lucky_call_is_soon_found_out)
{
    for (int nth = 2; nth <= 20; nth++) {
        struct machine m = quiet;
        m.reroutes = 1;
        m.share[0] = 1.5;
        m.held_up = nth;
        m.held_up_by = .1;
        machine_calls(&m, nth + 192); /* half of them the library's */
        ck_assert_msg(machine_entry(&m)->best == GUARD_NATIVE, "call %d is fast: settled on %d",
                      nth, machine_entry(&m)->best);
    }
}
END_TEST

START_TEST(test_guard__reroutes_that_do_not_pay_cost_few_calls)
{
    for (int share = 104; share <= 400; share += 37)
        for (int cold = 0; cold <= 4; cold += 2) {
            struct machine m = quiet;
            for (int i = 0; i < m.reroutes; i++) {
                m.share[i] = share / 100.0;
                m.cold[i] = cold;
            }
            ck_assert_int_eq(machine_settled_on(&m), GUARD_NATIVE);
            double tried = m.cold[0] * ((m.warm[0] > 0) + (m.warm[1] > 0) + (m.warm[2] > 0));
            /* A second chance of the reroutes included. */
            ck_assert_msg(m.lost < (tried + 8 + share / 50.0) * m.native,
                          "%d%%, cold %d: lost %.2f calls", share, cold, m.lost / m.native);
            double lost = m.lost;
            machine_calls(&m, 5000); /* looks included */
            ck_assert_msg(m.lost - lost < 5000 * .005 * m.native, "%d%%: looks lost %.4f", share,
                          (m.lost - lost) / m.native / 5000);
        }
}
END_TEST

static void spare(struct machine *m, double times)
{
    for (int r = 0; r < m->ranks; r++)
        guard_spare(&m->guard[r], times);
}

/* Rails become unequal: the library's calls take so many times longer. Before: no call, one in the
   midst of a round, settled on a reroute, settled on the library. */
START_TEST(test_guard__a_library_that_would_cost_too_much_waits_for_its_trial)
{
    enum { NONE, ONE, REROUTE, NATIVE, BEFORE };
    static const double times[] = {4.5, 25, 100};

    for (int k = 0; k < 3 * BEFORE; k++) {
        int before = k % BEFORE, waits = (int)(16 * (times[k / BEFORE] - 1)), native;
        struct machine m = quiet;

        for (int i = 0; i < m.reroutes; i++)
            m.share[i] = before == NATIVE ? 1.3 : .7;
        if (before == ONE)
            machine_calls(&m, 1);
        else if (before != NONE)
            ck_assert_int_eq(machine_settled_on(&m) == GUARD_NATIVE, before == NATIVE);
        for (int i = 0; i < m.reroutes; i++) /* m.native is the unit of all times */
            m.share[i] /= times[k / BEFORE];
        m.native *= times[k / BEFORE];
        spare(&m, times[k / BEFORE]);
        native = m.ran[GUARD_NATIVE];
        machine_calls(&m, waits - 12);
        ck_assert_int_eq(m.ran[GUARD_NATIVE], native);
        machine_calls(&m, 10000);
        ck_assert_int_gt(m.ran[GUARD_NATIVE], native);
        ck_assert_msg((m.ran[GUARD_NATIVE] - native) * (times[k / BEFORE] - 1) < m.calls / 16. + 25,
                      "%d calls of the library, %g times as long", m.ran[GUARD_NATIVE] - native,
                      times[k / BEFORE]);
        ck_assert_int_le(m.ran[GUARD_NATIVE] - native, 16); /* not by what was known before */
        ck_assert_int_ne(machine_entry(&m)->best, GUARD_NATIVE);
    }
}
END_TEST

/* Reroutes that lost against the library come back; one that cannot serve does not, and one that is
   in use is not tried anew. */
START_TEST(test_guard__on_another_machine_the_library_wins_anew_or_not)
{
    struct machine m = quiet;

    for (int i = 0; i < m.reroutes; i++)
        m.share[i] = 1.6;
    ck_assert_int_eq(machine_settled_on(&m), GUARD_NATIVE);
    for (int i = 0; i < m.reroutes; i++)
        m.share[i] = .4;
    for (int r = 0; r < m.ranks; r++)
        guard_renew(&m.guard[r]);
    machine_calls(&m, 12);
    ck_assert_int_ne(machine_entry(&m)->best, GUARD_NATIVE);
    machine_calls(&m, 200);
    int best = machine_entry(&m)->best;
    uint32_t calls = machine_entry(&m)->calls;
    for (int r = 0; r < m.ranks; r++)
        guard_renew(&m.guard[r]);
    ck_assert_int_eq(machine_entry(&m)->best, best);
    ck_assert_uint_eq(machine_entry(&m)->calls, calls);

    struct guard g;
    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, MIB);
    struct plan_candidate one = {.seconds = 1};
    int slot;
    guard_begin(&g, e, MIB, &one, 1);
    while (!guard_pick(&g, e, MIB, &slot))
        guard_note(e, slot, 1);
    guard_cannot(e, slot, 7);
    guard_renew(&g);
    ck_assert(guard_settled(e) && e->why == 7);
}
END_TEST

/* The rails are equal again, and the library is the fastest. */
START_TEST(test_guard__a_library_that_is_no_longer_slow_is_found_again)
{
    struct machine m = quiet;

    for (int i = 0; i < m.reroutes; i++)
        m.share[i] = 1.3;
    machine_settled_on(&m);
    for (int i = 0; i < m.reroutes; i++)
        m.share[i] = .05;
    spare(&m, 20);
    machine_calls(&m, 500);
    ck_assert_int_ne(machine_entry(&m)->best, GUARD_NATIVE);
    for (int i = 0; i < m.reroutes; i++)
        m.share[i] = 1.3;
    spare(&m, 1);
    machine_calls(&m, 300);
    ck_assert_int_eq(machine_entry(&m)->best, GUARD_NATIVE);
}
END_TEST

/* By turns the reroutes gain and lose, and the contender in use is 20 times as fast or as slow.
   Calls that take so much longer count as held up, at first. */
START_TEST(test_guard__a_change_either_way_is_found)
{
    static const double ways[][2] = {{1e-3, .5}, {2e-5, 4}, {1e-3, .5}}; /* native, share */
    struct machine m = quiet;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        m.native = ways[i][0];
        for (int k = 0; k < m.reroutes; k++)
            m.share[k] = ways[i][1];
        machine_calls(&m, 2500);
        ck_assert_msg((machine_entry(&m)->best != GUARD_NATIVE) == (ways[i][1] < 1),
                      "turn %zu: contender %d", i, machine_entry(&m)->best);
    }
}
END_TEST

static int wrong_side(double share, int best)
{
    return share < .9 ? best == GUARD_NATIVE : share > 1.1 && best != GUARD_NATIVE;
}

/* A tenth of noise, and one call in twenty on each rank takes five times as long. */
START_TEST(test_guard__noise_does_not_flip_it_and_ranks_stay_together)
{
    static const double shares[] = {.5, .8, 1, 1.2, 1.6};
    int soon = 0, late = 0, changes = 0;

    for (int seed = 1; seed <= 300; seed++) {
        struct machine m = quiet;
        double share = shares[seed % 5];
        m.ranks = 1 + seed % MOST_RANKS;
        m.rng.state = (uint64_t)seed;
        m.noise = .1;
        m.hiccup = seed % 2 ? 5 : 0;
        m.share[0] = share;
        m.share[1] = share * 1.1;
        m.share[2] = share * 1.2;
        machine_settled_on(&m);
        int best = machine_entry(&m)->best;
        soon += wrong_side(share, best);
        for (int i = 0; i < 4000; i++) {
            machine_call(&m, MIB);
            changes += machine_entry(&m)->best != best;
            best = machine_entry(&m)->best;
        }
        late += wrong_side(share, best);
    }
    ck_assert_msg(soon <= 18, "%d of 300 are on the wrong side after the first calls", soon);
    ck_assert_msg(late <= 5, "%d of 300 end on the wrong side", late);
    ck_assert_msg(changes <= 300, "%d changes in 300 runs of 4000 calls", changes);
}
END_TEST

/* At least so many of 40 such machines with one reroute are right after the first calls, and after
   2,000 more. */
static void most_are_right(struct machine like, int right, int least_soon, int least_late)
{
    int soon = 0, late = 0;

    for (int seed = 0; seed < 40; seed++) {
        struct machine m = like;
        m.reroutes = 1;
        m.rng.state = (uint64_t)seed + 1;
        m.slow += m.slow > 0 ? seed * .001 : 0; /* other calls are slow */
        soon += machine_settled_on(&m) == right;
        machine_calls(&m, 2000);
        late += machine_entry(&m)->best == right;
    }
    ck_assert_msg(soon >= least_soon, "%d of 40 are right after the first calls", soon);
    ck_assert_msg(late >= least_late, "%d of 40 end right", late);
}

/* The library is faster than the reroute in two calls of three, and slower on the mean. */
START_TEST(test_guard__a_slow_mode_counts_by_its_mean)
{
    struct machine m = quiet;

    m.noise = .02;
    m.slow = 2.5;
    m.share[0] = 1.1;
    most_are_right(m, 1, 28, 36);
}
END_TEST

/* The library is the fastest, but not in its first call behind one of a reroute. */
START_TEST(test_guard__what_a_call_leaves_behind_does_not_count)
{
    struct machine m = quiet;

    m.noise = .1;
    m.behind = 2;
    m.share[0] = 1.25;
    most_are_right(m, GUARD_NATIVE, 30, 38);
}
END_TEST

/* Rails have bursts: a reroute's first four calls in a row are faster than the library, later ones
   are not; and the library's first call behind them is slow. */
START_TEST(test_guard__what_lasts_for_several_calls_does_not_count)
{
    struct machine m = quiet;

    m.noise = .1;
    m.behind = 1.4;
    m.reroutes = 1;
    m.share[0] = 1.3;
    m.fresh = .65;
    m.fresh_calls = 4;
    most_are_right(m, GUARD_NATIVE, 30, 38);
}
END_TEST

/* A burst has a size, so it lasts for more calls where these are small. */
START_TEST(test_guard__what_lasts_for_many_small_calls_does_not_count)
{
    struct machine m = quiet;

    m.bytes = 64 << 10;
    m.noise = .1;
    m.reroutes = 1;
    m.share[0] = 1.2;
    m.fresh = .75;
    m.fresh_calls = 9;
    most_are_right(m, GUARD_NATIVE, 30, 38);
}
END_TEST

/* Found out within a few hundred calls, and nothing before it counts any more. */
START_TEST(test_guard__a_reroute_that_turns_bad_is_given_back)
{
    for (double then = 1.5; then < 50; then *= 3) {
        struct machine m = quiet;
        m.reroutes = 1;
        m.share[0] = .5;
        ck_assert_int_eq(machine_settled_on(&m), 1);
        machine_calls(&m, 3000);
        m.share[0] = then;
        machine_calls(&m, 600);
        ck_assert_msg(machine_entry(&m)->best == GUARD_NATIVE, "now %g: still in use", then);
    }
}
END_TEST

START_TEST(test_guard__a_reroute_that_turns_good_comes_back)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = 1.2;
    ck_assert_int_eq(machine_settled_on(&m), GUARD_NATIVE);
    m.share[0] = .6;
    machine_calls(&m, 10000);
    ck_assert_int_eq(machine_entry(&m)->best, 1);
}
END_TEST

START_TEST(test_guard__a_size_that_comes_back_is_compared_with_itself)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .93;
    for (int i = 0; i < 200; i++)
        machine_call(&m, i % 3 ? MIB + MIB / 2 : MIB);
    ck_assert_int_eq(machine_entry(&m)->sizes.loose, 0);
    ck_assert_int_eq(machine_entry(&m)->best, 1);
}
END_TEST

START_TEST(test_guard__sizes_that_never_repeat_are_compared_by_the_byte)
{
    for (int i = 0; i < 2; i++) {
        struct machine m = quiet;
        m.reroutes = 1;
        m.share[0] = i ? .7 : 1.4;
        for (int k = 0; k < 100; k++)
            machine_call(&m, MIB + (uint64_t)(k * 7919 % 1000) * 1000);
        ck_assert_int_ge(m.verdicts, 1);
        ck_assert_int_eq(machine_entry(&m)->best, i);
    }
}
END_TEST

/* Forward, back, to infinity: the other ranks' times are enough, and what is left was held up. */
START_TEST(test_guard__a_clock_that_jumps_decides_nothing)
{
    for (int best = 0; best < 2; best++)
        for (int every = 1; every < 12; every += 2) {
            struct machine m = quiet;
            m.reroutes = 1;
            m.share[0] = best ? .7 : 1.4;
            m.jumps = every + 1;
            for (int k = 0; k < 1000; k++)
                machine_call(&m, MIB);
            ck_assert_int_ge(m.verdicts, 1);
            ck_assert_int_eq(machine_entry(&m)->best, best);
            ck_assert_int_ge(m.ran[best], 850);
            ck_assert_int_le(m.agreements, 200);
        }
}
END_TEST

/* Exchanges of one sum of bytes: skewed ones are slow, and are what rerouting helps. */
START_TEST(test_guard__each_skew_has_its_verdict)
{
    struct machine m = quiet;

    m.reroutes = 1;
    for (int i = 0; i < 200; i++) {
        m.skew = i % 3 ? 0 : 3;
        m.native = m.skew ? 8e-3 : 1e-3;
        m.share[0] = m.skew ? .3 : 1.3;
        machine_call(&m, MIB);
    }
    m.skew = 0;
    ck_assert_int_eq(machine_entry(&m)->best, GUARD_NATIVE);
    m.skew = 3;
    ck_assert_int_eq(machine_entry(&m)->best, 1);
}
END_TEST

Suite *suite_guard(void)
{
    Suite *s = suite_create("guard");
    TCase *t = tcase_create("trials");

    tcase_add_test(t, test_guard__the_fastest_wins);
    tcase_add_test(t, test_guard__as_many_contenders_as_there_may_be_are_served);
    tcase_add_test(t, test_guard__an_offer_is_tried_once_it_is_paid_for);
    tcase_add_test(t, test_guard__a_prediction_that_is_too_long_pays_for_no_offer);
    tcase_add_test(t, test_guard__an_offer_to_a_full_table_is_dropped);
    tcase_add_test(t, test_guard__one_call_that_is_held_up_decides_nothing);
    tcase_add_test(t, test_guard__a_busy_start_does_not_decide);
    tcase_add_test(t, test_guard__one_lucky_call_is_soon_found_out);
    tcase_add_test(t, test_guard__reroutes_that_do_not_pay_cost_few_calls);
    tcase_add_test(t, test_guard__a_library_that_would_cost_too_much_waits_for_its_trial);
    tcase_add_test(t, test_guard__a_library_that_is_no_longer_slow_is_found_again);
    tcase_add_test(t, test_guard__a_change_either_way_is_found);
    tcase_add_test(t, test_guard__on_another_machine_the_library_wins_anew_or_not);
    tcase_add_test(t, test_guard__noise_does_not_flip_it_and_ranks_stay_together);
    tcase_add_test(t, test_guard__a_slow_mode_counts_by_its_mean);
    tcase_add_test(t, test_guard__what_a_call_leaves_behind_does_not_count);
    tcase_add_test(t, test_guard__what_lasts_for_several_calls_does_not_count);
    tcase_add_test(t, test_guard__what_lasts_for_many_small_calls_does_not_count);
    tcase_add_test(t, test_guard__a_reroute_that_turns_bad_is_given_back);
    tcase_add_test(t, test_guard__a_reroute_that_turns_good_comes_back);
    tcase_add_test(t, test_guard__a_size_that_comes_back_is_compared_with_itself);
    tcase_add_test(t, test_guard__sizes_that_never_repeat_are_compared_by_the_byte);
    tcase_add_test(t, test_guard__a_clock_that_jumps_decides_nothing);
    tcase_add_test(t, test_guard__each_skew_has_its_verdict);
    suite_add_tcase(s, t);
    return s;
}
