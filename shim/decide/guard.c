/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns and rounds. The first rounds follow each other; then the entry is settled. Later rounds are
 * looks. A look calls contenders that are worth a trial again (worth.h), and always the contender
 * in use, which may have become slower. If nothing changes there are at most
 *     FREE_ROUNDS + APART ln(N / FREE_ROUNDS) + N / MOST_APART
 * rounds in N calls. A later clock has fewer of them, because each makes hosts wait that run ahead.
 * A look that finds the contender in use slower is made SLOWER_CALLS times in a row. A machine that
 * is found to have changed gets FREE_ROUNDS anew, at most once in CHANGE_CALLS (guard_conclude.c).
 */
#include "shim/decide/guard_private.h"

#include <math.h>
#include <string.h>

#include "planners/variants.h"
#include "shim/decide/worth.h"

enum { MOST_ELSEWHERE = 4, ROUGH_ROUNDS = 3 };
enum { FIRST_LOOK = 4, MOST_APART = 256, APART = 32, FREE_ROUNDS = 64 };
enum { LATER_APART = 4096, LATER_ROUNDS = 16 };

static const double usual_cold = .2;  /* calls of the library that a first call takes longer */
static const double cold_spread = .5; /* from one to the next */
static const double cold_weight = 2;  /* as many first calls say so */
static const double agreeing = .02;   /* calls that an agreement takes, before it is known */
static const double unit_bytes = 1e6; /* times are by so many bytes */
static const double spared_from = 4;  /* times longer: a first trial costs more than it may tell */

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

uint8_t guard_free_rounds(const struct guard_entry *e)
{
    return e->later ? LATER_ROUNDS : FREE_ROUNDS;
}

/* Looks are made until the free ones are used up; after that they are some calls apart. */
static uint32_t least_apart(const struct guard_entry *e)
{
    uint32_t least = e->free_rounds ? 0 : e->calls / APART, most = most_apart(e);

    return least < most ? least : most;
}

void guard_settle(struct guard_entry *e, const struct view *v)
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

int guard_compose(struct guard_entry *e, const struct view *v)
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

void guard_expect_cold(const struct guard *g, struct guard_entry *e)
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
    e->free_rounds = guard_free_rounds(e);
    e->agreeing = agreeing;
    e->evidence.tries[GUARD_NATIVE] = warm != 0;
    guard_expect_cold(g, e);
    worth_view(g, e, &v);
    for (int i = 1; i < e->n && e->near_by; i++)
        if (belief_compare(&v.b, i, e->best).mean < 0)
            e->best = (uint8_t)i;
    if (v.spared && !e->best)
        e->best = 1;
    v.best = e->best;
    guard_compose(e, &v);
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
    guard_settle(e, &v);
}

int guard_pick(struct guard *g, struct guard_entry *e, uint64_t total, int *slot)
{
    *slot = GUARD_UNTIMED;
    if (e->state == SETTLED) {
        struct view v;
        e->calls += e->interval;
        e->total = total;
        guard_expect_cold(g, e);
        worth_view(g, e, &v);
        guard_compose(e, &v);
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
    if (!(seconds > 0 && seconds < GUARD_LONGEST_S))
        return;
    e->mine[slot] = seconds * e->scale[slot];
    e->cost[slot] = (seconds + (setup > 0 && setup < GUARD_LONGEST_S ? setup : 0)) * e->scale[slot];
}

int guard_due(const struct guard_entry *e)
{
    return e->state == ROUND && e->at == e->turns && !(e->later && e->pause);
}

/* The first reroute that can serve; GUARD_NATIVE: none can. */
static uint8_t first_reroute(const struct guard_entry *e)
{
    for (uint8_t i = 1; i < e->n; i++)
        if (!(e->out & 1u << i))
            return i;
    return GUARD_NATIVE;
}

/* Its samples are of other rails. A round under way may hold a call of it. */
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
