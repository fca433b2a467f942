/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/regret/worth.h"

enum { NEAR_BY = 3, FAR = 64, AT_LEAST_TO_COME = 100 };

/* Logarithms, if nothing else is said. */
static const double unknown = .8;      /* spread of a contender against the library */
static const double model = .35;       /* spread of the model's prediction of one row by another */
static const double by_class = .2;     /* spread from one size class to the next */
static const double suspicion = .3;    /* share of what one call was slower that is the machine's */
static const double usual_calls = 20;  /* in which one is held up for long, at first sight */
static const double misled = .01;      /* chance that what is expected is all wrong */
static const double aging = 2e-6;      /* variance, by call since the last measurement */
static const double indifferent = .01; /* a gain that is not worth a change */
static const double agreeing = .02;    /* of a call: what agreeing on its time may take */
static const double allowance = 8;     /* calls that trials may lose, and ... */
static const double share = .02;       /* ... of all calls made */

/*
 * Contender a against b by their own samples; both have some. The slower one may have been held up,
 * which one call does not tell, and a first call is cold.
 */
static struct estimate measured(const struct weigh_entry *e, const struct samples *s, int a, int b)
{
    struct estimate m = evidence_compare(s, a, b);

    if (m.spread == 0)
        return m;
    int slow = m.mean > 0 ? a : b, n = s->n[slow];
    double doubt = suspicion * (m.mean > 0 ? m.mean : -m.mean) / (n * n);

    if (e->evidence.tries[slow] == 1) {
        double off = m.mean > e->cold ? e->cold : m.mean < -e->cold ? -e->cold : m.mean;
        m.mean -= off;
        doubt += e->cold;
    }
    m.spread = evidence_root(m.spread * m.spread + doubt * doubt);
    return m;
}

/* What is expected and known of contender i against the one in use, apart from its own samples. */
static struct estimate expected(const struct weigh_entry *e, const struct samples *s, int i)
{
    double sum = 0, weight = 0, least = e->predicted[i];

    for (int k = 1; i != WEIGH_NATIVE && k < e->n; k++) {
        if (e->predicted[k] < least)
            least = e->predicted[k];
        if (k == i || !s->n[k] || !s->n[e->best])
            continue;
        struct estimate m = measured(e, s, k, e->best);
        if (m.spread == 0)
            continue;
        double w = 1 / (model * model + m.spread * m.spread);
        sum += w * (m.mean + e->predicted[i] - e->predicted[k]);
        weight += w;
    }
    if (weight > 0)
        return (struct estimate){sum / weight, evidence_root(model * model + 1 / weight)};
    return (struct estimate){e->predicted[i] - least, unknown};
}

/* What a class near by says of contender i against the one in use. spread 0: nothing. */
static struct estimate from_near_by(const struct weigh_entry *e, int i)
{
    const struct estimate *own = &e->prior[i], *other = &e->prior[e->best];

    if (!(own->spread > 0) || !(other->spread > 0))
        return (struct estimate){0, 0};
    return (struct estimate){own->mean - other->mean, evidence_root(own->spread * own->spread +
                                                                    other->spread * other->spread)};
}

/* Two estimates of one thing; b.spread 0: a alone. */
static struct estimate both(struct estimate a, struct estimate b)
{
    if (b.spread == 0)
        return a;
    double w = 1 / (a.spread * a.spread), v = 1 / (b.spread * b.spread);
    return (struct estimate){(a.mean * w + b.mean * v) / (w + v), evidence_root(1 / (w + v))};
}

struct estimate worth_belief(const struct weigh_entry *e, const struct samples *s, int i,
                             uint32_t later)
{
    struct estimate b = both(expected(e, s, i), from_near_by(e, i));

    b = both(b, measured(e, s, i, e->best));
    if (e->evidence.tries[i]) {
        double age = (double)(e->calls - e->seen[i]) + later;
        b.spread = evidence_root(b.spread * b.spread + age * aging);
    }
    return b;
}

/* What calling contender i once is likely to lose. */
static double price(struct estimate b)
{
    double ratio = evidence_exp(b.mean + b.spread * b.spread / 2);

    return ratio > 1 ? ratio - 1 : 0;
}

static double hope_of(struct estimate b)
{
    b.mean += indifferent;
    return evidence_hope(b);
}

/* The chance that n calls were all held up for long, by how often calls are. */
static double all_held_up(const struct samples *s, int n)
{
    double once = (1 + s->held_up) / (usual_calls + s->all), chance = once;

    while (--n > 0 && chance > 1e-6)
        chance *= once;
    return chance;
}

double worth_trial(const struct weigh_entry *e, const struct samples *s, int i, uint32_t later)
{
    struct estimate b = worth_belief(e, s, i, later);
    double cost = price(b), n = (double)e->calls + later;

    if (e->out & 1u << i || (e->spent > 0 && e->spent + cost > allowance + share * n))
        return 0;
    double gain = hope_of(b) * (n + AT_LEAST_TO_COME);
    if (s->n[i]) /* or all its calls were held up, and say nothing */
        gain += all_held_up(s, s->n[i]) * hope_of(both(expected(e, s, i), from_near_by(e, i))) *
                (n + AT_LEAST_TO_COME);
    else /* or what was expected is all wrong: in the long run worth a call */
        gain += misled * hope_of((struct estimate){0, unknown}) * n;
    return gain - cost - 2 * agreeing;
}

static int same_reroute(const struct weigh_reroute *a, const struct weigh_reroute *b)
{
    return a->algorithm == b->algorithm && a->recipe == b->recipe && a->ppg == b->ppg;
}

/* How many powers of two apart, if they are of one collective and kind; else far. */
static int apart(const struct weigh *g, const struct weigh_entry *a, const struct weigh_entry *b)
{
    int k = g->key[a - g->entry] - 1, l = g->key[b - g->entry] - 1;

    return k / 64 != l / 64 ? FAR : k > l ? k - l : l - k;
}

/* Which contender of o runs the same as contender i of e; WEIGH_NATIVE: none. */
static int counterpart(const struct weigh_entry *e, int i, const struct weigh_entry *o)
{
    for (int j = 1; j < o->n; j++)
        if (same_reroute(&e->reroute[i - 1], &o->reroute[j - 1]))
            return j;
    return WEIGH_NATIVE;
}

void worth_look_near_by(const struct weigh *g, struct weigh_entry *e)
{
    for (int distance = NEAR_BY; distance > 0; distance--)
        for (const struct weigh_entry *o = g->entry; o < g->entry + WEIGH_ENTRIES; o++) {
            if (!o->n || apart(g, e, o) != distance || !o->evidence.tries[WEIGH_NATIVE])
                continue;
            e->prior[WEIGH_NATIVE] = (struct estimate){0, .1};
            for (int i = 1; i < e->n; i++) {
                int j = counterpart(e, i, o);
                if (!j || !o->evidence.tries[j])
                    continue;
                struct estimate b = worth_against_library(o, j);
                if (b.spread > 0)
                    e->prior[i] =
                        (struct estimate){b.mean, evidence_root(b.spread * b.spread +
                                                                by_class * by_class * distance)};
            }
        }
}

struct estimate worth_against_library(const struct weigh_entry *e, int i)
{
    struct samples s;

    evidence_samples(&e->evidence, &s);
    return measured(e, &s, i, WEIGH_NATIVE);
}
