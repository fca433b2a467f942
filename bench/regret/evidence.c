/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/regret/evidence.h"

#include <string.h>

enum { UNIT = 1024 };

static const double held_up = 1.2;      /* a sample so far above its contender's others is none */
static const double usual_calls = 20;   /* in which one is held up, at first sight */
static const double surely = 1.5;       /* standard deviations: no longer chance */
static const double most_times = 30;    /* a call that was held up counts as no more */
static const double usual_noise = .16;  /* of one call against another, before anything is known */
static const double another_time = .25; /* of one call against another at another time */
static const double usual_weight = 3;   /* as many samples say so */
static const double finest = .004;      /* no estimate is better */
static const double same_again = .1;    /* a first call so much slower than the second was cold */

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

/* Forget the first sample of a contender, the only one that there is. */
static void forget(struct evidence *e, int arm, int16_t than)
{
    for (int r = 0; r < EVIDENCE_ROUNDS && r < e->rounds; r++)
        if (e->time[r][arm] != EVIDENCE_NONE && e->time[r][arm] > than + (int)(same_again * UNIT))
            e->time[r][arm] = EVIDENCE_NONE;
}

void evidence_forget(struct evidence *e)
{
    e->rounds = 0;
}

double evidence_first(const struct evidence *e, int arm)
{
    for (int r = 0; r < EVIDENCE_ROUNDS && r < e->rounds; r++)
        if (e->time[r][arm] != EVIDENCE_NONE)
            return evidence_exp((double)e->time[r][arm] / UNIT);
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
    memcpy(e->time[e->rounds % EVIDENCE_ROUNDS], row, sizeof row);
    e->rounds++;
    if (e->rounds == UINT16_MAX) /* keep the place in the ring */
        e->rounds = UINT16_MAX - UINT16_MAX % EVIDENCE_ROUNDS;
}

/* Of n > 0 values, which it sorts: their lower quartile. */
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

static int rounds_of(const struct evidence *e)
{
    return e->rounds < EVIDENCE_ROUNDS ? e->rounds : EVIDENCE_ROUNDS;
}

/* What contender i's held up calls took together, in times of the mean of the others. */
static double held_up_times(const struct evidence *e, const struct samples *s, int i)
{
    double kept = 0, more = 0;

    for (int r = 0; r < s->rounds; r++) {
        kept += s->seconds[r][i];
        if (e->time[r][i] != EVIDENCE_NONE && !(s->seconds[r][i] > 0))
            more += evidence_exp((double)e->time[r][i] / UNIT);
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
        double expected = n * (s->held_up - held[i] + 1) / (rest + usual_calls);
        double excess = held[i] - expected - surely * evidence_root(expected + 1);
        double times = held_up_times(e, s, i) / held[i] - 1;
        if (excess > 0)
            s->tail[i] = excess / n * (times < most_times ? times : most_times);
    }
}

void evidence_samples(const struct evidence *e, struct samples *s)
{
    int held[EVIDENCE_ARMS];

    s->held_up = s->all = 0;
    s->rounds = rounds_of(e);
    for (int i = 0; i < EVIDENCE_ARMS; i++) {
        double v[EVIDENCE_ROUNDS], most;
        int n = 0;

        for (int r = 0; r < s->rounds; r++)
            if (e->time[r][i] != EVIDENCE_NONE)
                v[n++] = e->time[r][i];
        most = n ? quartile(v, n) + held_up * UNIT : 0;
        s->n[i] = 0;
        for (int r = 0; r < s->rounds; r++) {
            int kept = e->time[r][i] != EVIDENCE_NONE && e->time[r][i] <= most;

            s->seconds[r][i] = kept ? evidence_exp((double)e->time[r][i] / UNIT) : 0;
            s->n[i] += kept;
        }
        held[i] = n - s->n[i];
        s->held_up += held[i];
        s->all += n;
    }
    find_tails(e, s, held);
}

/* By the rounds that both are in. spread 0: there are none. */
static struct estimate compare_directly(const struct samples *s, int a, int b)
{
    double sum_a = 0, sum_b = 0, squares = 0;
    int n = 0;

    for (int r = 0; r < s->rounds; r++)
        if (s->seconds[r][a] > 0 && s->seconds[r][b] > 0) {
            sum_a += s->seconds[r][a];
            sum_b += s->seconds[r][b];
            n++;
        }
    if (!n)
        return (struct estimate){0, 0};
    for (int r = 0; r < s->rounds; r++)
        if (s->seconds[r][a] > 0 && s->seconds[r][b] > 0) {
            double off = n * (s->seconds[r][a] / sum_a - s->seconds[r][b] / sum_b);
            squares += off * off;
        }
    double variance = (squares + usual_weight * usual_noise * usual_noise) / (n - 1 + usual_weight);
    double spread = evidence_root(variance / n * (n + 2) / n);
    return (struct estimate){evidence_ln(sum_a / sum_b), spread > finest ? spread : finest};
}

/* By rounds that need not be the same. */
static struct estimate compare_apart(const struct samples *s, int a, int b)
{
    double sum[2] = {0, 0};
    int n[2] = {0, 0};

    for (int r = 0; r < s->rounds; r++)
        for (int k = 0; k < 2; k++) {
            double t = s->seconds[r][k ? b : a];
            sum[k] += t;
            n[k] += t > 0;
        }
    if (!n[0] || !n[1])
        return (struct estimate){0, 0};
    return (struct estimate){evidence_ln(sum[0] / n[0] / (sum[1] / n[1])),
                             another_time * evidence_root(1. / n[0] + 1. / n[1])};
}

struct estimate evidence_compare(const struct samples *s, int a, int b)
{
    struct estimate e = compare_directly(s, a, b);

    if (e.spread == 0)
        e = compare_apart(s, a, b);
    if (e.spread > 0 && (s->tail[a] > 0 || s->tail[b] > 0))
        e.mean += evidence_ln((1 + s->tail[a]) / (1 + s->tail[b]));
    return e;
}

double evidence_hope(struct estimate e)
{
    /* The mean excess of a normal deviate over 0, 1/4, 1/2 ...; a bit more far out, since spreads
       are themselves estimates. */
    static const double tail[] = {.3989, .2863, .1978, .1312, .0833, .0506, .0293, .0175, .0100,
                                  .0060, .0036, .0022, .0013, .0008, .0005, .0003, .0002};
    enum { STEPS = sizeof tail / sizeof *tail };
    double u = (e.mean > 0 ? e.mean : -e.mean) / e.spread * 4;
    int k = u < STEPS - 1 ? (int)u : STEPS - 2;
    double beyond = u < STEPS - 1 ? tail[k] + (u - k) * (tail[k + 1] - tail[k]) : 0;

    return e.spread * beyond + (e.mean < 0 ? -e.mean : 0);
}
