/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns and rounds. The first rounds follow each other; then the entry is settled. Later rounds are
 * looks. A look calls contenders that are worth a trial again (worth.h), and always the contender
 * in use, which may have become slower. If nothing changes there are at most
 *     FREE_ROUNDS + APART ln(N / FREE_ROUNDS) + N / MOST_APART
 * rounds in N calls. A later clock has fewer of them, because each makes hosts wait that run ahead.
 * A look that finds the contender in use slower is made SLOWER_CALLS times in a row. A machine that
 * is found to have changed gets FREE_ROUNDS anew, at most once in CHANGE_CALLS.
 */
#include "shim/decide/guard.h"

#include <math.h>
#include <string.h>

#include "planners/variants.h"
#include "shim/decide/worth.h"

enum state { NEW, ROUND, SETTLED, FOR_GOOD };

enum { MOST_ELSEWHERE = 4, ROUGH_ROUNDS = 3, MOST_PAUSE = 4096, LAG_PARTS = 4 };
enum { FIRST_LOOK = 4, MOST_APART = 256, APART = 32, FREE_ROUNDS = 64 };
enum { LATER_APART = 4096, LATER_ROUNDS = 16 };
enum { SURE_ROUNDS = 12, SLOWER_CALLS = 3, KNOWN_CALLS = 12, CHANGE_CALLS = 2000 };

static const double usual_cold = .2;  /* calls of the library that a first call takes longer */
static const double cold_spread = .5; /* from one to the next */
static const double cold_weight = 2;  /* as many first calls say so */
static const double most_cold = 3;    /* more than that is no longer its being the first */
static const double agreeing = .02;   /* calls that an agreement takes, before it is known */
static const double least_agreeing = .005;
static const double most_agreeing = 1;
static const double slower = 1.15;     /* than the slowest call so far: something has changed */
static const double indifferent = .01; /* a gain that is not worth a change */
static const double changed_all = 1, changed_each = .3; /* spread of what was known before */
static const double unit_bytes = 1e6;                   /* times are by so many bytes */
static const double contradicted = .6;                  /* logarithm: no chance any more */
static const double spared_from = 4; /* times longer: a first trial costs more than it may tell */
static const double longest = 1e6;   /* seconds: no call takes longer, a clock has jumped */

int guard_settled(struct guard_entry *e)
{
    if (e->state == FOR_GOOD)
        return 1;
    if (e->state != SETTLED || e->left == 0)
        return 0;
    e->left--;
    return 1;
}

int guard_wants_candidates(const struct guard_entry *e)
{
    return e->state == NEW;
}

static uint32_t most_apart(const struct guard_entry *e)
{
    return e->later ? LATER_APART : MOST_APART;
}

static uint8_t free_rounds(const struct guard_entry *e)
{
    return e->later ? LATER_ROUNDS : FREE_ROUNDS;
}

/* Looks are made until the free ones are used up; after that they are some calls apart. */
static uint32_t least_apart(const struct guard_entry *e)
{
    uint32_t least = e->free_rounds ? 0 : e->calls / APART, most = most_apart(e);

    return least < most ? least : most;
}

/* Until something is worth a trial again, or it is time to see whether the contender in use has
   become slower. */
static void settle(struct guard_entry *e, const struct view *v)
{
    uint32_t most = e->interval ? 2 * e->interval : FIRST_LOOK, left = FIRST_LOOK;

    if (most > most_apart(e))
        most = most_apart(e);
    for (int found = 0; !found && left < most; left *= 2)
        for (int i = 0; i < e->n; i++)
            found |= i != e->best && worth_trial(v, i, left) > 0;
    left = left < most ? left : most;
    if (left < least_apart(e))
        left = least_apart(e);
    e->interval = e->left = left;
    e->state = SETTLED;
}

/* Put the contender in use in the round, and those most worth a trial: one that was tried, and one
   that was not, since each tells about the rest. */
static void pick_turns(struct guard_entry *e, const struct view *v)
{
    double most[2] = {0, 0};
    int at[2] = {-1, -1};

    e->turns = 0;
    e->turn[e->turns++] = e->best;
    for (int i = 0; i < e->n; i++) {
        int untried = !e->evidence.tries[i];
        double worth = i == e->best ? 0 : worth_trial(v, i, 0);

        if (worth > most[untried]) {
            most[untried] = worth;
            at[untried] = i;
        }
    }
    for (int k = 0; k < 2; k++)
        if (at[k] >= 0)
            e->turn[e->turns++] = (uint8_t)at[k];
}

/* Put together a round. Returns how many contenders besides the one in use. */
static int compose(struct guard_entry *e, const struct view *v)
{
    uint8_t in_order[GUARD_TURNS];

    pick_turns(e, v);
    memcpy(in_order, e->turn, sizeof in_order);
    for (int k = 0; k < e->turns; k++) /* another one begins each time */
        e->turn[k] = in_order[(k + e->evidence.rounds) % e->turns];
    e->at = e->led = e->elsewhere = 0;
    e->pause = e->waited = e->lag > GUARD_PAUSE ? e->lag : GUARD_PAUSE;
    memset(e->mine, 0, sizeof e->mine);
    memset(e->cost, 0, sizeof e->cost);
    e->state = ROUND;
    return e->turns - 1;
}

/* The usual extra time of first calls, as far as it is known. */
static void expect_cold(const struct guard *g, struct guard_entry *e)
{
    double n = cold_weight + g->colds, mean = (cold_weight * usual_cold + g->cold) / n;
    double squares = cold_weight * (usual_cold * usual_cold + cold_spread * cold_spread);

    e->cold = mean;
    e->cold_variance = (squares + g->cold_squares) / n - mean * mean;
}

