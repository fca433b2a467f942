/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/guard_learn.h"

#include <string.h>

#include "shim/decide/guard/worth.h"

enum { FREE_ROUNDS = 64 };

static const double changed = 1.3; /* times slower or faster than all calls so far */

uint8_t guard_free_rounds(const struct guard_entry *e)
{
    return e->later ? GUARD_KNOWN : FREE_ROUNDS;
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
        double margin = e->free_rounds ? 0 : b.spread;
        if (b.mean < least - margin) {
            least = b.mean + margin;
            best = i;
        }
    }
    return best;
}

/* Rounds since the first one of those in a row that found the contender in use slower. */
static int since_alarm(const struct guard_entry *e)
{
    int rounds = e->evidence.rounds - e->alarmed;

    return rounds < 0 ? 0 : rounds < EVIDENCE_ROUNDS ? rounds : EVIDENCE_ROUNDS;
}

/* Did several calls in a row of the contender in use take longer than all of those before, or less
   than all? The machine has changed then. While it has few calls, the fast one may have been luck:
   so a slow one is followed by another at once. A call that takes three times as long is held up,
   and a contender that stays so slow gets no further samples: so tries tell whether it is known. */
static int has_changed(struct guard_entry *e, double seconds)
{
    int young = e->evidence.tries[e->best] < GUARD_KNOWN;
    struct samples s;
    double most = -1e9, least = 1e9;

    evidence_samples(&e->evidence, &s);
    for (int r = s.rounds - 1 - (e->alarms ? since_alarm(e) : 0); r >= 0; r--)
        if (s.in[r] & 1u << e->best) {
            most = s.log[r][e->best] > most ? s.log[r][e->best] : most;
            least = s.log[r][e->best] < least ? s.log[r][e->best] : least;
        }
    double high = young ? evidence_exp(evidence_held_up + least) : changed * evidence_exp(most);
    double low = young ? 0 : evidence_exp(least) / changed;
    if (!s.n[e->best] || (seconds <= high && seconds >= low)) {
        e->alarms = 0;
        return 0;
    }
    if (!e->alarms)
        e->alarmed = e->evidence.rounds;
    if (++e->alarms < GUARD_FEW)
        return 0;
    e->alarms = 0;
    return !young && (!e->changed || e->calls - e->changed >= GUARD_HORIZON);
}

/* The machine is another one: what was known of the contenders is forgotten. */
static void begin_again(struct guard_entry *e)
{
    e->evidence = (struct evidence){.rounds = 0};
    memset(e->recalled, 0, sizeof e->recalled);
    e->changed = e->calls;
    e->free_rounds = guard_free_rounds(e);
}

/* The estimated loss by a round's trials, in calls. */
static double lost(const struct guard_entry *e, const struct view *v, int round)
{
    double sum = 0, calls = 1 + (e->block && !round ? GUARD_LEAD : e->later);

    for (int k = round ? e->end[round - 1] : 0; k < e->end[round]; k++) {
        double mean = v->s.n[e->turn[k]] ? worth_belief(v, e->turn[k], 0).mean : 0;

        if (e->turn[k] != e->best && mean > 0)
            sum += calls * (evidence_exp(mean) - 1);
    }
    return sum;
}

/* Seconds of the contenders in a round. Returns those of the one in use; 0: none. */
static double read_round(struct guard_entry *e, int round, const double *took, double *seconds)
{
    double own = 0;

    for (int k = round ? e->end[round - 1] : 0; k < e->end[round]; k++) {
        int i = e->turn[k];

        if (e->out & 1u << i)
            continue;
        seconds[i] = took[k];
        e->seen[i] = e->calls;
        if (i == e->best)
            own = seconds[i];
    }
    return own;
}

/* The share of an agreement in a call that took so long. One may be held up, so several have to
   tell of many calls. If it takes longer than the call, that is lost as by a slow trial. */
static void learn_agreeing(struct guard_entry *e, double agreement, double own)
{
    double most = e->later ? 1 : 2 * (e->agreeing > 1 ? e->agreeing : 1);

    if (agreement > 0 && own > 0) {
        double share = agreement / own < most ? agreement / own : most;
        e->agreeing += (share - e->agreeing) / 2;
        e->spent += share > 1 ? share - 1 : 0;
    }
}

void guard_learn_round(struct guard *g, struct guard_entry *e, int round, const double *took,
                       double agreement)
{
    double seconds[EVIDENCE_ARMS] = {0}, own = read_round(e, round, took, seconds);
    int was = e->best;
    struct view v;

    learn_agreeing(e, agreement, own);
    if (own > 0 && has_changed(e, own))
        begin_again(e);
    evidence_add(&e->evidence, seconds);
    e->free_rounds -= e->free_rounds > 0;
    worth_view(g, e, &v);
    v.best = choose(e, &v);
    e->best = (uint8_t)v.best;
    e->spent += own > 0 ? lost(e, &v, round) : 0;
    if (e->best != was) /* an alarm stays: the other one may be slower too */
        e->interval = 0;
}
