/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands: every part is done once and before the call returns, whoever comes in time. */
#define _GNU_SOURCE
#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "test/unit/suites.h"
#include "transports/hands.h"

struct count {
    atomic_int times[HANDS_MOST];
    int plain[HANDS_MOST]; /* what a part writes is seen by the caller */
    int round;
};

static void note(void *context, int part)
{
    struct count *c = context;

    atomic_fetch_add(&c->times[part], 1);
    c->plain[part] = c->round;
}

static struct hands *open_hands(int threads)
{
    struct hands *h = NULL;
    cpu_set_t cpus;

    ck_assert_int_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    ck_assert_int_eq(hands_open(threads, &cpus, sizeof cpus, &h), 0);
    ck_assert_int_eq(hands_count(h), threads + 1);
    return h;
}

START_TEST(test_hands__every_part_is_done_once)
{
    static const int threads[] = {1, 2, 3, HANDS_MOST - 1};
    struct hands *h = open_hands(threads[_i]);
    struct count c = {.round = 0};

    for (int round = 1; round <= 2000; round++) {
        int parts = 1 + round % (round % 7 ? 5 : HANDS_MOST);

        if (round % 100 == 1) /* with hands, and now and then while they sleep */
            (round % 300 == 1 ? hands_rest : hands_wake)(h);
        memset(&c, 0, sizeof c);
        c.round = round;
        hands_run(h, parts, note, &c);
        for (int i = 0; i < HANDS_MOST; i++) {
            ck_assert_int_eq(atomic_load(&c.times[i]), i < parts);
            ck_assert_int_eq(c.plain[i], i < parts ? round : 0);
        }
    }
    hands_close(h);
}
END_TEST

static void wait_for_another(void *context, int part)
{
    atomic_int *met = context;

    (void)part;
    atomic_fetch_add(met, 1);
    while (atomic_load(met) < 2) /* for ever, were both parts the caller's */
        sched_yield();
}

START_TEST(test_hands__parts_are_done_at_the_same_time)
{
    struct hands *h = open_hands(1);
    atomic_int met = 0;

    hands_wake(h);
    hands_run(h, 2, wait_for_another, &met);
    ck_assert_int_eq(atomic_load(&met), 2);
    hands_close(h);
}
END_TEST

Suite *suite_hands(void)
{
    Suite *s = suite_create("hands");
    TCase *t = tcase_create("hands");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_hands__every_part_is_done_once, 0, 4);
    tcase_add_test(t, test_hands__parts_are_done_at_the_same_time);
    suite_add_tcase(s, t);
    return s;
}