void guard_begin(struct guard *g, struct guard_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n, int warm)
{
    struct view v;

    if (n > GUARD_REROUTES)
        n = GUARD_REROUTES;
    e->n = (uint8_t)(1 + n);
    e->total = total;
    for (int i = 0; i < n; i++) {
        int known = c[i].seconds > 0 && isfinite(c[i].seconds);
        e->reroute[i] = c[i];
        e->predicted[1 + i] = known ? evidence_ln(c[i].seconds) : i ? e->predicted[i] : 0;
        e->kind[1 + i] = plan_variant_of(c[i].algorithm) ? BELIEF_LIBRARY : BELIEF_OURS;
    }
    if (!n) {
        e->state = FOR_GOOD;
        return;
    }
    e->free_rounds = free_rounds(e);
    e->agreeing = agreeing;
    e->evidence.tries[GUARD_NATIVE] = warm != 0;
    expect_cold(g, e);
    worth_view(g, e, &v);
    for (int i = 1; i < e->n && e->near_by; i++)
        if (belief_compare(&v.b, i, e->best).mean < 0)
            e->best = (uint8_t)i;
    if (v.spared && !e->best)
        e->best = 1;
    v.best = e->best;
    compose(e, &v);
}

void guard_recall(struct guard *g, struct guard_entry *e,
                  const struct estimate known[GUARD_CONTENDERS])
{
    struct view v;

    if (e->state != ROUND)
        return;
    memcpy(e->recalled, known, sizeof e->recalled);
    e->prior.n = 0;
    worth_view(g, e, &v);
    for (int i = 1; i < e->n; i++)
        if (known[i].spread > 0 && v.b.mean[i] < v.b.mean[e->best])
            e->best = (uint8_t)i;
    v.best = e->best;
    settle(e, &v);
}

int guard_pick(struct guard *g, struct guard_entry *e, uint64_t total, int *slot)
{
    *slot = GUARD_UNTIMED;
    if (e->state == SETTLED) {
        struct view v;
        e->calls += e->interval;
        e->total = total;
        expect_cold(g, e);
        worth_view(g, e, &v);
        compose(e, &v);
    }
    if (e->at == e->turns) { /* a later clock has not been asked yet */
        e->pause -= e->pause > 0;
        return e->best;
    }
    if (total != e->total && !e->loose && e->evidence.rounds >= ROUGH_ROUNDS) {
        e->loose = ++e->elsewhere > MOST_ELSEWHERE;
        e->calls++;
        return e->best;
    }
    e->elsewhere = 0;
    e->calls++;
    e->led = e->later && !e->led;
    if (e->led)
        return e->turn[e->at];
    *slot = e->at++;
    e->scale[*slot] = unit_bytes / (double)total;
    return e->turn[*slot];
}

void guard_note(struct guard_entry *e, int slot, double seconds, double setup)
{
    if (e->later && isinf(seconds))
        e->mine[slot] = INFINITY;
    if (!(seconds > 0 && seconds < longest))
        return;
    e->mine[slot] = seconds * e->scale[slot];
    e->cost[slot] = (seconds + (setup > 0 && setup < longest ? setup : 0)) * e->scale[slot];
}

int guard_due(const struct guard_entry *e)
{
    return e->state == ROUND && e->at == e->turns && !(e->later && e->pause);
}

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
    e->free_rounds = free_rounds(e);
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
    expect_cold(g, e);
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
    more = compose(e, &v);
    if (!(more && e->free_rounds) && !e->alarms && e->evidence.rounds >= 2)
        settle(e, &v);
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
    e->agreement = seconds > 0 && seconds < longest ? seconds * e->scale[0] : 0;
    return news;
}

/* The first reroute that can serve; GUARD_NATIVE: none can. */
static uint8_t first_reroute(const struct guard_entry *e)
{
    for (uint8_t i = 1; i < e->n; i++)
        if (!(e->out & 1u << i))
            return i;
    return GUARD_NATIVE;
}

/* What is known of the library is of other rails. A round under way may hold a call of it. */
static void forget_library(struct guard_entry *e, int spared)
{
    evidence_forget_arm(&e->evidence, GUARD_NATIVE);
    e->prior.n = 0;
    e->spared_at = e->calls;
    e->best = spared && e->best == GUARD_NATIVE ? first_reroute(e) : e->best;
    e->state = SETTLED;
    e->left = e->interval = 0;
}

void guard_spare(struct guard *g, double times)
{
    uint32_t spared = times >= spared_from ? worth_spared(times) : 0;

    if (spared == g->spared)
        return;
    g->spared = spared;
    for (int i = 0; i < GUARD_ENTRIES; i++)
        if (g->entry[i].state != NEW && g->entry[i].state != FOR_GOOD)
            forget_library(&g->entry[i], spared != 0);
}

int guard_is_news(const struct guard_entry *e)
{
    return !e->before.known || e->before.contender != e->verdict.contender;
}

int guard_gains(const struct guard *g)
{
    for (int i = 0; i < GUARD_ENTRIES; i++) {
        const struct guard_entry *e = &g->entry[i];

        if (g->key[i] && e->state != FOR_GOOD && (e->state != SETTLED || e->best != GUARD_NATIVE))
            return 1;
    }
    return 0;
}

void guard_cannot(struct guard_entry *e, int slot, unsigned why)
{
    e->out |= (uint8_t)(1u << e->turn[slot]);
    e->mine[slot] = e->cost[slot] = 0;
    if (e->best == e->turn[slot])
        e->best = GUARD_NATIVE;
    if (e->out == (1u << e->n) - 2) { /* all but the library */
        e->best = GUARD_NATIVE;
        e->why = (uint8_t)why;
        e->state = FOR_GOOD;
    }
}
