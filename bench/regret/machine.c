/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/regret/machine.h"

#include <math.h>
#include <string.h>

double rng_uniform(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

double rng_between(struct rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

double rng_log_between(struct rng *r, double low, double high)
{
    return low * pow(high / low, rng_uniform(r));
}

double rng_normal(struct rng *r)
{
    double u = 1 - rng_uniform(r), v = rng_uniform(r);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static int chance(struct rng *r, double p)
{
    return rng_uniform(r) < p;
}

static int below(struct rng *r, int n)
{
    return (int)(rng_uniform(r) * n);
}

static double square(double x)
{
    return x * x;
}

static double within(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* True ratios: the best predicted reroute is .2 to 5 of the library; the model is off. */
static void make_ratios(struct machine *m, struct rng *r)
{
    double group = sqrt(rng_log_between(r, .2, 5) * rng_log_between(r, .2, 5)),
           blind = chance(r, .1);
    double own[MOST_ARMS] = {0}, shift = 0;

    for (int i = 1; i < m->arms; i++) {
        double spread = i > 1 ? rng_between(r, 0, log(2)) : 0;
        m->predicted[i] = blind ? 1e-3 : 1e-3 * exp(spread);
        own[i] = spread + .35 * rng_normal(r);
    }
    for (int c = 0; c < m->classes; c++) {
        shift += c ? .2 * rng_normal(r) : 0;
        m->fast[c][0] = 1;
        for (int i = 1; i < m->arms; i++)
            m->fast[c][i] =
                within(group * exp(own[i] + shift + (c ? .1 * rng_normal(r) : 0)), .2, 5);
    }
}

static void make_modes(struct machine *m, struct rng *r)
{
    m->slow_arm = chance(r, .25) ? below(r, m->arms) : -1;
    m->slow_share = rng_between(r, .1, .5);
    m->slow_by = rng_between(r, 1.3, 3);
    for (int c = 0; c < m->classes; c++)
        for (int i = 0; i < m->arms; i++)
            m->mean[c][i] =
                m->fast[c][i] * (i == m->slow_arm ? 1 + m->slow_share * (m->slow_by - 1) : 1);
}

static void make_levels(struct machine *m, struct rng *r)
{
    double kind = rng_uniform(r), drift = rng_log_between(r, .001, .01), x = 0;
    double slower = rng_between(r, 1.3, 2), dwell = rng_log_between(r, 20, 2000);
    int slow = 0;

    for (int t = 0; t < CALLS; t++) {
        if (kind > .75) {
            slow ^= chance(r, 1 / dwell);
            m->level[t] = (float)(slow ? slower : 1);
        } else if (kind > .5) {
            x = within(x + drift * rng_normal(r), -1, 1);
            m->level[t] = (float)exp(x);
        } else {
            m->level[t] = 1;
        }
    }
}

void machine_make(struct machine *m, uint64_t seed)
{
    struct rng r = {seed * 7919 + 1};

    for (int i = 0; i < 8; i++)
        rng_uniform(&r);
    *m = (struct machine){.arms = 2 + (int)((MOST_ARMS - 1) * square(rng_uniform(&r))),
                          .ranks = 1 << (1 + below(&r, 9)),
                          .classes = 1 + below(&r, MOST_CLASSES),
                          .agree = rng_log_between(&r, .005, .2)};
    make_ratios(m, &r);
    make_modes(m, &r);
    make_levels(m, &r);
    m->noise = rng_log_between(&r, .01, .2);
    m->rank_noise = m->noise * rng_uniform(&r);
    m->hiccup = chance(&r, .5) ? rng_log_between(&r, .003, .1) : 0;
    for (int i = 0, isCold = chance(&r, .5); i < m->arms; i++)
        m->cold[i] = isCold ? rng_log_between(&r, .1, 3) : 0;
    m->change_at = chance(&r, .1) ? FIRST + below(&r, AFTER) : CALLS;
    m->change_arm = below(&r, m->arms);
    m->change_by = chance(&r, .5) ? rng_between(&r, 1.2, 2) : 1 / rng_between(&r, 1.2, 2);
    m->in_turn = chance(&r, .5);
    double sizes = rng_uniform(&r);
    m->sizes = sizes < .66 ? SIZES_ONE : sizes < .83 ? SIZES_TWO : SIZES_NEW;
    m->rng.state = seed * 104729 + 17;
}

double machine_mean(const struct machine *m, int class, int arm, int call)
{
    if (m->trace)
        return m->trace->mean[(m->from + call) % m->trace->n][arm];
    return m->mean[class][arm] * (call >= m->change_at && arm == m->change_arm ? m->change_by : 1);
}

int machine_best(const struct machine *m, int class, int call)
{
    int best = 0;

    for (int i = 1; i < m->arms; i++)
        if (machine_mean(m, class, i, call) < machine_mean(m, class, best, call))
            best = i;
    return best;
}

uint64_t machine_bytes(struct machine *m, int class, int call)
{
    uint64_t least = 1ull << (20 + class);

    if (m->sizes == SIZES_TWO)
        return call % 3 ? least : least + least / 2;
    if (m->sizes == SIZES_NEW)
        return least + (uint64_t)(rng_uniform(&m->rng) * (double)least) / 8 * 8;
    return least;
}

void machine_call(struct machine *m, int class, int arm, int call, double cold, uint64_t bytes,
                  double seconds[MOST_RANKS])
{
    if (m->trace) {
        double t = m->trace->seconds[(m->from + call) % m->trace->n][arm];
        seconds[0] = t + cold * m->trace->seconds[0][0];
        return;
    }
    double least = (double)(1ull << (20 + class));
    double usual = 1e-3 * least / (1 << 20) * m->level[call];
    double t = usual * m->fast[class][arm] * pow((double)bytes / least, .9);

    if (call >= m->change_at && arm == m->change_arm)
        t *= m->change_by;
    if (arm == m->slow_arm && chance(&m->rng, m->slow_share))
        t *= m->slow_by;
    t = t * exp(m->noise * rng_normal(&m->rng)) + cold * usual;
    for (int r = 0; r < m->ranks; r++)
        seconds[r] = t * (1 - m->rank_noise * rng_uniform(&m->rng));
    if (chance(&m->rng, m->hiccup))
        seconds[below(&m->rng, m->ranks)] += usual * (rng_log_between(&m->rng, 1, 100) - 1);
}

double machine_agreement(const struct machine *m, int class)
{
    double usual = m->trace ? 1 : 1e-3 * (1 << class);

    return m->agree * usual * machine_mean(m, class, machine_best(m, class, 0), 0);
}
