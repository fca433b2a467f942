/* SPDX-License-Identifier: BSD-3-Clause */
/* Contenders in reserve: all are looked at, late and for little; the fastest is found and kept. */
#include <check.h>
#include <math.h>

#include "planners/variants.h"
#include "test/unit/guarded.h"
#include "test/unit/suites.h"

enum { FIRST = 3, LATER = 9, LAST = FIRST + LATER };

/* All take so many times as long as the library. */
static struct machine machine(double first, double later)
{
    struct machine m = {
        .ranks = 3, .reroutes = FIRST, .reserves = LATER, .native = 1e-3, .rng = {1}};

    for (int i = 0; i < LAST; i++)
        m.share[i] = i < FIRST ? first : later;
    return m;
}

START_TEST(test_guard_reserve__the_fastest_is_found)
{
    for (int best = FIRST; best < LAST; best++) {
        struct machine m = machine(1.3, 1.6);

        m.noise = .05;
        m.share[best] = .6;
        machine_calls(&m, 10000);
        ck_assert_int_eq(machine_way(machine_entry(&m), machine_entry(&m)->best), 1 + best);
    }
}
END_TEST

/* One that is obviously slow has one call, and late a second one if the first may have been held
   up. All together cost little at any time. */
START_TEST(test_guard_reserve__all_are_looked_at_for_little)
{
    static const int until[] = {200, 1000, 10000}, least[] = {3, 8, 65};

    for (double slow = 2; slow <= 8; slow *= 2) {
        struct machine with = machine(1.3, slow), without = machine(1.3, slow);

        without.reserves = 0;
        for (int k = 0; k < 3; k++) {
            machine_calls(&with, until[k] - with.calls);
            machine_calls(&without, until[k] - without.calls);
            double more = (with.lost - without.lost) / with.native;
            ck_assert_msg(more < least[k] + (k < 2 ? slow : 0),
                          "%g times slower, %d calls: lost %.2f more", slow, until[k], more);
        }
        for (int i = FIRST; i < LAST; i++) {
            ck_assert_msg(slow > 4 || with.ran[1 + i] > 0, "%g times slower: %d had no call", slow,
                          i);
            ck_assert_int_le(with.ran[1 + i], slow < 4 ? 4 : 2);
        }
        ck_assert_int_le(with.agreements, without.agreements + 2 * LATER);
    }
}
END_TEST

/* A trial of one that is predicted or found to be far slower waits. */
START_TEST(test_guard_reserve__what_a_class_near_by_found_makes_it_wait)
{
    struct machine m = machine(1.3, 1.6);
    int ran;

    m.share[FIRST] = 30;
    machine_calls(&m, 10000);
    ran = m.ran[1 + FIRST];
    ck_assert_int_le(ran, 3); /* a second time where the first may have been held up */
    for (int i = 0; i < 3000; i++)
        machine_call(&m, 2 * MIB);
    ck_assert_int_eq(m.ran[1 + FIRST], ran);
    ck_assert_int_ge(m.ran[FIRST + 2], 2);
}
END_TEST

START_TEST(test_guard_reserve__one_that_cannot_serve_is_dropped)
{
    struct machine m = machine(1.3, 1.6);

    for (int i = FIRST; i < LAST - 1; i++)
        m.share[i] = 0;
    m.share[LAST - 1] = .5;
    machine_calls(&m, 20000);
    ck_assert_int_eq(machine_way(machine_entry(&m), machine_entry(&m)->best), LAST);
}
END_TEST

/* The next job begins with what an earlier one found, and does not look at all of them again. */
START_TEST(test_guard_reserve__the_next_job_begins_there)
{
    for (int change = 0; change < 2; change++) {
        struct machine m = machine(1.3, 1.6);
        int best = LAST - 1;

        for (int i = 0; i < LAST; i++) {
            int at = i < FIRST ? 1 + i : GUARD_CONTENDERS + i - FIRST;
            m.recalled[at] = (struct estimate){log(i == best ? .6 : m.share[i]), .03};
        }
        m.share[best] = change ? 4 : .6;
        m.share[FIRST] = change ? .6 : 1.6;
        machine_call(&m, MIB);
        ck_assert_int_eq(m.ran[1 + best], 1);
        machine_calls(&m, 4000);
        ck_assert_int_eq(machine_way(machine_entry(&m), machine_entry(&m)->best),
                         change ? 1 + FIRST : 1 + best);
        for (int i = FIRST + 1; i < best && !change; i++)
            ck_assert_int_eq(m.ran[1 + i], 0);
    }
}
END_TEST

/* Where a clock answers later, or the library is spared, none comes. */
START_TEST(test_guard_reserve__none_comes_while_the_library_is_spared)
{
    struct machine m = machine(.05, .05);
    int ran = 0;

    for (int r = 0; r < m.ranks; r++)
        guard_spare(&m.guard[r], 20);
    machine_calls(&m, 300);
    for (int i = FIRST; i < LAST; i++)
        ran += m.ran[1 + i];
    ck_assert_int_eq(ran, 0);
}
END_TEST

static int agree_alone(void *context, double *value, int n)
{
    (void)context, (void)value, (void)n;
    return 0;
}

/* Open MPI's han makes its communicators in its first call. */
START_TEST(test_guard_reserve__a_first_call_of_the_librarys_says_little)
{
    struct plan_candidate first = {.algorithm = &plan_variants[0].row, .seconds = 1},
                          han = {.algorithm = &plan_variants[1].row, .seconds = 1};
    struct guard g;
    int calls_of_han = 0;

    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_ALLGATHER, 0, 16 << 10);
    guard_begin(&g, e, 16 << 10, &first, 1, 1);
    guard_reserve(e, &han, 1, 2000);
    for (int call = 0; call < 3000; call++) {
        int slot = GUARD_UNTIMED,
            i = guard_settled(e) ? e->best : guard_pick(&g, e, 16 << 10, &slot);
        const struct plan_candidate *way = guard_way(e, i);
        int is_han = way && way->algorithm == han.algorithm;
        double took = !is_han ? 2.5e-3 : calls_of_han++ ? .75e-3 : 9e-3;

        if (slot == GUARD_UNTIMED)
            continue;
        ck_assert(!is_han || calls_of_han > 1); /* not measured */
        guard_note(e, slot, took, 0);
        if (guard_due(e))
            guard_conclude(&g, e, agree_alone, NULL);
    }
    ck_assert_int_ge(calls_of_han, 2500);
}
END_TEST

Suite *suite_guard_reserve(void)
{
    Suite *s = suite_create("guard_reserve");
    TCase *t = tcase_create("later");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_guard_reserve__the_fastest_is_found);
    tcase_add_test(t, test_guard_reserve__all_are_looked_at_for_little);
    tcase_add_test(t, test_guard_reserve__what_a_class_near_by_found_makes_it_wait);
    tcase_add_test(t, test_guard_reserve__a_first_call_of_the_librarys_says_little);
    tcase_add_test(t, test_guard_reserve__one_that_cannot_serve_is_dropped);
    tcase_add_test(t, test_guard_reserve__the_next_job_begins_there);
    tcase_add_test(t, test_guard_reserve__none_comes_while_the_library_is_spared);
    suite_add_tcase(s, t);
    return s;
}
