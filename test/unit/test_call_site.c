/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "shim/record/report/call_site_merge.h"
#include "shim/record/report/call_site_report.h"
#include "shim/record/report/job.h"
#include "shim/record/sites/call_site.h"
#include "shim/record/sites/call_site_table.h"
#include "shim/record/sites/caller.h"
#include "shim/record/sites/histogram.h"
#include "test/unit/suites.h"

static void setup(void)
{
    ck_assert_int_eq(site_table_open(), 0);
    memset(site_table, 0, sizeof *site_table);
    site_table->sites = site_table->rows = 1;
    site_table->row[SITE_OTHERS].key.collective = UINT8_MAX;
}

START_TEST(test_site__a_quantile_is_within_an_eighth)
{
    for (uint64_t ns = 330; ns < 1ull << 39; ns = ns * 9 / 8 + 1) {
        uint32_t bins[HISTOGRAM_BINS] = {0};

        bins[histogram_bin(ns)] = 100;
        double got = histogram_quantile(bins, 0.5) / (double)ns;
        ck_assert_msg(got > 0.875 && got < 1.125, "%llu ns: %g", (unsigned long long)ns, got);
    }
    ck_assert_int_eq(histogram_bin(0), 0);
    ck_assert_int_eq(histogram_bin(UINT64_MAX), HISTOGRAM_BINS - 1);
}
END_TEST

START_TEST(test_site__quantiles_of_a_spread)
{
    uint32_t bins[HISTOGRAM_BINS] = {0};

    for (int i = 0; i < 10000; i++)
        bins[histogram_bin((uint64_t)(i + 1) * 1000)]++;
    ck_assert_double_eq_tol(histogram_quantile(bins, 0.5), 5e6, 5e4);
    ck_assert_double_eq_tol(histogram_quantile(bins, 0.99), 9.9e6, 6e5);
}
END_TEST

static unsigned site_at(const char *path, uint64_t offset)
{
    int o = site_table_object(path, NULL, 0);

    return o < 0 ? SITE_OTHERS : site_table_site(&(struct site_frame){offset, (uint16_t)o}, 1);
}

START_TEST(test_site__what_does_not_fit_is_counted_with_the_others)
{
    for (uint64_t i = 0; i < 300000; i++) {
        struct site_key key = {.site = (uint16_t)site_at("/bin/app", i), .ranks = 4};

        site_table_row(&key)->calls[SITE_NATIVE]++;
    }
    ck_assert_uint_eq(site_table->sites, SITES);
    ck_assert_uint_eq(site_at("/bin/app", 7), 8);
    ck_assert_uint_eq(site_at("/bin/app", 299999), SITE_OTHERS);
    uint64_t calls = 0;
    for (uint32_t i = 0; i < site_table->rows; i++)
        calls += site_table->row[i].calls[SITE_NATIVE];
    ck_assert_uint_eq(calls, 300000);
    for (int i = 0; i < 1000; i++) {
        char path[32];

        snprintf(path, sizeof path, "/lib/%d", i);
        site_at(path, 1);
    }
    ck_assert_uint_eq(site_table->objects, SITE_OBJECTS);
}
END_TEST

static void count_some(void)
{
    struct site_key key = {.site = (uint16_t)site_at("/bin/app", 0x100),
                           .collective = COLL_ALLREDUCE,
                           .size_class = 20,
                           .ranks = 4,
                           .nodes = 2};
    struct site_row *r = site_table_row(&key);

    r->bytes += 400;
    for (int i = 0; i < 40; i++) {
        r->calls[SITE_REROUTED]++;
        r->bins[SITE_REROUTED][histogram_bin(1000000)]++;
        site_vote(&r->algorithm, 3, 1);
    }
    for (int i = 0; i < 20; i++) {
        r->calls[SITE_NATIVE]++;
        r->bins[SITE_NATIVE][histogram_bin(2000000)]++;
        site_vote(&r->reason, REASON_TRIAL, 1);
    }
}

START_TEST(test_site__tables_of_processes_add_up)
{
    char *data;

    count_some();
    job_add_host("here");
    size_t size = site_pack(&data);
    ck_assert_uint_gt(size, 0);
    setup();
    site_at("/bin/other", 1); /* numbers differ between processes */
    site_unpack(data, size);
    site_unpack(data, size);
    ck_assert_uint_eq(site_table->sites, 3);
    ck_assert_uint_eq(site_table->rows, 2);
    const struct site_row *r = &site_table->row[1];
    ck_assert_uint_eq(r->key.site, 2);
    ck_assert_str_eq(site_table->object[site_table->site[2].frame[0].object].path, "/bin/app");
    ck_assert_uint_eq(r->calls[SITE_REROUTED], 80);
    ck_assert_uint_eq(r->bytes, 800);
    ck_assert_uint_eq(r->bins[SITE_NATIVE][histogram_bin(2000000)], 40);
    ck_assert_uint_eq(r->algorithm.what, 3);
    ck_assert_uint_eq(r->reason.what, REASON_TRIAL);
    ck_assert_int_eq(job_host_count(), 1);
    free(data);
}
END_TEST

START_TEST(test_site__bytes_that_are_cut_off_harm_nothing)
{
    char *data;

    count_some();
    size_t size = site_pack(&data);
    for (size_t n = 0; n < size; n++) {
        char *cut = malloc(n ? n : 1); /* its end is where reading beyond it is seen */

        memcpy(cut, data, n);
        setup();
        site_unpack(cut, n);
        ck_assert_uint_le(site_table->row[1].calls[SITE_REROUTED], 40);
        free(cut);
    }
    free(data);
}
END_TEST

