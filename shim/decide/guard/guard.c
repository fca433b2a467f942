/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots and rounds. The first rounds follow each other; then the entry is settled. Later rounds are
 * looks. A look calls contenders that are worth a trial again (worth.h), and always the contender
 * in use, which may have become slower. If nothing changes there are at most
 *     F + GUARD_SHARE ln(N / F) + N / MOST_APART, where F is guard_free_rounds,
 * rounds in N calls. A deferred clock has fewer of them, because each makes hosts wait that run
 * ahead. guard_learn.h draws the conclusions from a round.
 */
#include "shim/decide/guard/guard.h"

#include <math.h>
#include <string.h>

#include "planners/choose/variants.h"
#include "shim/decide/guard/guard_deferred.h"
#include "shim/decide/guard/guard_learn.h"
#include "shim/decide/guard/worth.h"

enum state { NEW, ROUND, SETTLED, FOR_GOOD };

enum { FIRST_LOOK = 4, MOST_APART = 256, DEFERRED_APART = 3 * MOST_APART };

static const double looking = .01;   /* most of the calls' time that agreements on looks take */
static const double spared_from = 4; /* times longer: a first trial costs more than it may tell */
static const double longest = 1e6;   /* seconds: no call takes longer, a clock has jumped */

int guard_settled(struct guard_entry *e)
{
    if (e->state == FOR_GOOD)
        return 1;
    if (e->state != SETTLED || e->look.left == 0)
        return 0;
    e->look.left--;
    return 1;
}

int guard_wants_candidates(const struct guard_entry *e)
{
    return e->state == NEW;
}

static uint32_t most_apart(const struct guard_entry *e)
{
    return e->clock.deferred ? DEFERRED_APART : MOST_APART;
}

/* Looks are made until the free ones are used up; after that they are some calls apart. Those whose
   agreement takes long are so at any time, and may be further apart than the others. */
static uint32_t least_apart(const struct guard_entry *e)
{
    uint32_t least = e->look.free_rounds ? 0 : e->calls / GUARD_SHARE, most = most_apart(e);
    double by_cost = e->cost.agreeing / looking;

    least = least < most ? least : most;
    return least < by_cost ? (uint32_t)by_cost : least;
}

/* Until something is worth a trial again, or it is time to see whether the contender in use has
   become slower. */
static void settle(struct guard_entry *e, const struct view *v)
{
    uint32_t most = e->look.apart ? 2 * e->look.apart : FIRST_LOOK, left = FIRST_LOOK;

    if (most > most_apart(e))
        most = most_apart(e);
    for (int found = 0; !found && left < most; left *= 2)
        for (int i = 0; i < e->n; i++)
            found |= i != e->best && worth_trial(v, i, left) > 0;
    left = left < most ? left : most;
    if (left < least_apart(e))
        left = least_apart(e);
    e->look.apart = e->look.left = left;
    e->state = SETTLED;
}

/* Turns of contender i in the rounds so far. */
static int slots_of(const struct guard_slots *t, int i)
{
    int n = 0;

    for (int k = 0; k < t->n; k++)
        n += t->contender[k] == i;
    return n;
}

/* Is contender i to have a slot rather than contender k, each worth so much? */
static int is_rather(const struct guard_slots *t, int i, double worth, int k, double most)
{
    int fewer = k < 0 ? 0 : slots_of(t, k) - slots_of(t, i);

    return worth > 0 && (fewer ? fewer > 0 : worth > most);
}

/* Put the contender in use in the round, and those most worth a trial: one that was tried, and one
   that was not, since each tells about the rest. A slot of this round's forerunners is a try. If
   there are none, the one that is near, which needs runs. Returns how many. */
static int pick_slots(const struct guard_entry *e, const struct view *v, uint8_t slot[GUARD_ROUND])
{
    enum { TRIED, UNTRIED, NEAR, SORTS };
    double most[SORTS] = {0};
    int at[SORTS] = {-1, -1, -1}, n = 1;

    slot[0] = e->best;
    for (int i = 0; i < e->n; i++) {
        int untried = !e->evidence.tries[i] && !slots_of(&e->slots, i);
        int sort = untried ? UNTRIED : worth_is_near(v, i) ? NEAR : TRIED;
        double worth = i == e->best ? 0 : worth_trial(v, i, 0);

        if (is_rather(&e->slots, i, worth, at[sort], most[sort])) {
            most[sort] = worth;
            at[sort] = i;
        }
    }
    for (int k = 0; k < SORTS; k++)
        if (at[k] >= 0 && (k != NEAR || n == 1))
            slot[n++] = (uint8_t)at[k];
    return n;
}

/* Put together a round behind those that wait for the clock. Returns how many contenders besides
   the one in use. */
static int add_round(struct guard_entry *e, const struct view *v)
{
    struct guard_slots *t = &e->slots;
    int n = pick_slots(e, v, t->contender + t->n);

    t->n += (uint8_t)n;
    t->end[t->rounds++] = t->n;
    guard_deferred_begin(&e->clock);
    e->state = ROUND;
    return n - 1;
}

