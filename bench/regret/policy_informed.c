/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit for policies. This one knows how the machines are drawn, that 200 calls come and then
 * 10,000, and the extra time of first calls. It knows a contender's mean after one call of it,
 * without noise, and it needs no agreement. It does not know the machine. A contender is tried
 * where the gain to hope for over the calls to come exceeds the price. No policy that measures
 * reaches it.
 *
 * Logarithms of the means are jointly normal (those of all reroutes together only nearly so), so
 * one call tells about other contenders and other size classes.
 */
#include <math.h>
#include <string.h>

#include "bench/regret/policy.h"

enum { ALL = MOST_CLASSES * MOST_ARMS };

static const struct machine *m;
static double mean[ALL], cov[ALL][ALL];
static int known[ALL], warm[MOST_ARMS], calls[MOST_CLASSES], at[MOST_CLASSES];

static double square(double x)
{
    return x * x;
}

static int theirs(int i)
{
    return (m->theirs >> i & 1) != 0;
}

/* As machine.c draws them: any level of a class; all reroutes of a kind together; each; class by
   class. */
static double covariance(int class, int i, int other, int k, int alike)
{
    double v = class == other ? 25 : 0;

    if (i && k && theirs(i) == theirs(k))
        v += square(.657) + square(.2) * (class < other ? class : other);
    if (i && i == k)
        v += square(theirs(i) ? .7 : .35) + (alike && i > 1 ? square(.2) : 0) +
             (class && class == other ? square(.1) : 0);
    return v;
}

static void begin(const struct machine *machine)
{
    int alike = machine->arms > 2;

    m = machine;
    for (int i = 2; i < m->arms; i++)
        alike &= m->predicted[i] == m->predicted[1];
    for (int c = 0; c < m->classes; c++)
        for (int i = 0; i < m->arms; i++) {
            mean[c * MOST_ARMS + i] = !i               ? 0
                                      : alike && i > 1 ? log(2) / 2
                                                       : log(m->predicted[i] / m->predicted[1]);
            for (int o = 0; o < m->classes; o++)
                for (int k = 0; k < m->arms; k++)
                    cov[c * MOST_ARMS + i][o * MOST_ARMS + k] = covariance(c, i, o, k, alike);
        }
    memset(known, 0, sizeof known);
    memset(warm, 0, sizeof warm);
    memset(calls, 0, sizeof calls);
}

static int best(int class)
{
    const int from = class * MOST_ARMS;
    int found = -1;

    for (int i = 0; i < m->arms; i++)
        if (known[from + i] && (found < 0 || mean[from + i] < mean[from + found]))
            found = i;
    return found < 0 ? 0 : found;
}

/* The mean of the ratio of contender i to contender k, and of what it is below 1. */
static double ratio(int class, int i, int k, double *below)
{
    int a = class * MOST_ARMS + i, b = class * MOST_ARMS + k;
    double d = mean[a] - mean[b], v = cov[a][a] + cov[b][b] - 2 * cov[a][b];
    double spread = sqrt(v > 1e-9 ? v : 1e-9) * sqrt(2), expected = exp(d + v / 2);

    *below = erfc(d / spread) / 2 - expected * erfc((d + v) / spread) / 2;
    return expected;
}

/* The first of a class: what is likely to take the shortest. */
static int pick_first(int class)
{
    double least = 1e9, below;
    int found = 0;

    for (int i = 0; i < m->arms; i++) {
        double r = i ? ratio(class, i, 0, &below) : 1;
        if (r < least) {
            least = r;
            found = i;
        }
    }
    return found;
}

static int pick(int class, uint64_t bytes, int *timed)
{
    int call = calls[class]++, from = class * MOST_ARMS, use = best(class), try = -1;
    double most = 0, to_come = call < FIRST ? FIRST - call : CALLS - call;

    (void)bytes;
    *timed = 1;
    if (!known[from + use])
        return at[class] = pick_first(class);
    for (int i = 0; i < m->arms; i++) {
        double below, r, price;

        if (known[from + i])
            continue;
        r = ratio(class, i, use, &below);
        price = r - 1 + below + (warm[i] ? 0 : m->cold[i] * exp(mean[from] - mean[from + use]));
        if (below * to_come > price && below / price > most) {
            most = below / price;
            try = i;
        }
    }
    *timed = try >= 0;
    return at[class] = try >= 0 ?
    try : use
        ;
}

/* A value is known now. */
static void learn(int a, double value)
{
    double row[ALL], off = value - mean[a], v = cov[a][a] + 1e-9;

    memcpy(row, cov[a], sizeof row);
    for (int b = 0; b < m->classes * MOST_ARMS; b++) {
        double gain = row[b] / v;

        mean[b] += gain * off;
        for (int k = 0; k < m->classes * MOST_ARMS; k++)
            cov[b][k] -= gain * row[k];
    }
}

static int note(int class, uint64_t bytes, const double *seconds, int ranks, double setup)
{
    int i = at[class], a = class * MOST_ARMS + i;

    (void)bytes, (void)seconds, (void)ranks, (void)setup;
    known[a] = warm[i] = 1;
    learn(a, log(machine_mean(m, class, i, calls[class] - 1)));
    return 0;
}

const struct policy policy_informed = {"informed", begin, pick, note, best};
