/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for calls: kept for the next one, up to the limit, and not for ever. */
#define _GNU_SOURCE
#include <check.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "test/unit/suites.h"
#include "transports/base/host_memory.h"

enum { MIB = 1 << 20, STALE = 64 };

static long faults(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

static void keep_a_few(void)
{
    host_memory_keep(0);
    host_memory_keep((size_t)100 * MIB);
    ck_assert_uint_eq(host_memory_kept(), (size_t)100 * MIB);
    ck_assert_uint_eq(host_memory_idle(), 0);
}

static void keep_none(void)
{
    host_memory_keep(0);
    ck_assert_uint_eq(host_memory_idle(), 0);
}

START_TEST(test_host_memory__the_next_call_pays_for_no_page_faults)
{
    const size_t bytes = (size_t)80 * MIB - 17;
    void *first = host_memory_take(bytes);

    ck_assert_ptr_nonnull(first);
    ck_assert_uint_eq((uintptr_t)first % 64, 0);
    memset(first, 1, bytes);
    host_memory_give(first);
    ck_assert_uint_ge(host_memory_idle(), bytes);
    for (int i = 0; i < 3; i++) {
        long before = faults();
        char *again = host_memory_take(bytes - (size_t)i * MIB);

        ck_assert_ptr_eq(again, first);
        memset(again, i, bytes - (size_t)i * MIB);
        ck_assert_int_lt(faults() - before, 16); /* 20,000 small pages, or 40 huge ones */
        host_memory_give(again);
    }
}
END_TEST

START_TEST(test_host_memory__two_calls_have_a_block_each)
{
    char *a = host_memory_take(2 * MIB), *b = host_memory_take(2 * MIB);

    memset(a, 1, 2 * MIB);
    memset(b, 2, 2 * MIB);
    for (int i = 0; i < 2 * MIB; i++)
        ck_assert(a[i] == 1 && b[i] == 2);
    host_memory_give(a);
    host_memory_give(b);
    char *c = host_memory_take(2 * MIB), *d = host_memory_take(2 * MIB);
    ck_assert((c == a && d == b) || (c == b && d == a));
    host_memory_give(c);
    host_memory_give(d);
}
END_TEST

START_TEST(test_host_memory__no_more_is_idle_than_is_kept)
{
    void *a = host_memory_take((size_t)60 * MIB), *b = host_memory_take((size_t)60 * MIB);

    host_memory_give(a);
    host_memory_give(b);
    ck_assert_uint_eq(host_memory_idle(), (size_t)60 * MIB);
    ck_assert_ptr_eq(host_memory_take((size_t)60 * MIB), b); /* the one that is still warm */
    host_memory_give(b);
    a = host_memory_take((size_t)101 * MIB);
    host_memory_give(a);
    ck_assert_uint_eq(host_memory_idle(), (size_t)60 * MIB);
    host_memory_keep((size_t)59 * MIB);
    ck_assert_uint_eq(host_memory_idle(), 0);
}
END_TEST

START_TEST(test_host_memory__what_no_call_takes_any_more_is_released)
{
    void *large = host_memory_take((size_t)60 * MIB);

    host_memory_give(large);
    for (int i = 0; i < STALE; i++) {
        host_memory_give(host_memory_take(2 * MIB));
        ck_assert_uint_eq(host_memory_idle(), (size_t)62 * MIB);
    }
    host_memory_give(host_memory_take(2 * MIB));
    ck_assert_uint_eq(host_memory_idle(), (size_t)2 * MIB);
}
END_TEST

START_TEST(test_host_memory__below_1_mib_blocks_are_mallocs)
{
    void *none = host_memory_take(0), *small = host_memory_take(MIB - 1);

    ck_assert_ptr_nonnull(none);
    memset(small, 1, MIB - 1);
    ck_assert_uint_eq((uintptr_t)small % _Alignof(max_align_t), 0);
    host_memory_give(none);
    host_memory_give(small);
    host_memory_give(NULL);
    ck_assert_uint_eq(host_memory_idle(), 0);
    host_memory_give(host_memory_take(MIB));
    ck_assert_uint_eq(host_memory_idle(), MIB);
}
END_TEST

START_TEST(test_host_memory__there_may_be_none)
{
    ck_assert_ptr_null(host_memory_take((size_t)1 << 60));
    ck_assert_ptr_null(host_memory_take(SIZE_MAX));
    ck_assert_ptr_null(host_memory_take(SIZE_MAX - 100));
}
END_TEST

static void *take_and_give(void *rank)
{
    for (int i = 0; i < 300; i++) {
        size_t bytes = (size_t)(1 + (i * 7 + (int)(intptr_t)rank) % 5) * MIB;
        char *at = host_memory_take(bytes);

        if (!at)
            return rank;
        for (size_t page = 0; page < bytes; page += 4096)
            at[page] = (char)(intptr_t)rank;
        for (size_t page = 0; page < bytes; page += 4096)
            if (at[page] != (char)(intptr_t)rank)
                return rank;
        host_memory_give(at);
    }
    return NULL;
}

START_TEST(test_host_memory__threads_do_not_share_blocks)
{
    pthread_t thread[4];
    void *wrong;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, take_and_give, (void *)(intptr_t)(i + 1)),
                         0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
    ck_assert_uint_le(host_memory_idle(), (size_t)100 * MIB);
}
END_TEST

Suite *suite_host_memory(void)
{
    Suite *s = suite_create("host_memory");
    TCase *t = tcase_create("host_memory");

    tcase_add_checked_fixture(t, keep_a_few, keep_none);
    tcase_add_test(t, test_host_memory__the_next_call_pays_for_no_page_faults);
    tcase_add_test(t, test_host_memory__two_calls_have_a_block_each);
    tcase_add_test(t, test_host_memory__no_more_is_idle_than_is_kept);
    tcase_add_test(t, test_host_memory__what_no_call_takes_any_more_is_released);
    tcase_add_test(t, test_host_memory__below_1_mib_blocks_are_mallocs);
    tcase_add_test(t, test_host_memory__there_may_be_none);
    tcase_add_test(t, test_host_memory__threads_do_not_share_blocks);
    suite_add_tcase(s, t);
    return s;
}
