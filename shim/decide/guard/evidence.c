/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/evidence.h"

#include <string.h>

enum { UNIT = 1024, SWEEPS = 3 };

static const double usual_noise = .2; /* of one call, before anything is known */
static const double weight = 4; /* as many samples say so; all contenders' for a contender's own */

double evidence_ln(double x)
{
    static const double ln2 = 0.69314718055994531;
    uint64_t bits;
    double m;

    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    memcpy(&m, &bits, sizeof m);
    double z = (m - 1) / (m + 1), q = z * z;
    return exponent * ln2 + 2 * z * (1 + q * (1. / 3 + q * (1. / 5 + q * (1. / 7 + q / 9))));
}

double evidence_exp(double x)
{
    int halvings = 0;

    x = x > 30 ? 30 : x < -30 ? -30 : x;
    for (; x > .125 || x < -.125; x /= 2)
        halvings++;
    x = 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4)));
    while (halvings--)
        x *= x;
    return x;
}

double evidence_root(double x)
{
    return x > 0 ? evidence_exp(evidence_ln(x) / 2) : 0;
}

static int is_alone(unsigned in)
{
    return !(in & (in - 1));
}

static int rounds_of(const struct evidence *e)
{
    return e->rounds < EVIDENCE_ROUNDS ? e->rounds : EVIDENCE_ROUNDS;
}

/* Forget the first sample of a contender, the only one that there is. */
static void forget(struct evidence *e, int arm, int16_t than)
{
    for (int r = 0; r < rounds_of(e); r++)
        if (e->time[r][arm] != EVIDENCE_NONE && e->time[r][arm] > than + (int)(usual_noise * UNIT))
            e->time[r][arm] = EVIDENCE_NONE;
}

void evidence_forget_arm(struct evidence *e, int arm)
{
    for (int r = 0; r < rounds_of(e); r++)
        e->time[r][arm] = EVIDENCE_NONE;
    e->tries[arm] = 0;
}

/* The oldest round whose contenders all have two others, or else the oldest. Otherwise a
   contender that is rarely tried would soon have none left, and it would be tried again. */
static int dispensable(const struct evidence *e)
{
    int n[EVIDENCE_ARMS] = {0};

    for (int r = 0; r < EVIDENCE_ROUNDS; r++)
        for (int i = 0; i < EVIDENCE_ARMS; i++)
            n[i] += e->time[r][i] != EVIDENCE_NONE;
    for (int r = 0; r < EVIDENCE_ROUNDS; r++) {
        int last = 0;
        for (int i = 0; i < EVIDENCE_ARMS; i++)
            last |= e->time[r][i] != EVIDENCE_NONE && n[i] <= 2;
        if (!last)
            return r;
    }
    return 0;
}

void evidence_add(struct evidence *e, const double seconds[EVIDENCE_ARMS])
{
    int16_t row[EVIDENCE_ARMS];

    for (int i = 0; i < EVIDENCE_ARMS; i++) {
        double t = seconds[i] > 0 ? evidence_ln(seconds[i]) * UNIT : EVIDENCE_NONE;

        row[i] = (int16_t)(t > INT16_MAX ? INT16_MAX : t < EVIDENCE_NONE ? EVIDENCE_NONE : t);
        if (row[i] == EVIDENCE_NONE)
            continue;
        if (e->tries[i] == 1)
            forget(e, i, row[i]);
        e->tries[i] += e->tries[i] < UINT8_MAX;
    }
    if (e->rounds >= EVIDENCE_ROUNDS) {
        int r = dispensable(e);
        memmove(e->time[r], e->time[r + 1], (size_t)(EVIDENCE_ROUNDS - 1 - r) * sizeof row);
    }
    e->rounds += e->rounds < UINT16_MAX;
    memcpy(e->time[rounds_of(e) - 1], row, sizeof row);
}

