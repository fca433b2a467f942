/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/worth.h"

#include <math.h>

enum { MOST_REPEATS = 8 };
enum { NEAR_CLASSES = 3 }; /* powers of two to the farthest class that tells something */
enum { COARSE = 2 };       /* samples, before which runs are not worth it */

/* A gain that is not worth a change, and that makes up for more of the host's time. In calls. */
static const double indifferent = .02;
static const double aging = 2e-6;    /* variance, by call since the last measurement */
static const double surely = .2;     /* chance above which a call is taken as held up */
static const double cold = .2;       /* calls of the library that a first call takes longer */
static const double most_cold = .7;  /* share of a first call that is its being cold, at most */
static const double cold_doubt = .4; /* standard deviation that this leaves */
static const double near = .35;      /* logarithm: what a call leaves behind may decide */

static double square(double x)
{
    return x * x;
}

/* How many powers of two apart. 0: the same, or they are not of one collective and kind. */
static int apart(const struct guard *g, const struct guard_entry *a, const struct guard_entry *b)
{
    int k = g->key[a - g->entry] - 1, l = g->key[b - g->entry] - 1;

    return k / GUARD_CLASSES != l / GUARD_CLASSES ? 0 : k > l ? k - l : l - k;
}

static int is_same(const struct plan_candidate *a, const struct plan_candidate *b)
{
    return a->algorithm == b->algorithm && a->recipe == b->recipe && a->ppg == b->ppg;
}

/* Which contender of e runs the same as contender i of o, or -1. */
static int counterpart(const struct guard_entry *e, const struct guard_entry *o, int i)
{
    for (int k = 1; i && k < e->n; k++)
        if (is_same(&e->reroute[k - 1], &o->reroute[i - 1]))
            return k;
    return i ? -1 : GUARD_NATIVE;
}

/* The mean of a contender with samples. */
static double mean_of(const struct samples *s, int i)
{
    double sum = 0;
    int n = 0;

    for (int r = 0; r < s->rounds; r++)
        if (s->in[r] & 1u << i) {
            sum += s->log[r][i];
            n++;
        }
    return sum / n;
}

/* Take off the only sample of contender i what first calls usually take longer, in times of the
   library, and note how sure that is. */
static void warm(struct samples *s, int i, double library)
{
    double times = evidence_exp(library - mean_of(s, i)), part = cold * times;

    if (part > most_cold)
        part = most_cold;
    s->variance[i] += square(cold_doubt);
    for (int r = 0; r < s->rounds; r++)
        s->log[r][i] += evidence_ln(1 - part);
}

/* The samples of entry o as they are weighed at entry e. */
static void adjust(const struct guard_entry *e, const struct guard_entry *o, struct samples *s)
{
    int by = s->n[GUARD_NATIVE] ? GUARD_NATIVE : o->best;
    double library = s->n[by] ? mean_of(s, by) : 0;

    for (int i = 0; i < o->n; i++) {
        if (!s->n[i])
            continue;
        /* The mean of times is above the mean of their logarithms. */
        double more = s->variance[i] / 2 + s->tail[i];
        /* The common error of all samples does not vanish with their number. */
        double shared = square(s->tail[i]);

        if (e == o)
            shared += aging * (e->calls - e->doubts.seen[i]);
        if (i && o->evidence.tries[i] == 1 && s->n[by])
            warm(s, i, library);
        s->variance[i] += shared * s->n[i];
        for (int r = 0; r < s->rounds; r++)
            s->log[r][i] += more;
    }
}

static void learn(struct belief *b, const struct guard_entry *e, const struct guard_entry *o,
                  const struct samples *s, unsigned without)
{
    int to[EVIDENCE_ARMS];

    for (int i = 0; i < EVIDENCE_ARMS; i++)
        to[i] = i >= o->n || without & 1u << i ? -1 : o == e ? i : counterpart(e, o, i);
    belief_learn(b, s, to);
}

