/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "shim/record/waits/meeting.h"
#include "test/unit/suites.h"

enum { RANKS = 3, MS = 1000000 };

/* A call as its ranks had it. */
struct made {
    unsigned collective;
    int root;
    uint64_t entry[RANKS], exit[RANKS], work[RANKS];
    struct host_clock clock[RANKS];
};

static struct sample sample_of(const struct made *c, int r)
{
    return (struct sample){.number = 1,
                           .entry = c->entry[r],
                           .exit = c->exit[r],
                           .work = c->work[r],
                           .role = (uint8_t)sample_role(c->collective, r == c->root)};
}

/* Put together, those that are whole: 1 or 0. wait: of each rank. */
static size_t meet(const struct made *c, struct meeting *met, uint64_t *wait)
{
    struct series_key key = {.comm = 7, .ranks = RANKS, .collective = c->collective};
    struct meetings m = {0};
    size_t n;

    for (int i = 0; i < RANKS; i++) {
        int r = (i + 1) % RANKS; /* the order must not matter */
        struct sample s = sample_of(c, r);
        struct meeting one = meeting_of(&key, &s, &c->clock[r], r);

        ck_assert_int_eq(meetings_add(&m, &one, 1), 0);
    }
    meetings_keep_whole(&m);
    n = m.n;
    if (n)
        *met = m.list[0];
    for (int r = 0; r < RANKS && n; r++) {
        struct sample s = sample_of(c, r);

        wait[r] = meeting_wait(met, &c->clock[r], &s);
    }
    free(m.list);
    return n;
}

static const struct made late_1 = {.collective = COLL_ALLREDUCE,
                                   .entry = {10 * MS, 14 * MS, 11 * MS},
                                   .exit = {15 * MS, 15 * MS, 16 * MS},
                                   .work = {2 * MS, 6 * MS, 3 * MS}};

START_TEST(test_waits__the_rank_that_worked_longer_is_late)
{
    struct meeting met;
    uint64_t wait[RANKS];

    ck_assert_uint_eq(meet(&late_1, &met, wait), 1);
    ck_assert(meeting_is_late(&met));
    ck_assert_int_eq(met.late_rank, 1);
    ck_assert_uint_eq(wait[0], 4 * MS);
    ck_assert_uint_eq(wait[1], 0);
    ck_assert_uint_eq(wait[2], 3 * MS);
}
END_TEST

/* Rank 1 left the collective before late, over a slow rail, and worked as long as the others. */
START_TEST(test_waits__time_lost_in_the_collective_before_is_no_ranks_fault)
{
    struct made c = late_1;
    struct meeting met;
    uint64_t wait[RANKS];

    for (int r = 0; r < RANKS; r++)
        c.work[r] = 2 * MS;
    ck_assert_uint_eq(meet(&c, &met, wait), 1);
    ck_assert(!meeting_is_late(&met));
    for (int r = 0; r < RANKS; r++)
        ck_assert_uint_eq(wait[r], 0);
    c.work[1] = 3 * MS; /* of its 4 ms, 1 is its own */
    ck_assert_uint_eq(meet(&c, &met, wait), 1);
    ck_assert_uint_eq(wait[0], MS);
}
END_TEST

START_TEST(test_waits__who_waits_follows_from_the_collective)
{
    static const struct {
        unsigned collective;
        int root, whole, late; /* late -1: no rank made others wait */
        uint64_t wait[RANKS];
    } rows[] = {{COLL_BCAST, 1, 1, 1, {4 * MS, 0, 3 * MS}},
                {COLL_BCAST, 0, 1, -1, {0}},
                {COLL_SCATTERV, 1, 1, 1, {4 * MS, 0, 3 * MS}},
                {COLL_REDUCE, 0, 1, 1, {4 * MS, 0, 0}},
                {COLL_GATHER, 1, 1, -1, {0}},
                {SITE_BARRIER, -1, 1, 1, {4 * MS, 0, 3 * MS}},
                {COLL_SCAN, -1, 0, -1, {0}},
                {COLL_NEIGHBOR_ALLTOALL, -1, 0, -1, {0}}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made c = late_1;
        struct meeting met = {0};
        uint64_t wait[RANKS] = {0};

        c.collective = rows[i].collective;
        c.root = rows[i].root;
        ck_assert_int_eq((int)meet(&c, &met, wait), rows[i].whole);
        ck_assert_int_eq(rows[i].whole && meeting_is_late(&met) ? met.late_rank : -1, rows[i].late);
        for (int r = 0; r < RANKS; r++)
            ck_assert_msg(wait[r] == rows[i].wait[r], "row %zu, rank %d: %llu ns", i, r,
                          (unsigned long long)wait[r]);
    }
}
END_TEST

