/* SPDX-License-Identifier: BSD-3-Clause */
/* Putting a division between two paths right by what calls took. */
#include <check.h>

#include "planners/algorithms/collaborative/correct.h"
#include "planners/algorithms/collaborative/split.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

/* Two paths as they are: seconds of the whole on each, something before the first byte, noise. */
struct paths {
    double device, host, device_start, host_start, noise;
    struct rng r;
};

static double noisy(struct paths *p, double seconds)
{
    return seconds * (1 + p->noise * ((double)rng_below(&p->r, 2001) / 1000 - 1));
}

static double later_path(const struct paths *p, double x)
{
    double device = p->device_start + p->device * (1 - x),
           host = x > 0 ? p->host_start + p->host * x : 0;

    return device > host ? device : host;
}

/* Note so many calls; returns how often the share changed. */
static int note_calls(struct correction *c, struct paths *p, int calls)
{
    int changed = 0;

    for (int i = 0; i < calls; i++) {
        double x = (double)c->share / SPLIT_WHOLE;
        double device = noisy(p, p->device_start + p->device * (1 - x));

        changed += correction_note(c, device, x > 0 ? noisy(p, p->host_start + p->host * x) : 0);
    }
    return changed;
}

static double best_time(const struct paths *p)
{
    double least = later_path(p, 0);

    for (int s = 1; s < SPLIT_WHOLE; s++)
        if (later_path(p, (double)s / SPLIT_WHOLE) < least)
            least = later_path(p, (double)s / SPLIT_WHOLE);
    return least;
}

/* Any two paths; the host's may take long to begin. */
static struct paths any_paths(uint64_t seed)
{
    struct rng r = {seed};
    struct paths p = {
        .device = 1e-3 * (1 + rng_below(&r, 9)), .noise = seed % 2 ? 0.01 : 0, .r = {seed * 7}};

    p.host = p.device * (1 + rng_below(&r, 32));
    p.host_start = p.device * 0.01 * rng_below(&r, 15);
    return p;
}

START_TEST(test_correction__a_wrong_division_is_put_right_in_few_calls)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct paths p = any_paths(seed);
        double right = p.device / (p.device + p.host);
        int first = (int)(SPLIT_WHOLE * right * (0.25 + rng_below(&p.r, 376) / 100.0));
        struct correction c;

        correction_begin(&c, first < SPLIT_WHOLE ? first : SPLIT_WHOLE - 1);
        note_calls(&c, &p, (CORRECT_STEPS + 1) * CORRECT_CALLS);
        must(c.settled, "seed %llu: not settled", (unsigned long long)seed);
        double now = later_path(&p, (double)c.share / SPLIT_WHOLE);
        must(now <= 1.05 * best_time(&p), "seed %llu: %g s from %d to %d, the best %g",
             (unsigned long long)seed, now, first, c.share, best_time(&p));
    }
}
END_TEST

/* Within 3% of the best after ten calls, and before that no call behind the devices alone but by
   noise. */
START_TEST(test_correction__who_knows_nothing_finds_the_division_and_loses_nothing)
{
    int within = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct paths p = any_paths(seed);
        struct correction c;

        correction_begin(&c, 0);
        ck_assert_int_eq(c.share, CORRECT_PROBE);
        for (int call = 0; call < 10; call++) {
            double now = later_path(&p, (double)c.share / SPLIT_WHOLE);

            must(now <= 1.05 * later_path(&p, 0), "seed %llu, call %d, share %d: behind",
                 (unsigned long long)seed, call, c.share);
            note_calls(&c, &p, 1);
        }
        within += later_path(&p, (double)c.share / SPLIT_WHOLE) <= 1.03 * best_time(&p);
    }
    ck_assert_int_ge(within, 395);
}
END_TEST

/* A host path that only costs is given up, tried again much later, and rarer each time; if it has
   become useful by then, it is taken. */