/* Earlier jobs' findings, as if they were a round of this one. */
static void recall(struct belief *b, const struct guard_entry *e)
{
    struct samples s = {.rounds = 1, .in = {1u << GUARD_NATIVE}};

    s.variance[GUARD_NATIVE] = square(belief_drift);
    for (int i = 1; i < e->n; i++)
        if (e->prior.recalled[i].spread > 0) {
            s.in[0] |= (uint8_t)(1u << i);
            s.log[0][i] = e->prior.recalled[i].mean;
            s.variance[i] = square(belief_drift) + square(e->prior.recalled[i].spread);
        }
    if (s.in[0] == 1u << GUARD_NATIVE)
        return;
    learn(b, e, e, &s, 0);
    belief_carry(b);
}

/* The estimate without own samples: by the model, then by near classes, the nearest last, then by
   earlier jobs. */
static void expect(const struct guard *g, struct view *v)
{
    belief_begin(&v->prior, v->e->prior.predicted, v->e->n);
    v->near_by = 0;
    for (int distance = NEAR_CLASSES; distance > 0; distance--)
        for (const struct guard_entry *o = g->entry; o < g->entry + GUARD_ENTRIES; o++) {
            struct samples s;

            if (!o->n || !o->evidence.rounds || apart(g, v->e, o) != distance)
                continue;
            evidence_samples(&o->evidence, &s);
            adjust(v->e, o, &s);
            learn(&v->prior, v->e, o, &s, o->doubts.discarded);
            belief_carry(&v->prior);
            v->near_by = 1;
        }
    recall(&v->prior, v->e);
}

/*
 * The chance that contender i's only call was held up. It follows from the distance above the time
 * that the others of its round, and all else, predict. Held-up calls are anywhere above, others are
 * near.
 */
static double chance_of_hold_up(const struct view *v, int i)
{
    struct belief without = v->prior;
    double above = 0, variance = 0;
    int n = 0, r = 0;

    learn(&without, v->e, v->e, &v->s, v->discarded | 1u << i);
    while (r < v->s.rounds - 1 && !(v->s.in[r] & 1u << i))
        r++;
    for (int k = 0; k < v->e->n; k++) {
        if (k == i || !(v->s.in[r] & 1u << k) || v->discarded & 1u << k)
            continue;
        struct estimate d = belief_compare(&without, i, k);
        above += v->s.log[r][i] - v->s.log[r][k] - d.mean;
        variance += square(d.spread) + v->s.variance[i] + v->s.variance[k];
        n++;
    }
    if (!n || above <= 0)
        return 0;
    double spread = evidence_root(variance / n), z = above / n / spread;
    double usual = .3989 / spread * evidence_exp(-square(z) / 2);
    double held_up = (1 + v->s.held_up) / (evidence_usual_calls + v->s.all);
    return held_up / (held_up + usual);
}

uint32_t worth_spared(double times)
{
    double calls = (times - 1) * GUARD_SHARE;

    return calls < UINT32_MAX / 2 ? (uint32_t)calls : UINT32_MAX / 2;
}

void worth_view(const struct guard *g, struct guard_entry *e, struct view *v)
{
    v->e = e;
    v->best = e->best;
    v->spared = e->calls - e->spared_at < g->spared;
    expect(g, v);
    evidence_samples(&e->evidence, &v->s);
    adjust(e, e, &v->s);
    v->discarded = 0;
    for (int i = 0; i < e->n; i++) {
        v->held_up[i] = v->s.n[i] == 1 ? chance_of_hold_up(v, i) : 0;
        if (v->held_up[i] > surely)
            v->discarded |= 1u << i;
    }
    e->doubts.discarded = (uint8_t)v->discarded;
    v->b = v->prior;
    learn(&v->b, e, e, &v->s, v->discarded);
}

int worth_is_known(const struct view *v, int i)
{
    return v->s.n[i] && !((v->e->out | v->discarded) & 1u << i);
}

int worth_is_near(const struct view *v, int i)
{
    double mean = belief_compare(&v->b, i, v->best).mean;

    return !v->e->clock.deferred && v->s.n[i] >= COARSE && v->s.n[v->best] >= COARSE &&
           mean < near && mean > -near;
}

/* A deferred clock does not see the host's time, of which a reroute takes more: so much faster has
   it to be. */