START_TEST(test_waits__the_last_message_between_hosts_is_found_in_any_order)
{
    /* By its own clock rank 2 comes before rank 0. */
    const struct host_clock behind = {.offset_from = 5 * MS, .offset_to = 5 * MS}, none = {0};
    static const uint64_t landed[RANKS] = {13 * MS, 0, 9 * MS};
    struct series_key key = {.comm = 7, .ranks = RANKS, .collective = COLL_ALLREDUCE};

    for (int from = 0; from < RANKS; from++) {
        struct meetings m = {0};

        for (int i = 0; i < RANKS; i++) {
            int r = (from + i) % RANKS;
            struct sample s = sample_of(&late_1, r);

            s.landed = landed[r];
            struct meeting one = meeting_of(&key, &s, r == 2 ? &behind : &none, r);
            ck_assert_int_eq(one.last_rank, r == 1 ? -1 : r);
            ck_assert_int_eq(meetings_add(&m, &one, 1), 0);
        }
        ck_assert_int_eq(m.list[0].last_rank, 2);
        free(m.list);
    }
}
END_TEST

START_TEST(test_waits__ranks_whose_rails_were_last_most_often_stay_in_a_row)
{
    struct site_waits w = {0};

    for (int r = 0; r < 100; r++)
        site_add_last(&w, &(struct site_last){.rank = r, .times = r == 50 ? 9 : 2});
    site_add_last(&w, &(struct site_last){.rank = 50, .times = 1});
    site_add_last(&w, &(struct site_last){.rank = 3});
    for (int i = 0, found = 0; i < SITE_LATE; i++) {
        found += w.last[i].rank == 50 && w.last[i].times == 10;
        ck_assert(w.last[i].times >= 2);
        ck_assert(i + 1 < SITE_LATE || found);
    }
}
END_TEST

START_TEST(test_waits__the_next_call_that_is_kept_is_known)
{
    struct series *s = series_make(&(struct series_key){.comm = 5, .ranks = RANKS});
    int kept = 0;

    for (uint64_t i = 1; i <= 20000; i++) {
        int keeps = series_keeps_next(s);

        series_add(s, (struct sample){0});
        int is_there = s->n > 0 && s->kept[s->n - 1].number == i;
        ck_assert(keeps || !is_there);
        kept += keeps;
    }
    ck_assert_int_ge(kept, SAMPLES);
    ck_assert_int_le(kept, 10 * SAMPLES); /* 256, then half of it each time that a series is full */
    series_end(s);
}
END_TEST

START_TEST(test_waits__clocks_are_compared_and_those_that_jumped_are_not)
{
    struct made c = late_1;
    struct meeting met;
    uint64_t wait[RANKS];

    /* Rank 2's clock is 5 s behind, and loses 1 us in each of the job's 20 ms. */
    c.clock[2] = (struct host_clock){
        .to = 20 * MS, .offset_from = 5000ll * MS, .offset_to = 5000ll * MS + 1000};
    for (int r = 0; r < 2; r++) {
        c.entry[r] += 5000ll * MS;
        c.exit[r] += 5000ll * MS;
    }
    ck_assert(!clock_has_jumped(&c.clock[2]));
    ck_assert_uint_eq(meet(&c, &met, wait), 1);
    ck_assert_int_eq(met.late_rank, 1);
    ck_assert_uint_eq(wait[2], 3 * MS - 550);
    c.clock[2].offset_to += 3 * MS;
    ck_assert(clock_has_jumped(&c.clock[2]));
    c.clock[2].domain = 9;
    ck_assert_uint_eq(meet(&c, &met, wait), 0);
    for (int r = 0; r < RANKS; r++) /* all on that host: its clock is good enough for them */
        c.clock[r] = c.clock[2];
    c.entry[2] += 5000ll * MS;
    c.exit[2] += 5000ll * MS;
    ck_assert_uint_eq(meet(&c, &met, wait), 1);
}
END_TEST