/* The lower quartile of n > 0 values, which it sorts. */
static double quartile(double *v, int n)
{
    for (int i = 1; i < n; i++) {
        double x = v[i];
        int k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    return v[(n - 1) / 4];
}

/* The time of contender i's held-up calls together, in times of the mean of the others. */
static double held_up_times(const struct evidence *e, const struct samples *s, int i)
{
    double kept = 0, more = 0;

    for (int r = 0; r < s->rounds; r++) {
        if (e->time[r][i] == EVIDENCE_NONE)
            continue;
        double t = evidence_exp((double)e->time[r][i] / UNIT);
        if (s->in[r] & 1u << i)
            kept += t;
        else
            more += t;
    }
    return more * s->n[i] / kept;
}

/* Is a contender held up more often than others, and more than chance explains? */
static void find_tails(const struct evidence *e, struct samples *s, const int held[EVIDENCE_ARMS])
{
    for (int i = 0; i < EVIDENCE_ARMS; i++) {
        int n = s->n[i] + held[i], rest = s->all - n;

        s->tail[i] = 0;
        if (held[i] < 2)
            continue;
        double expected = n * (s->held_up - held[i] + 1) / (rest + evidence_usual_calls);
        double excess = held[i] - expected - evidence_root(expected + 1);
        double times = held_up_times(e, s, i) / held[i] - 1;
        if (excess > 0)
            s->tail[i] = evidence_ln(1 + excess / n * times);
    }
}

/* A contender and a round, each with its part in a sample: x[i] + l[r], by the least squares. Only
   rounds of several contenders. Returns how many values are free, and fills in n[i]. */
static int fit(const struct samples *s, double *x, double *l, int *n)
{
    int samples = 0, rounds = 0, arms = 0;

    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double sum[EVIDENCE_ARMS] = {0};

        samples = rounds = 0;
        memset(n, 0, EVIDENCE_ARMS * sizeof *n);
        for (int r = 0; r < s->rounds; r++) {
            double all = 0;
            int k = 0;

            if (is_alone(s->in[r]))
                continue;
            for (int i = 0; i < EVIDENCE_ARMS; i++)
                if (s->in[r] & 1u << i) {
                    all += s->log[r][i] - x[i];
                    k++;
                }
            l[r] = all / k;
            for (int i = 0; i < EVIDENCE_ARMS; i++)
                if (s->in[r] & 1u << i) {
                    sum[i] += s->log[r][i] - l[r];
                    n[i]++;
                }
            samples += k;
            rounds++;
        }
        for (int i = 0; i < EVIDENCE_ARMS; i++)
            if (n[i])
                x[i] = sum[i] / n[i];
    }
    for (int i = 0; i < EVIDENCE_ARMS; i++)
        arms += n[i] > 0;
    return samples > rounds + arms - 1 ? samples - (rounds + arms - 1) : 0;
}

/* The rest, after contenders and rounds, is noise: mostly of all contenders, partly a contender's
   own. */
static void find_noise(struct samples *s)
{
    double x[EVIDENCE_ARMS] = {0}, l[EVIDENCE_ROUNDS], own[EVIDENCE_ARMS] = {0}, all = 0;
    int n[EVIDENCE_ARMS], samples = 0, freedom = fit(s, x, l, n);

    for (int r = 0; r < s->rounds; r++)
        for (int i = 0; i < EVIDENCE_ARMS && !is_alone(s->in[r]); i++)
            if (s->in[r] & 1u << i) {
                double d = s->log[r][i] - l[r] - x[i];
                own[i] += d * d;
                all += d * d;
                samples++;
            }
    double usual = (all + weight * usual_noise * usual_noise) / (freedom + weight);
    for (int i = 0; i < EVIDENCE_ARMS; i++) {
        double mine = freedom ? own[i] * samples / freedom : 0;
        s->variance[i] = freedom ? (mine + weight * usual) / (n[i] + weight) : usual;
    }
}

/* A contender's samples above that were held up. */
static double most_of(const struct evidence *e, int arm)
{
    double v[EVIDENCE_ROUNDS];
    int n = 0;

    for (int r = 0; r < rounds_of(e); r++)
        if (e->time[r][arm] != EVIDENCE_NONE)
            v[n++] = e->time[r][arm];
    return n ? quartile(v, n) + evidence_held_up * UNIT : 0;
}

void evidence_samples(const struct evidence *e, struct samples *s)
{
    double most[EVIDENCE_ARMS];
    int held[EVIDENCE_ARMS] = {0};

    *s = (struct samples){.rounds = rounds_of(e)};
    for (int i = 0; i < EVIDENCE_ARMS; i++)
        most[i] = most_of(e, i);
    for (int r = 0; r < s->rounds; r++) {
        for (int i = 0; i < EVIDENCE_ARMS; i++) {
            int16_t t = e->time[r][i];

            s->log[r][i] = (double)t / UNIT;
            if (t == EVIDENCE_NONE)
                continue;
            if (t <= most[i]) {
                s->in[r] |= (uint8_t)(1u << i);
                s->n[i]++;
            } else {
                held[i]++;
            }
        }
    }
    for (int i = 0; i < EVIDENCE_ARMS; i++) {
        s->held_up += held[i];
        s->all += s->n[i] + held[i];
    }
    find_tails(e, s, held);
    find_noise(s);
}
