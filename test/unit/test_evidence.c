/* SPDX-License-Identifier: BSD-3-Clause */
/* shim/decide/guard/evidence.c: what is measured, and its arithmetic. */
#include <check.h>
#include <math.h>

#include "shim/decide/guard/evidence.h"
#include "test/unit/suites.h"

START_TEST(test_evidence__logarithms_are_right)
{
    for (double x = 1e-9; x < 1e9; x *= 1.37) {
        ck_assert_double_lt(fabs(evidence_ln(x) - log(x)), 1e-4);
        ck_assert_double_lt(fabs(evidence_root(x) / sqrt(x) - 1), 1e-3);
    }
    for (double x = -20; x < 20; x += .37)
        ck_assert_double_lt(fabs(evidence_exp(x) / exp(x) - 1), 1e-3);
}
END_TEST

START_TEST(test_evidence__a_cold_first_call_is_forgotten)
{
    struct evidence e = {.rounds = 0};
    struct samples s;
    double seconds[EVIDENCE_ARMS] = {3, 1};

    evidence_add(&e, seconds);
    seconds[0] = 1;
    evidence_add(&e, seconds);
    evidence_samples(&e, &s);
    ck_assert_int_eq(s.n[0], 1);
    ck_assert_int_eq(s.n[1], 2);
    ck_assert_double_lt(fabs(s.log[1][0]), 1e-2);
}
END_TEST

/* One that took over three times as long as usual does not count; half of them do. */
START_TEST(test_evidence__a_call_that_is_held_up_does_not_count)
{
    struct evidence e = {.rounds = 0};
    struct samples s;

    for (int r = 0; r < 20; r++)
        evidence_add(&e, (double[EVIDENCE_ARMS]){r == 7 ? 9 : 1, 1});
    evidence_samples(&e, &s);
    ck_assert_int_eq(s.n[0], 19);
    ck_assert_int_eq(s.n[1], 20);
    ck_assert_int_eq(s.held_up, 1);
    ck_assert_double_eq(s.tail[1], 0);
}
END_TEST

Suite *suite_evidence(void)
{
    Suite *s = suite_create("evidence");
    TCase *t = tcase_create("samples");

    tcase_add_test(t, test_evidence__logarithms_are_right);
    tcase_add_test(t, test_evidence__a_cold_first_call_is_forgotten);
    tcase_add_test(t, test_evidence__a_call_that_is_held_up_does_not_count);
    suite_add_tcase(s, t);
    return s;
}
