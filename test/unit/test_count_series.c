/* SPDX-License-Identifier: BSD-3-Clause */
/* Time over a process's calls, in a list of a fixed size. Check runs each test in a process of its
   own. */
#include <check.h>
#include <stdlib.h>

#include "shim/record/counts/count.h"
#include "shim/record/counts/count_series.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { K = 20 };

static const struct count_series *series(void)
{
    return count_series_of(COLL_ALLREDUCE, K);
}

static void want_valid(void)
{
    const struct count_series *s = series();
    uint64_t end = 0;

    ck_assert_int_gt(s->n, 0);
    ck_assert_int_le(s->n, COUNT_BLOCKS);
    ck_assert_int_le(s->taken, COUNT_OF_BLOCK);
    for (int i = 0; i < s->n; i++) {
        const struct count_block *b = &s->block[i];

        ck_assert_uint_gt(b->from, end);
        ck_assert_uint_ge(b->calls, 1);
        ck_assert_uint_le(b->calls, s->longest);
        end = b->from + b->calls - 1;
    }
    ck_assert_uint_eq(end, s->calls);
}

START_TEST(test_count_series__calls_of_one_contender_are_blocks_of_one_length)
{
    for (int i = 1; i <= 100000; i++) {
        count_series_add(COLL_ALLREDUCE, K, 3, 10);
        want_valid();
    }
    ck_assert_ptr_null(count_series_of(COLL_ALLREDUCE, K + 1));
    ck_assert_int_gt(series()->n, COUNT_BLOCKS / 4);
    ck_assert_uint_eq(series()->longest, 2048);
    ck_assert_uint_eq(series()->block[0].calls, 2048);
    ck_assert_double_eq(series()->block[0].us, 10);
}
END_TEST

START_TEST(test_count_series__trials_stay_blocks_of_their_own)
{
    for (int i = 1; i <= 5000; i++)
        count_series_add(COLL_ALLREDUCE, K, i % 500 == 1 ? COUNT_LIBRARY : 3,
                         i % 500 == 1 ? 90 : 10);
    int trials = 0;
    for (int i = 0; i < series()->n; i++)
        if (series()->block[i].row == COUNT_LIBRARY) {
            ck_assert_uint_eq(series()->block[i].from % 500, 1);
            ck_assert_uint_eq(series()->block[i].calls, 1);
            ck_assert_double_eq(series()->block[i].us, 90);
            trials++;
        } else {
            ck_assert_double_eq(series()->block[i].us, 10);
        }
    ck_assert_int_eq(trials, 10);
}
END_TEST

START_TEST(test_count_series__contenders_that_alternate_both_stay)
{
    struct rng r = {1};
    int n[2] = {0};

    for (int i = 1; i <= 20000; i++) {
        count_series_add(COLL_ALLREDUCE, K, rng_below(&r, 2) ? COUNT_LIBRARY : 3, 10);
        want_valid();
    }
    for (int i = 0; i < series()->n; i++)
        n[series()->block[i].row == 3]++;
    ck_assert_int_gt(n[0], COUNT_BLOCKS / 8);
    ck_assert_int_gt(n[1], COUNT_BLOCKS / 8);
}
END_TEST

START_TEST(test_count_series__a_call_that_was_held_up_moves_no_median)
{
    for (int i = 1; i <= 100000; i++)
        count_series_add(COLL_ALLREDUCE, K, 3, i % 7 ? 10 : 1e6);
    const struct count_series *s = series();
    ck_assert_double_eq(s->block[s->n - 2].us, 10);
}
END_TEST

START_TEST(test_count_series__the_first_verdicts_and_the_last_are_kept)
{
    count_series_verdict(COLL_ALLREDUCE, K, 1); /* without a call there is no list */
    for (int i = 1; i <= 20; i++) {
        count_series_add(COLL_ALLREDUCE, K, 3, 10);
        count_series_verdict(COLL_ALLREDUCE, K, i & 1);
    }
    ck_assert_int_eq(series()->verdicts, COUNT_VERDICTS);
    for (int i = 0; i < COUNT_VERDICTS; i++) {
        uint64_t call = i + 1 < COUNT_VERDICTS ? (uint64_t)i + 1 : 20;

        ck_assert_uint_eq(series()->verdict[i].call, call);
        ck_assert_int_eq(series()->verdict[i].rerouted, call & 1);
    }
}
END_TEST

Suite *suite_count_series(void)
{
    Suite *s = suite_create("count_series");
    TCase *t = tcase_create("count_series");

    tcase_add_test(t, test_count_series__calls_of_one_contender_are_blocks_of_one_length);
    tcase_add_test(t, test_count_series__trials_stay_blocks_of_their_own);
    tcase_add_test(t, test_count_series__contenders_that_alternate_both_stay);
    tcase_add_test(t, test_count_series__a_call_that_was_held_up_moves_no_median);
    tcase_add_test(t, test_count_series__the_first_verdicts_and_the_last_are_kept);
    suite_add_tcase(s, t);
    return s;
}