/* The same, where none waits. Runs are GUARD_ROUNDS rounds of two contenders. */
static int compose(struct guard_entry *e, const struct view *v)
{
    struct guard_slots *t = &e->slots;

    t->n = t->rounds = t->picked = t->led = e->sizes.elsewhere = 0;
    memset(t->mine, 0, sizeof t->mine);
    int others = add_round(e, v);
    t->in_runs = others == 1 && worth_is_near(v, t->contender[1]);
    for (; t->in_runs && t->rounds < GUARD_ROUNDS; t->end[t->rounds++] = t->n += 2)
        memcpy(t->contender + t->n, t->contender, 2);
    return others;
}

/* The slot that is next: those of a contender follow each other in a run. */
static int next_slot(const struct guard_slots *t)
{
    return t->in_runs ? t->picked % GUARD_ROUNDS * 2 + t->picked / GUARD_ROUNDS : t->picked;
}

/* Does a call that is not measured come first? One by the contender in use loses nothing. With a
   deferred clock one does before each slot. */
static int is_led(const struct guard_entry *e)
{
    const struct guard_slots *t = &e->slots;
    int first = t->in_runs && t->picked % GUARD_ROUNDS == 0;
    int own = t->contender[next_slot(t)] == e->best;

    return t->led < (first ? GUARD_LEAD : e->clock.deferred || (own && !t->in_runs));
}

static int is_predicted(const struct plan_candidate *c)
{
    return c->seconds > 0 && isfinite(c->seconds);
}

/* A row without a model comes first in its list: it is taken for as good as the best of those with
   one. */
static double least_predicted(const struct plan_candidate *c, int n)
{
    double least = INFINITY;

    for (int i = 0; i < n; i++)
        if (is_predicted(&c[i]) && c[i].seconds < least)
            least = c[i].seconds;
    return isfinite(least) ? least : 1;
}

void guard_begin(struct guard *g, struct guard_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n)
{
    struct view v;

    if (n > GUARD_REROUTES)
        n = GUARD_REROUTES;
    e->n = (uint8_t)(1 + n);
    e->sizes.total = total;
    double least = least_predicted(c, n);
    for (int i = 0; i < n; i++) {
        e->reroute[i] = c[i];
        e->prior.predicted[1 + i] = evidence_ln(is_predicted(&c[i]) ? c[i].seconds : least);
    }
    if (!n) {
        e->state = FOR_GOOD;
        return;
    }
    e->look.free_rounds = guard_free_rounds(e);
    worth_view(g, e, &v);
    for (int i = 1; i < e->n && v.near_by; i++)
        if (belief_compare(&v.b, i, e->best).mean < 0)
            e->best = (uint8_t)i;
    if (v.spared && !e->best)
        e->best = 1;
    v.best = e->best;
    compose(e, &v);
}

/* Logarithm of a call's least time in seconds: as predicted, or as measured. */
static double least_time(const struct guard_entry *e)
{
    double least = e->prior.predicted[1], per_call = evidence_ln((double)e->sizes.total);
    struct samples s;

    evidence_samples(&e->evidence, &s);
    for (int r = 0; r < s.rounds; r++)
        for (int i = 0; i < e->n; i++)
            if (s.in[r] & 1u << i && s.log[r][i] + per_call < least)
                least = s.log[r][i] + per_call;
    return least;
}

int guard_affords(struct guard_entry *e, double cost)
{
    double paid_at = evidence_ln(cost * GUARD_SHARE) - evidence_ln(1.0 + e->calls);

    int between = e->state == SETTLED || (e->state == ROUND && !e->slots.picked);

    if (e->afforded || !between || !e->evidence.rounds || e->prior.predicted[1] < paid_at ||
        least_time(e) < paid_at)
        return 0;
    e->afforded = 1;
    return 1;
}

void guard_offer(struct guard_entry *e, const struct plan_candidate *c)
{
    if (e->n < 2 || e->n > GUARD_REROUTES || !is_predicted(c))
        return;
    e->reroute[e->n - 1] = *c;
    e->prior.predicted[e->n] = evidence_ln(c->seconds);
    e->n++;
}

const struct plan_candidate *guard_way(const struct guard_entry *e, int i)
{
    return i > 0 && i < e->n ? &e->reroute[i - 1] : NULL;
}

void guard_recall(struct guard *g, struct guard_entry *e,
                  const struct estimate known[GUARD_CONTENDERS])
{
    struct view v;

    if (e->state != ROUND)
        return;
    memcpy(e->prior.recalled, known, sizeof e->prior.recalled);
    worth_view(g, e, &v);
    for (int i = 1; i < e->n; i++)
        if (known[i].spread > 0 && v.b.mean[i] < v.b.mean[e->best])
            e->best = (uint8_t)i;
    v.best = e->best;
    settle(e, &v);
}

/* Seconds since then, by the byte; 0: not known. */
static double since(const struct guard *g, double began, double scale)
{
    double seconds = g->now ? g->now() - began : 0;

    return seconds > 0 && seconds < longest ? seconds * scale : 0;
}

