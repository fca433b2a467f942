/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trial: the library twice, then each reroute, warmed up and measured, twice where it may win.
 * Of several calls the fastest counts: one that a scheduler or a network held up says nothing, and
 * a trial must not hang on it. It is meant to be cheap where rerouting does not pay: a reroute
 * whose first, cold call was so slow that another one might lose more than `limit` calls of the
 * library is not measured, and a trial that has lost `budget` begins with no further reroute. The
 * first calls are the dear ones, so who was dropped for that has its second chance soon. Who seems
 * to win is measured once more before anything changes: a call that a scheduler held up only ever
 * looks too slow.
 *
 * Looks after that are trials of two, the library and the fastest reroute. They become rarer while
 * nothing changes.
 */
#include "shim/decide/guard.h"

#include <math.h>
#include <string.h>

enum state { NEW, WARM_UP, MEASURE, CONFIRM, SETTLED };

enum { BASELINE_CALLS = 2, MOST_ELSEWHERE = 4, SMALLEST_CLASS = 12 };
enum { SOON = 100, COLD = 300, NOW_AND_THEN = 1000, RARELY = 16000, RARER = 4, NEVER = 0 };

/* All in times of the library's call. */
static const double limit =
    2; /* a trial that does not pay may lose so much, and less than one more in its last call */
static const double budget = 1.5;          /* no new reroute after that */
static const double near = 1.5;            /* worth a second measurement */
static const double clearly_faster = .95;  /* to take the library's place */
static const double clearly_slower = 1.03; /* to give it back */
static const double comfortable = .8;      /* so much faster that it need not be looked at soon */

static uint32_t key_of(enum plan_collective c, unsigned kind, uint64_t total)
{
    unsigned class = total ? 63u - (unsigned)__builtin_clzll(total) : 0;

    if (class < SMALLEST_CLASS) /* all below 8 KiB are one */
        class = SMALLEST_CLASS;
    return 1 + (kind * COLL_COUNT + (unsigned)c) * 64 + class;
}

static int place_of(const struct guard *g, uint32_t key)
{
    int i = 0;

    while (i < GUARD_ENTRIES && g->key[i] != key)
        i++;
    return i;
}

struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total)
{
    uint32_t key = key_of(c, kind, total);
    int i = place_of(g, key);

    if (i == GUARD_ENTRIES) {
        i = g->next++ % GUARD_ENTRIES;
        g->key[i] = key;
        g->entry[i] = (struct guard_entry){.later = g->later};
    }
    return &g->entry[i];
}

const struct guard_entry *guard_known(const struct guard *g, enum plan_collective c, unsigned kind,
                                      uint64_t total)
{
    int i = place_of(g, key_of(c, kind, total));

    return i < GUARD_ENTRIES && (g->entry[i].state == SETTLED || g->entry[i].interval)
               ? &g->entry[i]
               : NULL;
}

int guard_settled(struct guard_entry *e)
{
    if (e->state != SETTLED)
        return 0;
    if (e->interval == NEVER)
        return 1;
    if (e->left == 0)
        return 0;
    e->left--;
    return 1;
}

int guard_wants_candidates(const struct guard_entry *e)
{
    return e->state == NEW;
}

/* A round: the library so often, then contenders may be added. */
static void begin_round(struct guard_entry *e, enum state state, int natives)
{
    e->state = (uint8_t)state;
    e->turns = (uint8_t)natives;
    e->at = e->led = 0;
    e->pause = e->wait = GUARD_PAUSE;
    for (int i = 0; i < GUARD_CONTENDERS; i++) {
        e->turn[i] = GUARD_NATIVE;
        e->mine[i] = INFINITY;
        e->cost[i] = 0;
    }
}

static void add_turn(struct guard_entry *e, int contender)
{
    e->turn[e->turns++] = (uint8_t)contender;
}

/* The first of the reroutes from number i on that is not dropped; e->n: none is left. */
static int remaining(const struct guard_entry *e, int i)
{
    while (i < e->n && e->out & 1u << i)
        i++;
    return i;
}

/* All that remain, or where the clock answers at once the first of them. */
static void add_turns(struct guard_entry *e, int i)
{
    for (i = remaining(e, i); i < e->n; i = e->later ? remaining(e, i + 1) : e->n)
        add_turn(e, i);
}

static void begin(struct guard_entry *e, uint64_t total, int natives)
{
    begin_round(e, e->n > 1 ? WARM_UP : SETTLED, e->later ? 1 : natives);
    add_turns(e, 1);
    if (e->later)
        add_turn(e, GUARD_NATIVE);
    e->total = total;
    e->native = INFINITY;
    e->spent = 0;
    e->calls = 0;
    e->elsewhere = 0;
    e->loose = 0;
    memset(e->agreed, 0, sizeof e->agreed);
}

