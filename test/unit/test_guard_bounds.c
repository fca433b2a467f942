/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bounds of the guard: calls that it leaves alone, reroutes that cannot serve, agreements that
 * fail, a table that is full, and what it tells its caller. test_guard.c has its choice.
 */
#include <check.h>
#include <string.h>

#include "test/unit/agreed.h"
#include "test/unit/guarded.h"
#include "test/unit/suites.h"

static const struct machine quiet = {.ranks = 3, .reroutes = 3, .native = 1e-3, .rng = {1}};

/* The bound that guard.c states, for two contenders that no measurement tells apart: the hardest.
 */
START_TEST(test_guard_bounds__timed_calls_are_few)
{
    struct machine m = quiet;

    m.ranks = m.reroutes = 1;
    m.noise = .2;
    m.share[0] = 1;
    machine_calls(&m, 300);
    int rounds = m.agreements;
    machine_calls(&m, 20000);
    ck_assert_int_le(m.agreements - rounds, 64 + 32 * 3 + 20000 / 256);
    ck_assert_int_le(m.timed, 2 * GUARD_ROUNDS * (m.agreements + 1));
}
END_TEST

START_TEST(test_guard_bounds__settled_calls_are_left_alone)
{
    struct machine m = quiet;

    m.share[0] = m.share[1] = m.share[2] = 2;
    machine_settled_on(&m);
    machine_calls(&m, 1000);
    int timed = m.timed;
    machine_calls(&m, 1000);
    ck_assert_int_le(m.timed - timed, 1000 / 128 + 2);
}
END_TEST

/* Where no reroute can serve, the caller's reason is kept, and nothing is timed any more. */
START_TEST(test_guard_bounds__reroutes_that_cannot_serve_are_dropped_for_good)
{
    struct machine m = quiet;

    memset(m.share, 0, sizeof m.share);
    machine_calls(&m, 20);
    int timed = m.timed;
    machine_calls(&m, 1000);
    ck_assert_int_eq(m.timed, timed);
    ck_assert_int_eq(machine_entry(&m)->why, 7);
    ck_assert_int_eq(m.ran[0], m.calls);
}
END_TEST

/* At any call, in the midst of a run too. */
START_TEST(test_guard_bounds__a_reroute_that_can_no_longer_serve_is_dropped)
{
    for (int calls = 4; calls < 60; calls++) {
        struct machine m = quiet;

        m.share[0] = .5;
        m.share[1] = .55;
        m.share[2] = .6;
        machine_calls(&m, calls);
        m.share[0] = 0;
        machine_calls(&m, 600);
        ck_assert_msg(machine_entry(&m)->best == 2, "since call %d: settled on %d", calls,
                      machine_entry(&m)->best);
    }
}
END_TEST

START_TEST(test_guard_bounds__a_failed_agreement_is_the_end_of_it)
{
    static struct machine m;
    int slot;

    m = quiet;
    struct guard_entry *e = guard_find(&m.guard[0], COLL_BCAST, 0, MIB);
    while (!guard_due(e)) {
        machine_begin_call(&m, &m.guard[0], e, MIB, &slot);
        guard_note(e, slot, 1e-3);
    }
    struct agreed a = {.n = 0};
    ck_assert_int_eq(guard_conclude(&m.guard[0], e, agreed_collect, &a), 0);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(guard_settled(e), 1);
    ck_assert_int_eq(e->best, GUARD_NATIVE);
}
END_TEST

/* More classes than there is room for: those that came first keep theirs, and the others are told;
   one that is not used any more gives way. */
START_TEST(test_guard_bounds__a_full_table_is_told)
{
    static struct guard g;
    int found = 0, full = 0;

    memset(&g, 0, sizeof g);
    for (int round = 0; round < 2; round++)
        for (int c = 0; c < COLL_COUNT; c++)
            for (int k = 13; k < 19; k++) {
                struct guard_entry *e = guard_find(&g, (enum plan_collective)c, 0, 1ull << k);
                found += e != NULL;
                full += !e;
                ck_assert_ptr_eq(e, guard_find(&g, (enum plan_collective)c, 0, (1ull << k) + 5));
            }
    ck_assert_int_eq(found, 2 * GUARD_ENTRIES);
    ck_assert_int_eq(full, 2 * (COLL_COUNT * 6 - GUARD_ENTRIES));
    for (int i = 0; i < GUARD_IDLE; i++)
        guard_find(&g, COLL_ALLGATHER, 0, 1ull << 13);
    ck_assert_ptr_nonnull(guard_find(&g, COLL_ALLGATHER, 5, 1ull << 25));
}
END_TEST

/* The gain in the log and the report is the estimate that made the choice. */
START_TEST(test_guard_bounds__knows_whether_any_size_is_rerouted)
{
    struct guard g;

    guard_open(&g, 0, NULL);
    ck_assert_ptr_null(guard_favours(&g, COLL_GATHERV));
    struct guard_entry *large = guard_find(&g, COLL_GATHERV, 3, 1 << 20);
    struct guard_entry *other = guard_find(&g, COLL_SCATTERV, 3, 1 << 20);
    other->verdict.known = large->verdict.known = 1;
    other->best = 1;
    ck_assert_ptr_null(guard_favours(&g, COLL_GATHERV));
    large->best = 2;
    ck_assert_ptr_eq(guard_favours(&g, COLL_GATHERV), large);
    large->verdict.known = 0;
    ck_assert_ptr_null(guard_favours(&g, COLL_GATHERV));
}
END_TEST

START_TEST(test_guard_bounds__what_it_tells_is_what_it_weighed)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .7;
    m.noise = .05;
    ck_assert_int_eq(machine_settled_on(&m), 1);
    struct estimate e = machine_entry(&m)->verdict.against;
    ck_assert_int_eq(machine_entry(&m)->verdict.rival, 1);
    ck_assert_double_gt(e.spread, 0);
    ck_assert_double_lt(fabs(e.mean - log(.7)), .1);
    ck_assert_double_lt(e.mean + e.spread, 0);
}
END_TEST

Suite *suite_guard_bounds(void)
{
    Suite *s = suite_create("guard_bounds");
    TCase *t = tcase_create("bounds");

    tcase_add_test(t, test_guard_bounds__timed_calls_are_few);
    tcase_add_test(t, test_guard_bounds__settled_calls_are_left_alone);
    tcase_add_test(t, test_guard_bounds__reroutes_that_cannot_serve_are_dropped_for_good);
    tcase_add_test(t, test_guard_bounds__a_reroute_that_can_no_longer_serve_is_dropped);
    tcase_add_test(t, test_guard_bounds__a_failed_agreement_is_the_end_of_it);
    tcase_add_test(t, test_guard_bounds__a_full_table_is_told);
    tcase_add_test(t, test_guard_bounds__knows_whether_any_size_is_rerouted);
    tcase_add_test(t, test_guard_bounds__what_it_tells_is_what_it_weighed);
    suite_add_tcase(s, t);
    return s;
}