START_TEST(test_site__a_shape_that_becomes_known_is_one_row)
{
    struct site_key key = {.site = 1, .ranks = 4};

    site_table_row(&key)->calls[SITE_NATIVE] = 1;
    key.nodes = 2;
    site_table_row(&key)->calls[SITE_NATIVE] = 10;
    site_fold();
    ck_assert_uint_eq(site_table->row[1].calls[SITE_NATIVE], 0);
    ck_assert_uint_eq(site_table->row[2].calls[SITE_NATIVE], 11);
}
END_TEST

/* As one of the backend's. */
__attribute__((noinline, noclone)) static unsigned wrapper(void)
{
    return caller_site(__builtin_return_address(0), __builtin_dwarf_cfa());
}

START_TEST(test_site__a_place_is_one_site)
{
    unsigned site[3];

    caller_open();
    for (volatile int i = 0; i < 3; i++) /* one place, not unrolled */
        site[i] = wrapper();
    unsigned other = wrapper();
    ck_assert_uint_ne(site[0], SITE_OTHERS);
    ck_assert_uint_eq(site[0], site[1]);
    ck_assert_uint_eq(site[0], site[2]);
    ck_assert_uint_ne(other, site[0]);
    ck_assert_uint_eq(site_table->object[site_table->site[site[0]].frame[0].object].id_bytes, 20);
}
END_TEST

/* Jumping out of a call, as an error handler may, loses that call and no later one. */
START_TEST(test_site__a_call_that_is_left_by_a_jump_is_forgotten)
{
    char stack[64] = "";

    site_enter((void *)1, stack + 8);
    site_enter((void *)2, stack + 32);
    ck_assert_ptr_eq(site_now.from, (void *)2);
    site_enter((void *)3, stack); /* inside it */
    ck_assert_ptr_eq(site_now.from, (void *)2);
    site_leave(stack);
    ck_assert_ptr_eq(site_now.from, (void *)2);
    ck_assert_ptr_nonnull(site_now.cfa);
    site_leave(stack + 32);
    ck_assert_ptr_null(site_now.cfa);
}
END_TEST

static char *report_text(enum site_scope scope)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    struct json j = json_begin(f);

    json_open(&j, NULL, '{');
    site_report(&j, scope, 4);
    json_close(&j, '}');
    fclose(f);
    return text;
}

/* 40 calls of 4 ranks: 1 ms less each, but for what a bin's width hides. */
START_TEST(test_site__time_saved_is_the_medians_difference)
{
    count_some();
    char *text = report_text(SITE_ALL_RANKS);
    const char *at = strstr(text, "\"saved_rank_s\": ");

    ck_assert_ptr_nonnull(at);
    ck_assert_double_eq_tol(strtod(at + 16, NULL), 0.040, 0.008);
    at = strstr(text, "\"plus_minus_rank_s\": ");
    ck_assert_ptr_nonnull(at);
    ck_assert_double_gt(strtod(at + 21, NULL), 0);
    free(text);
}
END_TEST

/* Two calls of four ranks are eight times, and still two observations. */
START_TEST(test_site__too_few_calls_save_nothing_that_is_known)
{
    count_some();
    memset(site_table->row[1].bins[SITE_NATIVE], 0, sizeof site_table->row[1].bins[SITE_NATIVE]);
    site_table->row[1].bins[SITE_NATIVE][histogram_bin(2000000)] = 8;
    char *text = report_text(SITE_ALL_RANKS);

    ck_assert_ptr_nonnull(strstr(text, "\"saved_rank_s\": null"));
    free(text);
}
END_TEST

/* The same calls, if they are one rank's: the other three saved as much, and eight calls are eight
   observations. */
START_TEST(test_site__one_rank_stands_for_all)
{
    count_some();
    memset(site_table->row[1].bins[SITE_NATIVE], 0, sizeof site_table->row[1].bins[SITE_NATIVE]);
    site_table->row[1].bins[SITE_NATIVE][histogram_bin(2000000)] = 8;
    char *text = report_text(SITE_ONE_RANK);
    const char *at = strstr(text, "\"saved_rank_s\": ");

    ck_assert_ptr_nonnull(at);
    ck_assert_double_eq_tol(strtod(at + 16, NULL), 4 * 0.040, 4 * 0.012);
    free(text);
}
END_TEST

Suite *suite_call_site(void)
{
    Suite *s = suite_create("call_site");
    TCase *t = tcase_create("site");

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_site__a_quantile_is_within_an_eighth);
    tcase_add_test(t, test_site__quantiles_of_a_spread);
    tcase_add_test(t, test_site__what_does_not_fit_is_counted_with_the_others);
    tcase_add_test(t, test_site__tables_of_processes_add_up);
    tcase_add_test(t, test_site__bytes_that_are_cut_off_harm_nothing);
    tcase_add_test(t, test_site__a_shape_that_becomes_known_is_one_row);
    tcase_add_test(t, test_site__a_place_is_one_site);
    tcase_add_test(t, test_site__a_call_that_is_left_by_a_jump_is_forgotten);
    tcase_add_test(t, test_site__time_saved_is_the_medians_difference);
    tcase_add_test(t, test_site__too_few_calls_save_nothing_that_is_known);
    tcase_add_test(t, test_site__one_rank_stands_for_all);
    suite_add_tcase(s, t);
    return s;
}
