/* SPDX-License-Identifier: BSD-3-Clause */
/* The roll, and what the command concludes from those of several ranks. */
#include <check.h>
#include <stdlib.h>

#include "shim/cli/stuck/verdict.h"
#include "shim/record/roll/roll.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { RANKS = 3, PATIENCE = 1 };

static void place(void)
{
    struct roll *memory = aligned_alloc(64, sizeof *memory);

    ck_assert_ptr_nonnull(memory);
    *memory = (struct roll){0};
    roll_place(memory);
}

START_TEST(test_roll__a_handle_leads_to_its_line_until_it_is_gone)
{
    int known;

    place();
    struct roll_line *l = roll_add(0x1000, 7, RANKS, 1);
    ck_assert_ptr_nonnull(l);
    ck_assert_ptr_eq(roll_find(0x1000, &known), l);
    roll_drop(0x1000);
    ck_assert_ptr_null(roll_find(0x1000, &known));
    ck_assert(!known);
}
END_TEST

/* Handles as objects lie in a heap. */
START_TEST(test_roll__all_lines_are_in_reach)
{
    struct rng r = {1};
    uintptr_t handle = 0x55d0c8a01230;

    place();
    for (int n = 1; n <= ROLL_LINES; n++, handle += 16 * (1 + (uintptr_t)rng_below(&r, 200)))
        ck_assert_ptr_nonnull(roll_add(handle, (uint64_t)n, RANKS, 0));
}
END_TEST

/* A communicator that is numbered anew with each call would cost, and get wrong numbers. */
START_TEST(test_roll__without_room_each_handle_is_known)
{
    uintptr_t handle = 0;
    int known = 0;

    place();
    do
        handle += 0x1000;
    while (roll_add(handle, handle, RANKS, 0));
    ck_assert(roll->full);
    for (uintptr_t other = handle; other < handle + 0x100000; other += 0x1000) {
        ck_assert_ptr_null(roll_find(other, &known));
        ck_assert(known);
    }
}
END_TEST

/* Ranks that wait in the second call of a communicator of RANKS. */
struct job {
    struct stuck_line line[RANKS];
    struct stuck_process process[RANKS];
};

static void wait_in_a_call(struct job *j, double age)
{
    *j = (struct job){0};
    for (int r = 0; r < RANKS; r++) {
        j->line[r] = (struct stuck_line){
            .id = 9,
            .number = 2,
            .inside = 1,
            .size = RANKS,
            .rank = r,
            .age = age,
            .calls = 1,
            .call = {{.number = 2, .what = ROLL_Allreduce, .root = ROLL_NO_ROOT, .where = ""}}};
        j->process[r] = (struct stuck_process){.host = "a",
                                               .pid = 10 + r,
                                               .rank = r,
                                               .size = RANKS,
                                               .here = RANKS,
                                               .state = 'S',
                                               .lines = 1,
                                               .line = &j->line[r]};
    }
}

/* Seconds until it is stuck. */
static double left(const struct job *j)
{
    struct verdict v;

    ck_assert_int_eq(verdict_of(&v, j->process, RANKS, PATIENCE), 0);
    double seconds = v.left;
    ck_assert_int_eq(v.stuck, seconds <= 0);
    verdict_free(&v);
    return seconds;
}

START_TEST(test_roll__a_rank_that_is_behind_is_to_blame)
{
    struct job j;

    wait_in_a_call(&j, 2 * PATIENCE);
    ck_assert_double_eq(left(&j), 8 * PATIENCE); /* all are in */
    j.line[1].number = 1;
    j.line[1].inside = 0;
    ck_assert_double_eq(left(&j), -PATIENCE);
    j.line[1].age = 0.25 * PATIENCE; /* it has just done something */
    ck_assert_double_eq(left(&j), 0.75 * PATIENCE);
}
END_TEST

START_TEST(test_roll__a_rank_without_room_for_a_line_is_not_missed)
{
    struct job j;
    struct verdict v;

    wait_in_a_call(&j, 2 * PATIENCE);
    j.process[1].lines = 0;
    for (int full = 0; full < 2; full++) {
        j.process[1].full = full;
        ck_assert_int_eq(verdict_of(&v, j.process, RANKS, PATIENCE), 0);
        ck_assert_int_eq(v.group[0].absent, !full);
        verdict_free(&v);
    }
}
END_TEST

/* The others may have exited, and the call that it started last is over. */
START_TEST(test_roll__a_rank_behind_finalize_waits_for_nobody)
{
    struct job j;
    struct verdict v;

    wait_in_a_call(&j, 2 * PATIENCE);
    j.line[0].inside = 0;
    j.line[0].call[0].form = ROLL_STARTED;
    for (int ended = 0; ended < 2; ended++) {
        j.process[0].ended = ended;
        ck_assert_int_eq(verdict_of(&v, j.process, 1, PATIENCE), 0);
        ck_assert_int_eq(v.stuck, !ended);
        verdict_free(&v);
    }
}
END_TEST

Suite *suite_roll(void)
{
    Suite *s = suite_create("roll");
    TCase *t = tcase_create("roll");

    tcase_add_test(t, test_roll__a_handle_leads_to_its_line_until_it_is_gone);
    tcase_add_test(t, test_roll__all_lines_are_in_reach);
    tcase_add_test(t, test_roll__without_room_each_handle_is_known);
    tcase_add_test(t, test_roll__a_rank_that_is_behind_is_to_blame);
    tcase_add_test(t, test_roll__a_rank_without_room_for_a_line_is_not_missed);
    tcase_add_test(t, test_roll__a_rank_behind_finalize_waits_for_nobody);
    suite_add_tcase(s, t);
    return s;
}
