/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim/cli/gate/gate_stat: how often a loss is found, and how often one is seen that is not
 * there, over seeded trials. Noise is as real runs have it: each row's own, one that a run's rows
 * share, and some runs and rows that the machine held up by a third on average.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "shim/cli/gate/gate_stat.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { ROWS = 50 };

struct noise {
    double spread, held_up; /* of a run; share of runs and of values that are held up */
};

static const struct noise quiet = {.02, 0}, rough = {.02, .1};

static double uniform(struct rng *r)
{
    return (rng_below(r, 1u << 31) + .5) / (1u << 31);
}

static double noise_of(struct rng *r, const struct noise *n)
{
    double x = n->spread * sqrt(-log(uniform(r))) * cos(2 * M_PI * uniform(r));

    return x - (uniform(r) < n->held_up / 2 ? .3 * log(uniform(r)) : 0);
}

/* Is any row (first: the first one) slower, in a trial where the first row takes `times` longer? */
static int is_slower(uint64_t seed, const struct noise *n, int rows, int base, int new,
                     double times, int first)
{
    double value[ROWS * 2 * GATE_RUNS], shared[2 * GATE_RUNS];
    struct gate_change c[ROWS];
    struct rng r = {seed};
    int any = 0;

    for (int i = 0; i < base + new; i++)
        shared[i] = noise_of(&r, n);
    for (int k = 0; k < rows * (base + new); k++)
        value[k] = shared[k % (base + new)] + noise_of(&r, n) +
                   (k >= base && k < base + new ? log(times) : 0);
    ck_assert_int_eq(gate_compare(value, rows, base, new, log(1.05), c), 0);
    for (int i = 0; i < (first ? 1 : rows); i++)
        any |= c[i].verdict == GATE_SLOWER;
    return any;
}

static double share_of(uint64_t trials, const struct noise *n, int rows, int base, int new,
                       double times)
{
    int slower = 0;

    for (uint64_t seed = 1; seed <= trials; seed++)
        slower += is_slower(seed * 2654435761u, n, rows, base, new, times, times > 1);
    return (double)slower / (double)trials;
}

START_TEST(test_gate__false_alarms_are_below_1_percent)
{
    static const int rows[] = {1, 2, 7, 20, 50}, runs[] = {3, 4, 5, 7, 10};
    uint64_t trials = rng_seeds(1000);
    double all = 0;

    for (int i = 0; i < 25; i++) {
        const struct noise *n = i % 2 ? &rough : &quiet;
        double share = share_of(trials, n, rows[i / 5], runs[i % 5], runs[(i + i / 5) % 5], 1);

        ck_assert_msg(share <= .01 + 3 * sqrt(.01 / (double)trials), "%d rows, %d runs: %.3f",
                      rows[i / 5], runs[i % 5], share);
        all += share / 25;
    }
    ck_assert_double_le(all, .01);
}
END_TEST

/* Runs of each side that suffice for 95 %, in gate's help and docs/gate.md. */
static const struct {
    const struct noise *noise;
    int rows, runs;
} enough[] = {
    {&quiet, 1, 10}, {&quiet, 7, 11}, {&quiet, 50, 15},
    {&rough, 1, 12}, {&rough, 7, 15}, {&rough, 50, 20},
};

START_TEST(test_gate__a_loss_of_5_percent_is_found)
{
    uint64_t trials = rng_seeds(400);
    double share =
        share_of(trials, enough[_i].noise, enough[_i].rows, enough[_i].runs, enough[_i].runs, 1.05);

    ck_assert_msg(share >= .95, "%d rows, %d runs: %.3f", enough[_i].rows, enough[_i].runs, share);
}
END_TEST

Suite *suite_gate(void)
{
    Suite *s = suite_create("gate");
    TCase *c = tcase_create("gate");

    tcase_set_timeout(c, 300);
    tcase_add_test(c, test_gate__false_alarms_are_below_1_percent);
    tcase_add_loop_test(c, test_gate__a_loss_of_5_percent_is_found, 0,
                        sizeof enough / sizeof *enough);
    suite_add_tcase(s, c);
    return s;
}
