/* SPDX-License-Identifier: BSD-3-Clause */
/* Putting a division between two paths right by what calls took. */
#include <check.h>

#include "planners/collaborative/correct.h"
#include "planners/collaborative/split.h"
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
    double device = p->device_start + p->device * (1 - x), host = p->host_start + p->host * x;

    return device > host ? device : host;
}

/* Note so many calls; returns how often the share changed. */
static int note_calls(struct correction *c, struct paths *p, int calls)
{
    int changed = 0;

    for (int i = 0; i < calls; i++) {
        double x = (double)c->share / SPLIT_WHOLE;
        double device = noisy(p, p->device_start + p->device * (1 - x));

        changed += correction_note(c, device, noisy(p, p->host_start + p->host * x));
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

/* Rates that are wrong by up to a factor of 4 either way, with and without noise. */
START_TEST(test_correction__a_wrong_division_is_put_right_in_few_steps)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng r = {seed};
        struct paths p = {
            .device = 1e-3 * (1 + rng_below(&r, 9)), .noise = seed % 2 ? 0.01 : 0, .r = {seed * 7}};
        p.host = p.device * (1 + rng_below(&r, 16));
        p.host_start = p.device * 0.01 * rng_below(&r, 5);
        double right = p.device / (p.device + p.host);
        int first = (int)(SPLIT_WHOLE * right * (0.25 + rng_below(&r, 376) / 100.0));
        struct correction c;

        correction_begin(&c, first < SPLIT_WHOLE ? first : SPLIT_WHOLE - 1);
        must(note_calls(&c, &p, 50) <= CORRECT_STEPS, "seed %llu: too many divisions",
             (unsigned long long)seed);
        double now = later_path(&p, (double)c.share / SPLIT_WHOLE);
        must(now <= 1.05 * best_time(&p), "seed %llu: %g s from %d to %d, the best %g",
             (unsigned long long)seed, now, first, c.share, best_time(&p));
    }
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
        p.host *= 2; /* somebody else uses the bus */
        note_calls(&c, &p, 40);
        must(c.share < settled &&
                 later_path(&p, (double)c.share / SPLIT_WHOLE) <= 1.1 * best_time(&p),
             "seed %llu: %d of before %d", (unsigned long long)seed, c.share, settled);
    }
}
END_TEST

START_TEST(test_correction__one_path_alone_is_left_alone)
{
    static const int alone[] = {0, SPLIT_WHOLE};

    for (int i = 0; i < 2; i++) {
        struct correction c;

        correction_begin(&c, alone[i]);
        for (int n = 0; n < 100; n++)
            ck_assert_int_eq(correction_note(&c, 1e-3, 5e-3), 0);
        ck_assert_int_eq(c.share, alone[i]);
    }
    struct correction c; /* a path that is next to useless keeps a foot in */
    correction_begin(&c, 5000);
    for (int n = 0; n < 200; n++)
        correction_note(&c, 1e-9, 1);
    ck_assert_int_ge(c.share, 1);
    correction_begin(&c, 5000);
    for (int n = 0; n < 200; n++)
        correction_note(&c, 1, 1e-9);
    ck_assert_int_lt(c.share, SPLIT_WHOLE);
}
END_TEST

Suite *suite_correction(void)
{
    Suite *s = suite_create("correction");
    TCase *t = tcase_create("correction");

    tcase_add_test(t, test_correction__a_wrong_division_is_put_right_in_few_steps);
    tcase_add_test(t, test_correction__a_settled_division_stays_through_noise_and_follows_a_change);
    tcase_add_test(t, test_correction__one_path_alone_is_left_alone);
    suite_add_tcase(s, t);
    return s;
}
