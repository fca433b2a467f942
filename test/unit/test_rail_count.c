/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes per rail: counted, and merged for the report. Check runs each test in a process of its own.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "shim/record/counts/count.h"
#include "shim/record/counts/rail_count.h"
#include "shim/record/report/rail_report.h"
#include "test/unit/suites.h"

START_TEST(test_rail_count__calls_that_cross_add_up)
{
    const struct live_rail *r = &counters.live.rail;

    rail_count_call(&(struct load_link){.out = 1000, .in = 500}, 2e-3);
    rail_count_call(&(struct load_link){.in = 7}, 1e-3);
    rail_count_call(&(struct load_link){0}, 1);
    ck_assert_uint_eq(r->calls, 2);
    ck_assert_uint_eq(r->bytes[LIVE_OUT], 1000);
    ck_assert_uint_eq(r->bytes[LIVE_IN], 507);
    ck_assert_uint_eq(r->nanoseconds, 3000000);
}
END_TEST

START_TEST(test_rail_count__a_change_tells_what_was_and_until_when)
{
    const struct live_rail *r = &counters.live.rail;

    rail_count_measured(130, 130);
    ck_assert_uint_eq(r->can[LIVE_OUT], 130);
    rail_count_can(100, 100); /* the first that plans are for: no change */
    rail_count_measured(7, 7);
    ck_assert_uint_eq(r->can[LIVE_IN], 100);
    for (int i = 0; i < 412; i++)
        rail_count_call(&(struct load_link){.out = 1}, 0);
    rail_count_can(0, 0);
    rail_count_can(95, 104); /* measuring differs by as much */
    ck_assert_uint_eq(r->could[LIVE_OUT] + r->could[LIVE_IN] + r->changed_at, 0);
    rail_count_can(25, 104);
    ck_assert_uint_eq(r->can[LIVE_OUT], 25);
    ck_assert_uint_eq(r->could[LIVE_OUT], 95);
    ck_assert_uint_eq(r->could[LIVE_IN], 104);
    ck_assert_uint_eq(r->changed_at, 412);
}
END_TEST

static struct rail_row row(const char *host, int rank, uint64_t number, uint64_t out, uint64_t ns)
{
    struct rail_row r = {.rank = rank,
                         .rail = {.number = number,
                                  .calls = 3,
                                  .nanoseconds = ns,
                                  .bytes = {[LIVE_OUT] = out},
                                  .can = {out, out}}};

    strncpy(r.host, host, sizeof r.host - 1);
    return r;
}

static void is_row(const struct rail_row *r, const char *host, int number, int ranks, uint64_t out)
{
    ck_assert_str_eq(r->host, host);
    ck_assert_int_eq((int)r->number, number);
    ck_assert_int_eq(r->ranks, ranks);
    ck_assert_uint_eq(r->rail.bytes[LIVE_OUT], out);
}

START_TEST(test_rail_report__a_rank_has_the_rail_of_its_place_on_its_host)
{
    struct rail_row rows[] = {row("b", 3, 0, 30, 0), row("a", 4, 0, 4, 0), row("b", 1, 0, 10, 0),
                              row("a", 0, 0, 1, 0), row("a", 2, 0, 2, 0)};

    ck_assert_int_eq(rail_rows_merge(rows, 5), 5);
    is_row(&rows[0], "a", 0, 1, 1);
    is_row(&rows[1], "a", 1, 1, 2);
    is_row(&rows[2], "a", 2, 1, 4);
    is_row(&rows[3], "b", 0, 1, 10);
    is_row(&rows[4], "b", 1, 1, 30);
    ck_assert_double_eq_tol(rail_row_share(rows, 5, 4, LIVE_OUT), 0.75, 1e-9);
    ck_assert_double_eq_tol(rail_row_share(rows, 5, 4, LIVE_IN), 0, 1e-9);
}
END_TEST

START_TEST(test_rail_report__ranks_that_share_a_rail_are_one_row)
{
    struct rail_row rows[] = {
        row("a", 0, LIVE_RAIL_FIRST + 1, 5, 70), row("a", 1, LIVE_RAIL_FIRST, 6, 50),
        row("a", 2, LIVE_RAIL_FIRST + 1, 7, 90), row("a", 3, LIVE_RAIL_ALL, 8, 1)};

    rows[2].rail.changed_at = 9;
    rows[2].rail.could[LIVE_OUT] = 77;
    ck_assert_int_eq(rail_rows_merge(rows, 4), 3);
    is_row(&rows[0], "a", -1, 1, 8);
    is_row(&rows[1], "a", 0, 1, 6);
    is_row(&rows[2], "a", 1, 2, 12);
    ck_assert_uint_eq(rows[2].rail.nanoseconds, 90); /* they ran at the same time */
    ck_assert_uint_eq(rows[2].rail.calls, 3);
    ck_assert_uint_eq(rows[2].rail.could[LIVE_OUT], 77);
    ck_assert_uint_eq(rows[2].rail.can[LIVE_OUT], 7);
}
END_TEST

START_TEST(test_rail_report__hosts_of_one_name_are_told_apart)
{
    struct rail_row rows[] = {row("a", 0, 0, 5, 0), row("a", 1, 0, 6, 0)};

    rows[1].host_key = 1;
    ck_assert_int_eq(rail_rows_merge(rows, 2), 2);
    is_row(&rows[0], "a", 0, 1, 5);
    is_row(&rows[1], "a", 0, 1, 6);
}
END_TEST

/* The report's text for rows[n]; the caller frees it. */
static char *printed(const struct rail_row *rows, int n)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    struct json j = json_begin(f);

    j.line = 1;
    json_open(&j, NULL, '{');
    rail_report(&j, rows, n);
    json_close(&j, '}');
    fclose(f);
    return text;
}

START_TEST(test_rail_report__without_traffic_there_are_no_rails)
{
    struct rail_row rows[] = {row("a", 0, 0, 5, 1000000000), row("b", 1, 0, 6, 0)};
    char *text;

    rail_rows_merge(rows, 2);
    text = printed(rows, 2);
    ck_assert_ptr_nonnull(strstr(text, "\"sent_bytes_per_s\":5,\"can_send_bytes_per_s\":5"));
    ck_assert_ptr_nonnull(strstr(text, "\"sent_bytes_per_s\":null")); /* no time: no rate */
    free(text);
    rows[0].rail.calls = rows[1].rail.calls = 0;
    text = printed(rows, 2);
    ck_assert_str_eq(text, "{\"rails\":[],\"rails_not_listed\":0}\n");
    free(text);
}
END_TEST

Suite *suite_rail_count(void)
{
    Suite *s = suite_create("rail_count");
    TCase *t = tcase_create("rail_count");

    tcase_add_test(t, test_rail_count__calls_that_cross_add_up);
    tcase_add_test(t, test_rail_count__a_change_tells_what_was_and_until_when);
    tcase_add_test(t, test_rail_report__a_rank_has_the_rail_of_its_place_on_its_host);
    tcase_add_test(t, test_rail_report__ranks_that_share_a_rail_are_one_row);
    tcase_add_test(t, test_rail_report__hosts_of_one_name_are_told_apart);
    tcase_add_test(t, test_rail_report__without_traffic_there_are_no_rails);
    suite_add_tcase(s, t);
    return s;
}
