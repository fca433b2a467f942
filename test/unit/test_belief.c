/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of a sample of one contender on the others. */
#include <check.h>
#include <math.h>

#include "shim/decide/guard/worth.h"
#include "test/unit/suites.h"

enum { CONTENDERS = 5 };
static const double predicted[CONTENDERS] = {0, 0, .1, .2, .3};

/* A round of the library's choice and contender i, which takes so many times as long. */
static struct belief learned(int i, double times)
{
    struct samples s = {.rounds = 1, .in = {(uint8_t)(1u << i | 1)}};
    struct belief b;
    int to[EVIDENCE_ARMS];

    belief_begin(&b, predicted, CONTENDERS);
    for (int k = 0; k < EVIDENCE_ARMS; k++) {
        to[k] = k < CONTENDERS ? k : -1;
        s.variance[k] = .01;
    }
    s.log[0][i] = log(times);
    belief_learn(&b, &s, to);
    return b;
}

START_TEST(test_belief__all_reroutes_share_an_error)
{
    for (int i = 1; i < CONTENDERS; i++) {
        struct belief b = learned(i, 9), before;

        belief_begin(&before, predicted, CONTENDERS);
        for (int k = 1; k < CONTENDERS; k++) {
            double moved = belief_compare(&b, k, 0).mean - belief_compare(&before, k, 0).mean;

            if (k == i)
                ck_assert_double_gt(moved, log(9) - .6);
            else
                ck_assert_msg(moved > .6 && moved < log(9), "%d is slow: %d moves by %g", i, k,
                              moved);
        }
    }
}
END_TEST

Suite *suite_belief(void)
{
    Suite *s = suite_create("belief");
    TCase *t = tcase_create("shared");

    tcase_add_test(t, test_belief__all_reroutes_share_an_error);
    suite_add_tcase(s, t);
    return s;
}