void guard_begin(struct guard_entry *e, uint64_t total, const struct plan_candidate *c, int n,
                 int warm)
{
    e->n = (uint8_t)(1 + n);
    e->out = 0;
    memcpy(e->reroute, c, (size_t)n * sizeof *c);
    begin(e, total, warm ? BASELINE_CALLS - 1 : BASELINE_CALLS);
}

int guard_rival(const struct guard_entry *e)
{
    int rival = e->best;

    for (int i = 1; e->best == GUARD_NATIVE && i < e->n; i++)
        if (e->agreed[i] > 0 && (rival == GUARD_NATIVE || e->agreed[i] < e->agreed[rival]))
            rival = i;
    return rival;
}

/* A look: against the reroute in use, or against the one that was closest. */
static void look_again(struct guard_entry *e, uint64_t total)
{
    e->out = (uint8_t) ~(1u | 1u << guard_rival(e));
    begin(e, total, BASELINE_CALLS);
}

int guard_pick(struct guard_entry *e, uint64_t total, int *slot)
{
    *slot = GUARD_UNTIMED;
    if (e->state == SETTLED)
        look_again(e, total);
    if (!e->loose && total != e->total) {
        e->loose = ++e->elsewhere > MOST_ELSEWHERE;
        return e->best;
    }
    e->elsewhere = 0;
    if (e->at == e->turns) { /* a later clock has not been asked yet */
        e->pause -= e->pause > 0;
        return e->best;
    }
    e->led = e->later && !e->led;
    if (e->led)
        return e->turn[e->at];
    *slot = e->at++;
    e->scale[*slot] = (double)e->total / (double)total;
    return e->turn[*slot];
}

static int settle(struct guard_entry *e, int best)
{
    int changed = e->interval == NEVER || best != e->best, cold = 0;
    double share = e->agreed[GUARD_NATIVE] > 0 ? e->agreed[best] / e->agreed[GUARD_NATIVE] : 0;

    for (int i = 1; i < e->n; i++)
        cold |= e->out & 1u << i && e->agreed[i] > 0;
    uint32_t first = best != GUARD_NATIVE && share > comfortable ? SOON
                     : cold                                      ? COLD
                                                                 : NOW_AND_THEN;
    uint32_t later = e->interval * RARER < RARELY ? e->interval * RARER : RARELY;
    e->interval = changed ? first : later;
    e->left = e->interval;
    e->best = (uint8_t)best;
    e->state = SETTLED;
    return 1;
}

/* The reroute that is fastest in this trial, or the library if none was measured. */
static int fastest_reroute(const struct guard_entry *e)
{
    int best = GUARD_NATIVE;

    for (int i = 1; i < e->n; i++)
        if (!(e->out & 1u << i) && e->agreed[i] > 0 &&
            (best == GUARD_NATIVE || e->agreed[i] < e->agreed[best]))
            best = i;
    return best;
}

/* Who would be taken now: the incumbent keeps its place unless another is clearly better. */
static int winner(const struct guard_entry *e)
{
    int rival = fastest_reroute(e);
    double share = e->best == GUARD_NATIVE ? clearly_faster : clearly_slower;

    return rival != GUARD_NATIVE && e->agreed[rival] <= share * e->agreed[GUARD_NATIVE]
               ? rival
               : GUARD_NATIVE;
}

/* All that are tried have been measured. */
static int finish(struct guard_entry *e)
{
    if (winner(e) == e->best)
        return settle(e, e->best);
    begin_round(e, CONFIRM, 1);
    add_turn(e, e->best ? e->best : fastest_reroute(e));
    e->out &= (uint8_t) ~(1u << e->turn[1]); /* a second chance */
    return 0;
}

/* On to the reroutes from number i on, or to the end. */
static int next(struct guard_entry *e, int i)
{
    if (e->later || remaining(e, i) >= e->n || e->spent > budget * e->agreed[GUARD_NATIVE])
        return finish(e);
    e->calls = 0;
    begin_round(e, WARM_UP, 0);
    add_turns(e, i);
    return 0;
}

/* Would the trial stay within its limit if reroute i took as long again as it just has? */
static int affordable(const struct guard_entry *e, int i)
{
    return (e->later && e->agreed[i] <= e->agreed[GUARD_NATIVE]) ||
           e->spent + e->agreed[i] <= (1 + limit) * e->agreed[GUARD_NATIVE];
}