static void begin_look(struct guard *g, struct guard_entry *e, uint64_t total)
{
    double began = g->now ? g->now() : 0;
    struct view v;

    e->calls += e->look.apart;
    e->sizes.total = total;
    worth_view(g, e, &v);
    compose(e, &v);
    e->cost.agreement += since(g, began, 1 / (double)total);
}

int guard_pick(struct guard *g, struct guard_entry *e, uint64_t total, int *slot)
{
    struct guard_slots *t = &e->slots;

    *slot = GUARD_UNTIMED;
    if (e->state == SETTLED)
        begin_look(g, e, total);
    if (t->picked == t->n) { /* a deferred clock has not been asked yet */
        e->clock.pause -= e->clock.pause > 0;
        e->calls++;
        return e->best;
    }
    if (total != e->sizes.total && !e->sizes.loose && e->evidence.rounds >= GUARD_FEW) {
        e->sizes.loose = ++e->sizes.elsewhere > GUARD_FEW;
        e->calls++;
        return e->best;
    }
    e->sizes.elsewhere = 0;
    e->calls++;
    int now = next_slot(t);
    if (is_led(e)) {
        t->led++;
        return t->contender[now];
    }
    t->led = 0;
    t->picked++;
    t->scale[now] = 1 / (double)total;
    *slot = now;
    return t->contender[now];
}

void guard_note(struct guard_entry *e, int slot, double seconds)
{
    if (e->clock.deferred && isinf(seconds))
        e->slots.mine[slot] = INFINITY;
    if (seconds > 0 && seconds < longest)
        e->slots.mine[slot] = seconds * e->slots.scale[slot];
}

int guard_due(const struct guard_entry *e)
{
    return e->state == ROUND && e->slots.picked == e->slots.n &&
           !(e->clock.deferred && e->clock.pause);
}

/* This rank's values of the rounds. Returns how many, the same on all ranks. */
static int values(const struct guard_entry *e, double value[GUARD_VALUES])
{
    int n = 0;

    value[n++] = -e->cost.agreement; /* the least counts: others wait for the last rank */
    for (int k = 0; k < e->slots.n; k++)
        value[n++] = e->slots.mine[k];
    return n;
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

/* The values, each now the largest of any rank. Returns 1 if that makes a verdict, else 0. */
static int conclude_rounds(struct guard *g, struct guard_entry *e, const double *value)
{
    const double *took = value + 1;
    int was = e->best, more, over, known = 1;
    struct view v;

    for (int k = 0; k < e->slots.n; k++)
        known &= isfinite(took[k]) != 0;
    if (!known && guard_deferred_wants_more(e)) {
        worth_view(g, e, &v);
        add_round(e, &v);
        return 0;
    }
    if (!known) {
        guard_deferred_wait(&e->clock);
        return 0;
    }
    if (e->clock.deferred)
        guard_deferred_learn(&e->clock);
    for (int round = 0; round < e->slots.rounds; round++)
        guard_learn_round(g, e, round, took, round ? 0 : -value[0]);
    over = guard_deferred_is_over(e);
    if (over)
        e->look.free_rounds = 0;
    worth_view(g, e, &v);
    more = compose(e, &v);
    if (over || (!(more && e->look.free_rounds) && !e->change.alarms && e->evidence.rounds >= 2))
        settle(e, &v);
    else if (e->evidence.rounds < GUARD_KNOWN || (e->verdict.known && e->best == was))
        return 0;
    note_verdict(e, &v);
    return 1;
}

int guard_conclude(struct guard *g, struct guard_entry *e, guard_agree agree, void *context)
{
    double value[GUARD_VALUES], began = g->now ? g->now() : 0;

    if (agree(context, value, values(e, value)) < 0) {
        *e = (struct guard_entry){.state = FOR_GOOD, .clock.deferred = e->clock.deferred};
        return 0;
    }
    int news = conclude_rounds(g, e, value);
    e->cost.agreement = since(g, began, e->slots.scale[0]);
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

void guard_renew(struct guard *g)
{
    for (int i = 0; i < GUARD_ENTRIES; i++) {
        struct guard_entry *e = &g->entry[i];
        int served = e->state != FOR_GOOD || e->n == 1; /* else no reroute can serve */

        if (g->key[i] && e->best == GUARD_NATIVE && served)
            *e = (struct guard_entry){.clock.deferred = e->clock.deferred};
    }
}

/* Its samples are of other rails. A round under way may hold a call of it. */
static void forget_library(struct guard_entry *e, int spared)
{
    evidence_forget_arm(&e->evidence, GUARD_NATIVE);
    e->spared_at = e->calls;
    e->best = spared && e->best == GUARD_NATIVE ? first_reroute(e) : e->best;
    e->state = SETTLED;
    e->look.left = e->look.apart = 0;
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
    int contender = e->slots.contender[slot];

    e->out |= (uint8_t)(1u << contender);
    e->slots.mine[slot] = 0;
    if (e->best == contender)
        e->best = GUARD_NATIVE;
    if (e->out == (1u << e->n) - 2) { /* all but the library */
        e->best = GUARD_NATIVE;
        e->why = (uint8_t)why;
        e->state = FOR_GOOD;
    }
}
