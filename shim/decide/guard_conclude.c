/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a round: ranks agree on its times, and all draw the same conclusions from them. Has
 * the machine changed, is another contender in use from now on, and does another round follow?
 */
#include "shim/decide/guard_private.h"

#include <math.h>

enum { MOST_PAUSE = 4096, LAG_PARTS = 4 };
enum { SURE_ROUNDS = 12, SLOWER_CALLS = 3, KNOWN_CALLS = 12, CHANGE_CALLS = 2000 };

static const double most_cold = 3; /* more than that is no longer its being the first */
static const double least_agreeing = .005;
static const double most_agreeing = 1;
static const double slower = 1.15;     /* than the slowest call so far: something has changed */
static const double indifferent = .01; /* a gain that is not worth a change */
static const double changed_all = 1, changed_each = .3; /* spread of what was known before */
static const double contradicted = .6;                  /* logarithm: no chance any more */

/* This rank's values of the round. Returns how many, the same on all ranks. */
static int values(const struct guard_entry *e, double value[GUARD_VALUES])
{
    for (int k = 0; k < e->turns; k++) {
        value[2 * k] = e->mine[k];
        value[2 * k + 1] = e->cost[k];
    }
    value[2 * e->turns] = -e->agreement; /* the least counts: others wait for the last rank */
    return 2 * e->turns + 1;
}

/* The contender in use is the one that looks fastest; another takes its place when that is more
   than chance. */
static int choose(struct guard_entry *e, const struct view *v)
{
    int best = e->best;
    double least = 0;

    for (int i = 0; i < e->n; i++) {
        if (i == e->best || !worth_is_known(v, i) || (v->spared && i == GUARD_NATIVE))
            continue;
        struct estimate b = worth_belief(v, i, 0);
        double margin = e->free_rounds ? 0 : b.spread / 2 + indifferent;
        if (b.mean < least - margin) {
            least = b.mean + margin;
            best = i;
        }
    }
    return best;
}

/* Has the contender in use become slower, so that several calls in a row took longer than all of
   those before? */
static int has_slowed(struct guard_entry *e, double seconds)
{
    struct samples s;
    double most = -1e9;

    evidence_samples(&e->evidence, &s);
    for (int age = e->alarms; age < s.rounds; age++) {
        int r = (e->evidence.rounds - 1 - age) % EVIDENCE_ROUNDS;

        if (s.in[r] & 1u << e->best && s.log[r][e->best] > most)
            most = s.log[r][e->best];
    }
    if (s.n[e->best] < KNOWN_CALLS || seconds <= slower * evidence_exp(most)) {
        e->alarms = 0;
        return 0;
    }
    if (++e->alarms < SLOWER_CALLS)
        return 0;
    e->alarms = 0;
    return !e->changed || e->calls - e->changed >= CHANGE_CALLS;
}

/* The machine is another one: what is known of the contenders is now no more than a guess. */
static void begin_again(const struct guard *g, struct guard_entry *e)
{
    struct view v;

    worth_view(g, e, &v);
    e->prior = v.b;
    belief_carry(&e->prior, changed_all, changed_each);
    evidence_forget(&e->evidence);
    e->changed = e->calls;
    e->free_rounds = guard_free_rounds(e);
}

/* How much slower than its second a contender's first call was. */
static void learn_cold(struct guard *g, const struct guard_entry *e, const double *seconds)
{
    double library = evidence_fastest(&e->evidence, GUARD_NATIVE);

    if (seconds[GUARD_NATIVE] > 0 && (!(library > 0) || seconds[GUARD_NATIVE] < library))
        library = seconds[GUARD_NATIVE];
    for (int i = 0; i < e->n && library > 0; i++) {
        double first = evidence_fastest(&e->evidence, i), cold = (first - seconds[i]) / library;

        if (!(first > 0 && seconds[i] > 0) || e->evidence.tries[i] != 1 || cold > most_cold ||
            cold < -1)
            continue;
        cold = cold > 0 ? cold : 0;
        g->colds++;
        g->cold += cold;
        g->cold_squares += cold * cold;
    }
}

/* Earlier jobs' findings do not hold here if a round contradicts them. */
static void doubt_recalled(struct guard_entry *e, const double *seconds)
{
    for (int i = 1; i < e->n && seconds[GUARD_NATIVE] > 0; i++) {
        if (!(e->recalled[i].spread > 0 && seconds[i] > 0))
            continue;
        double off = evidence_ln(seconds[i] / seconds[GUARD_NATIVE]) - e->recalled[i].mean;
        if (off > contradicted || off < -contradicted) {
            e->recalled[i].spread = 0;
            e->prior.n = 0; /* to be made anew */
        }
    }
}