START_TEST(test_waits__what_does_not_fit_together_is_dropped)
{
    struct series_key key = {.comm = 7, .ranks = RANKS, .collective = COLL_ALLREDUCE};
    struct made c = late_1;
    struct meetings m = {0};
    struct meeting met;
    uint64_t wait[RANKS];

    for (int r = 0; r < 2; r++) { /* one rank is missing */
        struct sample s = sample_of(&c, r);
        struct meeting one = meeting_of(&key, &s, &c.clock[r], r);

        ck_assert_int_eq(meetings_add(&m, &one, 1), 0);
    }
    meetings_keep_whole(&m);
    ck_assert_uint_eq(m.n, 0);
    free(m.list);
    c.exit[0] = 11 * MS; /* before rank 1 came: a call of no bytes, or miscounted */
    ck_assert_uint_eq(meet(&c, &met, wait), 0);
}
END_TEST

static struct series *filled(uint64_t seed)
{
    struct series *s = series_make(&(struct series_key){.comm = 5, .ranks = RANKS});

    for (uint64_t i = 0; i < 100000; i++)
        series_add(s, (struct sample){.entry = i * seed});
    return s;
}

START_TEST(test_waits__all_ranks_keep_the_same_calls)
{
    struct series *a = filled(1), *b = filled(977);
    int quarter[4] = {0}, odd = 0;

    ck_assert_int_eq(a->n, b->n);
    ck_assert_int_gt(a->n, SAMPLES / 4);
    ck_assert_int_le(a->n, SAMPLES);
    for (int i = 0; i < a->n; i++) {
        ck_assert_uint_eq(a->kept[i].number, b->kept[i].number);
        quarter[(a->kept[i].number - 1) / 25000]++;
        odd += a->kept[i].number & 1;
    }
    for (int q = 0; q < 4; q++) /* of the whole job, and of each line of a loop */
        ck_assert_int_gt(quarter[q], a->n / 8);
    ck_assert_int_gt(odd, a->n / 4);
    ck_assert_int_lt(odd, a->n * 3 / 4);
    series_end(a);
    series_end(b);
}
END_TEST

START_TEST(test_waits__communicators_that_end_leave_some_samples)
{
    struct sample_place at = {0};
    struct series_key key;
    int n = 0;

    for (uint64_t c = 1; c <= 20000; c++) {
        struct series *s = series_make(&(struct series_key){.comm = c, .ranks = 2});

        ck_assert_ptr_nonnull(s);
        series_add(s, (struct sample){.entry = c});
        series_end(s);
    }
    while (sample_next(&at, &key))
        n++;
    ck_assert_int_gt(n, ENDED_MOST / 4);
    ck_assert_int_le(n, ENDED_MOST);
}
END_TEST

START_TEST(test_waits__late_ranks_that_cost_most_stay_in_a_row)
{
    struct site_waits w = {0};

    for (int turn = 0; turn < 2; turn++)
        for (int r = 0; r < 100; r++)
            site_add_late(
                &w, &(struct site_late){.rank = r, .times = 1, .ns = r == 3 ? 1000 : (uint64_t)r});
    for (int i = 0, found = 0; i < SITE_LATE; i++) {
        found += w.late[i].rank == 3;
        if (w.late[i].rank == 3)
            ck_assert_uint_eq(w.late[i].ns, 2000);
        ck_assert(i + 1 < SITE_LATE || found);
    }
}
END_TEST

Suite *suite_waits(void)
{
    Suite *s = suite_create("waits");
    TCase *c = tcase_create("waits");

    tcase_add_test(c, test_waits__the_rank_that_worked_longer_is_late);
    tcase_add_test(c, test_waits__time_lost_in_the_collective_before_is_no_ranks_fault);
    tcase_add_test(c, test_waits__who_waits_follows_from_the_collective);
    tcase_add_test(c, test_waits__clocks_are_compared_and_those_that_jumped_are_not);
    tcase_add_test(c, test_waits__the_last_message_between_hosts_is_found_in_any_order);
    tcase_add_test(c, test_waits__ranks_whose_rails_were_last_most_often_stay_in_a_row);
    tcase_add_test(c, test_waits__the_next_call_that_is_kept_is_known);
    tcase_add_test(c, test_waits__what_does_not_fit_together_is_dropped);
    tcase_add_test(c, test_waits__all_ranks_keep_the_same_calls);
    tcase_add_test(c, test_waits__communicators_that_end_leave_some_samples);
    tcase_add_test(c, test_waits__late_ranks_that_cost_most_stay_in_a_row);
    suite_add_tcase(s, c);
    return s;
}
