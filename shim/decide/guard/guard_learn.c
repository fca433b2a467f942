/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/guard_learn.h"

#include <string.h>

#include "shim/decide/guard/worth.h"

enum { FREE_ROUNDS = 64 };

static const double changed = 1.3; /* times slower or faster than all calls so far */

uint8_t guard_free_rounds(const struct guard_entry *e)
{
    return e->clock.deferred ? GUARD_KNOWN : FREE_ROUNDS;
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
        double margin = e->look.free_rounds ? 0 : b.spread;
        if (b.mean < least - margin) {
            least = b.mean + margin;
            best = i;
        }
    }
    return best;
}

/* Rounds since the first one of those in a row that found the contender in use slower; 0: the last
   one did not. */
static int since_alarm(const struct guard_entry *e)
{
    int rounds = e->change.alarms ? e->evidence.rounds - e->change.alarmed : 0;

    return rounds < 0 ? 0 : rounds < EVIDENCE_ROUNDS ? rounds : EVIDENCE_ROUNDS;
}

/* Did several calls in a row of the contender in use take longer than all of those before, or less
   than all? The machine has changed then. While it has few calls, the fast one may have been luck:
   so a slow one is followed by another at once. A call that takes three times as long is held up,
   and a contender that stays so slow gets no further samples: so tries tell whether it is known. */
static int has_changed(struct guard_entry *e, double seconds)
{
    struct guard_change *c = &e->change;
    int young = e->evidence.tries[e->best] < GUARD_KNOWN;
    struct samples s;
    double most = -1e9, least = 1e9;

    evidence_samples(&e->evidence, &s);
    for (int r = s.rounds - 1 - since_alarm(e); r >= 0; r--)
        if (s.in[r] & 1u << e->best) {
            most = s.log[r][e->best] > most ? s.log[r][e->best] : most;
            least = s.log[r][e->best] < least ? s.log[r][e->best] : least;
        }
    double high = young ? evidence_exp(evidence_held_up + least) : changed * evidence_exp(most);
    double low = young ? 0 : evidence_exp(least) / changed;
    if (!s.n[e->best] || (seconds <= high && seconds >= low)) {
        c->alarms = 0;
        return 0;
    }
    if (!c->alarms)
        c->alarmed = e->evidence.rounds;
    if (++c->alarms < GUARD_FEW)
        return 0;
    c->alarms = 0;
    return !young && (!c->at || e->calls - c->at >= GUARD_HORIZON);
}

/* The machine is another one: what was known of the contenders is forgotten. */
static void begin_again(struct guard_entry *e)
{
    e->evidence = (struct evidence){.rounds = 0};
    memset(e->prior.recalled, 0, sizeof e->prior.recalled);
    e->change.at = e->calls;
    e->look.free_rounds = guard_free_rounds(e);
}

static int first_slot(const struct guard_slots *t, int round)
{
    return round ? t->end[round - 1] : 0;
}

/* The estimated loss by a round's trials, in calls. */
static double lost(const struct guard_entry *e, const struct view *v, int round)
{
    const struct guard_slots *t = &e->slots;
    double sum = 0, calls = 1 + (t->in_runs && !round ? GUARD_LEAD : e->clock.deferred);

    for (int k = first_slot(t, round); k < t->end[round]; k++) {
        int i = t->contender[k];
        double mean = v->s.n[i] ? worth_belief(v, i, 0).mean : 0;

        if (i != e->best && mean > 0)
            sum += calls * (evidence_exp(mean) - 1);
    }
    return sum;
}

/* Seconds of the contenders in a round. Returns those of the one in use; 0: none. */
static double read_round(struct guard_entry *e, int round, const double *took, double *seconds)
{
    const struct guard_slots *t = &e->slots;
    double own = 0;

    for (int k = first_slot(t, round); k < t->end[round]; k++) {
        int i = t->contender[k];

        if (e->out & 1u << i)
            continue;
        seconds[i] = took[k];
        e->doubts.seen[i] = e->calls;
        if (i == e->best)
            own = seconds[i];
    }
    return own;
}

/* The share of an agreement in a call that took so long. One may be held up, so several have to
   tell of many calls. If it takes longer than the call, that is lost as by a slow trial. */
static void learn_agreeing(struct guard_cost *c, int deferred, double agreement, double own)
{
    double most = deferred ? 1 : 2 * (c->agreeing > 1 ? c->agreeing : 1);

    if (agreement > 0 && own > 0) {
        double share = agreement / own < most ? agreement / own : most;
        c->agreeing += (share - c->agreeing) / 2;
        c->spent += share > 1 ? share - 1 : 0;
    }
}

void guard_learn_round(struct guard *g, struct guard_entry *e, int round, const double *took,
                       double agreement)
{
    double seconds[EVIDENCE_ARMS] = {0}, own = read_round(e, round, took, seconds);
    int was = e->best;
    struct view v;

    learn_agreeing(&e->cost, e->clock.deferred, agreement, own);
    if (own > 0 && has_changed(e, own))
        begin_again(e);
    evidence_add(&e->evidence, seconds);
    e->look.free_rounds -= e->look.free_rounds > 0;
    worth_view(g, e, &v);
    v.best = choose(e, &v);
    e->best = (uint8_t)v.best;
    e->cost.spent += own > 0 ? lost(e, &v, round) : 0;
    if (e->best != was) /* an alarm stays: the other one may be slower too */
        e->look.apart = 0;
}