/* The estimated loss by the round's trials, with the time for getting ready. */
static double lost(const struct guard_entry *e, const struct view *v, const double *value,
                   double own)
{
    double sum = 0;

    for (int k = 0; k < e->turns; k++) {
        int i = e->turn[k];

        if (i == e->best || !v->s.n[i] || !(own > 0))
            continue;
        double mean = worth_belief(v, i, 0).mean;
        sum += (mean > 0 ? evidence_exp(mean < 2 ? mean : 2) - 1 : 0) +
               (value[2 * k + 1] - value[2 * k]) / own;
    }
    return sum;
}

/* Seconds of the contenders by the round's values. Returns those of the one in use; 0: none. */
static double read_round(struct guard_entry *e, const double *value, double *seconds)
{
    double own = 0, agreement = -value[2 * e->turns];

    for (int k = 0; k < e->turns; k++) {
        int i = e->turn[k];

        if (e->out & 1u << i)
            continue;
        seconds[i] = value[2 * k];
        e->seen[i] = e->calls;
        if (i == e->best)
            own = seconds[i];
    }
    if (agreement > 0 && own > 0) {
        double share = agreement / own;
        share = share < least_agreeing  ? least_agreeing
                : share > most_agreeing ? most_agreeing
                                        : share;
        e->agreeing += (share - e->agreeing) / 2;
    }
    return own;
}

/* Note the verdict, and its evidence. */
static void note_verdict(struct guard_entry *e, const struct view *v)
{
    int rival = e->best;

    for (int i = 1; i < e->n && e->best == GUARD_NATIVE; i++)
        if (worth_is_known(v, i) && (!rival || v->b.mean[i] < v->b.mean[rival]))
            rival = i;
    for (int i = 1; i < e->n; i++)
        e->found[i] =
            worth_is_known(v, i) ? belief_compare(&v->b, i, GUARD_NATIVE) : (struct estimate){0};
    e->before = e->verdict;
    e->verdict = (struct guard_verdict){1, e->best, (uint8_t)rival,
                                        belief_compare(&v->b, rival, GUARD_NATIVE)};
}

/* No answer yet. Nothing is known of when there will be one, or it was sooner the last time. */
static void wait_longer(struct guard_entry *e)
{
    uint32_t more = e->lag > GUARD_PAUSE ? e->lag / LAG_PARTS : e->waited;

    e->pause = more < MOST_PAUSE ? more : MOST_PAUSE;
    e->waited += e->pause;
}

/* There was one: the lag is what was waited, or somewhat less, which the next round tries. */
static void learn_lag(struct guard_entry *e)
{
    uint32_t most = MOST_PAUSE;

    e->lag = e->waited - e->waited / LAG_PARTS;
    if (e->lag > most)
        e->lag = most;
}

/* The values, each now the largest of any rank. Returns 1 if that makes a verdict, else 0. */
static int tell(struct guard *g, struct guard_entry *e, const double *value)
{
    double seconds[EVIDENCE_ARMS] = {0}, own;
    struct view v;
    int was = e->best, more;

    for (int k = 0; k < e->turns; k++)
        if (!isfinite(value[2 * k])) { /* some rank does not know yet */
            wait_longer(e);
            return 0;
        }
    if (e->later)
        learn_lag(e);
    own = read_round(e, value, seconds);
    learn_cold(g, e, seconds);
    guard_expect_cold(g, e);
    doubt_recalled(e, seconds);
    if (own > 0 && has_slowed(e, own))
        begin_again(g, e);
    evidence_add(&e->evidence, seconds);
    e->free_rounds -= e->free_rounds > 0;
    worth_view(g, e, &v);
    v.best = choose(e, &v);
    e->best = (uint8_t)v.best;
    e->spent += lost(e, &v, value, own);
    if (e->best != was)
        e->interval = e->alarms = 0;
    more = guard_compose(e, &v);
    if (!(more && e->free_rounds) && !e->alarms && e->evidence.rounds >= 2)
        guard_settle(e, &v);
    else if (e->evidence.rounds < SURE_ROUNDS || (e->verdict.known && e->best == was))
        return 0;
    note_verdict(e, &v);
    return 1;
}

int guard_conclude(struct guard *g, struct guard_entry *e, guard_agree agree, void *context)
{
    double value[GUARD_VALUES], began = g->now ? g->now() : 0;

    if (agree(context, value, values(e, value)) < 0) {
        *e = (struct guard_entry){.state = FOR_GOOD, .later = e->later};
        return 0;
    }
    int news = tell(g, e, value);
    double seconds = g->now ? g->now() - began : 0;
    e->agreement = seconds > 0 && seconds < GUARD_LONGEST_S ? seconds * e->scale[0] : 0;
    return news;
}