/* How often reroute i has its turn in this round. */
static int turns_of(const struct guard_entry *e, int i)
{
    int n = 0;

    for (int at = 0; at < e->turns; at++)
        n += e->turn[at] == i;
    return n;
}

/* Agree on the library's time, and for the reroutes of this round on theirs, and on what it has
   cost. Returns 1, 0 if some rank does not know yet, or -1. */
static int agree_on(struct guard_entry *e, guard_agree agree, void *context)
{
    double value[1 + 2 * GUARD_CANDIDATES] = {e->native};
    int n = 1;

    for (int i = 1; i < e->n; i++)
        if (turns_of(e, i)) {
            value[n++] = e->mine[i];
            value[n++] = e->cost[i];
        }
    if (agree(context, value, n) < 0) {
        *e = (struct guard_entry){.state = SETTLED, .interval = NEVER, .later = e->later};
        return -1;
    }
    for (int k = 0; k < n; k++)
        if (isinf(value[k]))
            return 0;
    e->agreed[GUARD_NATIVE] = value[0];
    n = 1;
    for (int i = 1; i < e->n; i++)
        if (turns_of(e, i)) {
            if (!(e->agreed[i] > 0 && e->agreed[i] < value[n]))
                e->agreed[i] = value[n];
            e->spent += value[n + 1] - turns_of(e, i) * value[0];
            n += 2;
        }
    return 1;
}

/* Drop those that are too slow to be measured; the others are, twice where that is one round. */
static int after_warm_up(struct guard_entry *e)
{
    int from = e->later ? 1 : e->turn[e->turns - 1];

    for (int i = 1; i < e->n; i++)
        if (turns_of(e, i) && !affordable(e, i))
            e->out |= (uint8_t)(1u << i);
    if (remaining(e, from) >= (e->later ? e->n : from + 1))
        return next(e, from + 1);
    begin_round(e, MEASURE, 0);
    add_turns(e, from);
    if (e->later)
        add_turns(e, from);
    return 0;
}

static int after_measuring(struct guard_entry *e)
{
    int i = e->turn[0];
    double share = e->agreed[i] / e->agreed[GUARD_NATIVE];

    if (!e->later && ++e->calls < 2 && share <= near && affordable(e, i)) {
        begin_round(e, MEASURE, 0);
        add_turn(e, i);
        return 0;
    }
    return next(e, i + 1);
}

/* All turns of the round have been made. */
static int end_round(struct guard_entry *e, guard_agree agree, void *context)
{
    if (turns_of(e, GUARD_NATIVE) == e->turns) /* no reroute can serve */
        return finish(e);
    int rc = agree_on(e, agree, context);

    if (rc == 0)
        e->pause = e->wait = e->wait < RARELY ? 2 * e->wait : RARELY;
    if (rc < 1)
        return rc;
    return e->state == WARM_UP   ? after_warm_up(e)
           : e->state == MEASURE ? after_measuring(e)
                                 : settle(e, winner(e));
}

static void note(struct guard_entry *e, int slot, double seconds, double setup)
{
    int contender = e->turn[slot];

    seconds *= e->scale[slot];
    if (contender == GUARD_NATIVE && seconds < e->native)
        e->native = seconds;
    if (seconds < e->mine[contender])
        e->mine[contender] = seconds;
    e->cost[contender] += seconds + setup * e->scale[slot];
}

int guard_note(struct guard_entry *e, int slot, double seconds, double setup, guard_agree agree,
               void *context)
{
    note(e, slot, seconds, setup);
    return e->at < e->turns ? 0 : end_round(e, agree, context);
}

int guard_cannot(struct guard_entry *e)
{
    int contender = e->turn[e->at - 1];

    if (contender == GUARD_NATIVE)
        return 0;
    e->agreed[contender] = 0;
    e->out |= (uint8_t)(1u << contender);
    return e->state == CONFIRM ? settle(e, GUARD_NATIVE) : next(e, contender + 1);
}

int guard_due(const struct guard_entry *e)
{
    return e->later && e->state != NEW && e->state != SETTLED && e->at == e->turns && !e->pause;
}

int guard_look(struct guard_entry *e, guard_clock clock, guard_agree agree, void *context)
{
    e->native = e->state == WARM_UP ? INFINITY : e->native;
    for (int i = 0; i < GUARD_CONTENDERS; i++) {
        e->mine[i] = INFINITY;
        e->cost[i] = 0;
    }
    for (int slot = 0; slot < e->turns; slot++)
        note(e, slot, clock(context, slot), 0);
    return end_round(e, agree, context);
}