START_TEST(test_correction__what_does_not_pay_is_tried_again_now_and_then)
{
    struct paths p = {.device = 1e-3, .host = 4e-3, .host_start = 1.5e-3, .r = {1}};
    struct correction c;
    int with_host = 0;

    correction_begin(&c, 3000);
    note_calls(&c, &p, 20);
    ck_assert_int_eq(c.share, 0);
    ck_assert_int_eq(c.settled, 1);
    for (int call = 0; call < 20000; call++) {
        with_host += c.share > 0;
        note_calls(&c, &p, 1);
    }
    ck_assert_int_gt(with_host, 0);
    ck_assert_int_lt(with_host, 40);
    p.host_start = 0;
    note_calls(&c, &p, 20000);
    ck_assert_int_gt(c.share, 1500);
}
END_TEST

START_TEST(test_correction__a_settled_division_stays_through_noise_and_follows_a_change)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct paths p = {.device = 1e-3, .host = 4e-3, .noise = 0.03, .r = {seed}};
        struct correction c;

        correction_begin(&c, 2000);
        note_calls(&c, &p, 40);
        int settled = c.share;
        must(note_calls(&c, &p, 1000) == 0, "seed %llu: it wanders", (unsigned long long)seed);
        p.host *= 2; /* another program uses the bus */
        note_calls(&c, &p, 40);
        must(c.share < settled &&
                 later_path(&p, (double)c.share / SPLIT_WHOLE) <= 1.1 * best_time(&p),
             "seed %llu: %d of before %d", (unsigned long long)seed, c.share, settled);
    }
}
END_TEST

/* A division that another job settled on is not tried again, but followed when the paths have
   changed. */
START_TEST(test_correction__a_division_of_another_job_stays_until_the_paths_change)
{
    struct paths p = {.device = 1e-3, .host = 4e-3, .noise = 0.03, .r = {1}};
    struct correction c;

    correction_resume(&c, 2000);
    ck_assert_int_eq(note_calls(&c, &p, 1000), 0);
    ck_assert_int_eq(c.share, 2000);
    p.host *= 2;
    note_calls(&c, &p, 40);
    ck_assert_int_lt(c.share, 1500);
    ck_assert(later_path(&p, (double)c.share / SPLIT_WHOLE) <= 1.1 * best_time(&p));
    correction_resume(&c, 0); /* one path was faster there: looked at again much later */
    ck_assert_int_eq(note_calls(&c, &p, 500), 0);
    ck_assert_int_eq(c.share, 0);
    note_calls(&c, &p, 1000);
    ck_assert_int_gt(c.share, 0);
}
END_TEST

START_TEST(test_correction__shares_stay_shares)
{
    struct correction c;

    correction_begin(&c, SPLIT_WHOLE); /* there is no second path */
    for (int n = 0; n < 100; n++)
        ck_assert_int_eq(correction_note(&c, 1e-3, 5e-3), 0);
    ck_assert_int_eq(c.share, SPLIT_WHOLE);
    for (int useless = 0; useless < 2; useless++) {
        correction_begin(&c, 5000);
        for (int n = 0; n < 200; n++) {
            double whole = useless ? 1 : 1e-9, x = (double)c.share / SPLIT_WHOLE;

            correction_note(&c, whole * (1 - x), c.share ? 1e-9 / whole : 0);
            ck_assert_int_ge(c.share, 0);
            ck_assert_int_lt(c.share, SPLIT_WHOLE);
        }
        ck_assert_int_eq(c.share > 9000, useless);
    }
}
END_TEST

Suite *suite_correction(void)
{
    Suite *s = suite_create("correction");
    TCase *t = tcase_create("correction");

    tcase_add_test(t, test_correction__a_wrong_division_is_put_right_in_few_calls);
    tcase_add_test(t, test_correction__who_knows_nothing_finds_the_division_and_loses_nothing);
    tcase_add_test(t, test_correction__what_does_not_pay_is_tried_again_now_and_then);
    tcase_add_test(t, test_correction__a_settled_division_stays_through_noise_and_follows_a_change);
    tcase_add_test(t, test_correction__a_division_of_another_job_stays_until_the_paths_change);
    tcase_add_test(t, test_correction__shares_stay_shares);
    suite_add_tcase(s, t);
    return s;
}