static double handicap(const struct view *v, int i)
{
    return v->e->clock.deferred && i != GUARD_NATIVE ? indifferent : 0;
}

static struct estimate aged(struct estimate d, uint32_t later)
{
    if (later)
        d.spread = evidence_root(square(d.spread) + later * aging);
    return d;
}

static struct estimate against(const struct view *v, const struct belief *b, int i, uint32_t later)
{
    struct estimate d = aged(belief_compare(b, i, v->best), later);

    d.mean += handicap(v, i) - handicap(v, v->best);
    return d;
}

struct estimate worth_belief(const struct view *v, int i, uint32_t later)
{
    return against(v, &v->b, i, later);
}

/* The mean of what a contender is shorter, where it is. */
static double hope(struct estimate d)
{
    /* The mean excess of a normal deviate over 0, 1/4, 1/2 ...; somewhat more far out, since
       spreads are themselves estimates. */
    static const double tail[] = {.3989, .2863, .1978, .1312, .0833, .0506, .0293,  .0175, .0100,
                                  .0046, .0023, .0011, .0005, .0002, .0001, .00004, .00002};
    enum { STEPS = sizeof tail / sizeof *tail };
    double mean = d.mean + indifferent;
    double u = (mean > 0 ? mean : -mean) / d.spread * 4;
    int k = u < STEPS - 1 ? (int)u : STEPS - 2;
    double beyond = u < STEPS - 1 ? tail[k] + (u - k) * (tail[k + 1] - tail[k]) : 0;

    return d.spread * beyond + (mean < 0 ? -mean : 0);
}

/* The likely loss by calling a contender once, in calls of the one in use. */
static double price(struct estimate d)
{
    double times = evidence_exp(d.mean + square(d.spread) / 2);

    return times > 1 ? times - 1 : 0;
}

/* The calls of contender i in the rounds that try it next. */
static double calls_of_trial(const struct view *v, int i)
{
    return worth_is_near(v, i) ? GUARD_LEAD + GUARD_ROUNDS : 1 + v->e->clock.deferred;
}

/* The gain of up to MOST_REPEATS trials of contender i, less their cost: more trials tell better
   how fast it is. If calls are noisy, a single trial tells nothing worth its price. */
static double net_gain(const struct view *v, int i, struct estimate d, double calls)
{
    double samples = worth_is_near(v, i) ? GUARD_ROUNDS : 1, variance = square(d.spread), most = 0;
    double noise = v->s.variance[i] + v->s.variance[v->best];

    if (!v->e->evidence.tries[i])
        noise += square(cold_doubt);
    for (int k = 1; k <= MOST_REPEATS; k *= 2) {
        double learned = evidence_root(square(variance) / (variance + noise / (k * samples)));
        double gain = hope((struct estimate){d.mean, learned}) * calls -
                      k * calls_of_trial(v, i) * price(d) - (1 + k) * v->e->cost.agreeing;
        if (k == 1 || gain > most)
            most = gain;
    }
    return most;
}

double worth_trial(const struct view *v, int i, uint32_t later)
{
    const struct guard_entry *e = v->e;
    struct estimate d = worth_belief(v, i, later);
    double calls = (double)e->calls + later, cost = calls_of_trial(v, i) * price(d);

    if (e->out & 1u << i || (v->spared && i == GUARD_NATIVE) ||
        e->cost.spent + cost > 1 + calls / GUARD_SHARE)
        return 0;
    double gain = net_gain(v, i, d, calls + GUARD_HORIZON);
    if (v->held_up[i] > 0 && !(v->discarded & 1u << i)) { /* or its call says nothing */
        struct belief without = v->prior;
        double chance = v->held_up[i], sure = gain + cost > 0 ? gain + cost : 0;

        learn(&without, e, e, &v->s, v->discarded | 1u << i);
        double hoped = hope(against(v, &without, i, later));
        double both = chance * hoped * (calls + GUARD_HORIZON) + (1 - chance) * sure - cost -
                      2 * e->cost.agreeing;
        if (both > gain)
            gain = both;
    }
    if (!e->evidence.tries[i]) /* or the estimates are all wrong: worth a call in the long run */
        gain += belief_finest * calls;
    return gain;
}
