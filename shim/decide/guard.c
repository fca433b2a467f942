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

#include <float.h>
#include <string.h>

enum state { NEW, BASELINE, WARM_UP, MEASURE, CONFIRM_NATIVE, CONFIRM, SETTLED };

enum { BASELINE_CALLS = 2, MOST_ELSEWHERE = 4, SMALLEST_CLASS = 12, MOST_KIND = 7 };
enum { SOON = 100, COLD = 300, NOW_AND_THEN = 1000, RARELY = 16000, RARER = 4, NEVER = 0 };

/* All in times of the library's call. */
static const double limit =
    2; /* a trial that does not pay may lose so much, and less than one more in its last call */
static const double budget = 1.5;          /* no new reroute after that */
static const double near = 1.5;            /* worth a second measurement */
static const double clearly_faster = .95;  /* to take the library's place */
static const double clearly_slower = 1.03; /* to give it back */
static const double comfortable = .8;      /* so much faster that it need not be looked at soon */

struct guard_entry *guard_find(struct guard *g, enum plan_collective c, unsigned kind,
                               uint64_t total)
{
    int class = total ? 63 - __builtin_clzll(total) : 0;

    if (class < SMALLEST_CLASS) /* all below 8 KiB are one */
        class = SMALLEST_CLASS;
    if (kind > MOST_KIND)
        kind = MOST_KIND;
    uint16_t key = (uint16_t)(1 + (kind * COLL_COUNT + (unsigned)c) * 64 + (unsigned)class);

    for (int i = 0; i < GUARD_ENTRIES; i++)
        if (g->key[i] == key)
            return &g->entry[i];
    int i = g->next++ % GUARD_ENTRIES;
    g->key[i] = key;
    memset(&g->entry[i], 0, sizeof g->entry[i]);
    return &g->entry[i];
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

static void begin(struct guard_entry *e, uint64_t total)
{
    e->state = e->n > 1 ? BASELINE : SETTLED;
    e->total = total;
    e->contender = GUARD_NATIVE;
    e->native = DBL_MAX;
    e->spent = 0;
    e->calls = 0;
    e->elsewhere = 0;
    e->loose = 0;
    memset(e->agreed, 0, sizeof e->agreed);
}

void guard_begin(struct guard_entry *e, uint64_t total, const struct plan_candidate *c, int n)
{
    e->n = (uint8_t)(1 + n);
    e->out = 0;
    for (int i = 0; i < n; i++)
        e->reroute[i] =
            (struct guard_reroute){c[i].algorithm, c[i].recipe, c[i].chunk_bytes, c[i].ppg};
    begin(e, total);
}

/* A look: against the reroute in use, or against the one that was closest. */
static void look_again(struct guard_entry *e, uint64_t total)
{
    int rival = e->best;

    for (int i = 1; e->best == GUARD_NATIVE && i < e->n; i++)
        if (e->agreed[i] > 0 && (rival == GUARD_NATIVE || e->agreed[i] < e->agreed[rival]))
            rival = i;
    e->out = (uint8_t) ~(1u | 1u << rival);
    begin(e, total);
}

int guard_pick(struct guard_entry *e, uint64_t total, int *timed)
{
    if (e->state == SETTLED)
        look_again(e, total);
    *timed = e->loose || total == e->total;
    if (!*timed) {
        e->loose = ++e->elsewhere > MOST_ELSEWHERE;
        return e->best;
    }
    e->elsewhere = 0;
    e->scale = (double)e->total / (double)total;
    return e->contender;
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
    e->contender = GUARD_NATIVE;
    e->state = CONFIRM_NATIVE;
    return 0;
}

/* On to the next reroute, or to the end. */
static int next(struct guard_entry *e)
{
    int i = e->contender + 1;

    while (i < e->n && e->out & 1u << i)
        i++;
    if (i >= e->n || e->spent > budget * e->agreed[GUARD_NATIVE])
        return finish(e);
    e->contender = (uint8_t)i;
    e->calls = 0;
    e->state = WARM_UP;
    return 0;
}

/* Would the trial stay within its limit if the contender took as long again as it just has? */
static int affordable(const struct guard_entry *e, double again)
{
    return e->spent + again <= (1 + limit) * e->agreed[GUARD_NATIVE];
}

/* Agree on the library's time, the contender's, and what this call has cost. Returns 0 or -1. */
static int agree_on(struct guard_entry *e, double seconds, double cost, guard_agree agree,
                    void *context)
{
    double value[3] = {e->native, seconds, cost};

    if (agree(context, value, 3) < 0) {
        *e = (struct guard_entry){.state = SETTLED, .interval = NEVER};
        return -1;
    }
    e->agreed[GUARD_NATIVE] = value[0];
    if (e->agreed[e->contender] > 0 && e->agreed[e->contender] < value[1])
        value[1] = e->agreed[e->contender];
    e->agreed[e->contender] = value[1];
    e->spent += value[2] - value[0];
    return 0;
}

static int note_warm_up(struct guard_entry *e, double seconds, double setup, guard_agree agree,
                        void *context)
{
    if (agree_on(e, seconds, seconds + setup, agree, context) < 0)
        return -1;
    if (!affordable(e, e->agreed[e->contender])) {
        e->out |= (uint8_t)(1u << e->contender);
        return next(e);
    }
    e->state = MEASURE;
    return 0;
}

static int note_measured(struct guard_entry *e, double seconds, guard_agree agree, void *context)
{
    if (agree_on(e, seconds, seconds, agree, context) < 0)
        return -1;
    double share = e->agreed[e->contender] / e->agreed[GUARD_NATIVE];
    if (++e->calls < 2 && share <= near && affordable(e, e->agreed[e->contender]))
        return 0; /* once more */
    return next(e);
}

int guard_note(struct guard_entry *e, double seconds, double setup, guard_agree agree,
               void *context)
{
    seconds *= e->scale;
    setup *= e->scale;
    switch ((enum state)e->state) {
    case BASELINE:
    case CONFIRM_NATIVE:
        if (seconds < e->native)
            e->native = seconds;
        if (e->state == CONFIRM_NATIVE) {
            e->contender = (uint8_t)(e->best ? e->best : fastest_reroute(e));
            e->out &= (uint8_t) ~(1u << e->contender); /* a second chance */
            e->state = CONFIRM;
            return 0;
        }
        return ++e->calls < BASELINE_CALLS ? 0 : next(e);
    case WARM_UP:
        return note_warm_up(e, seconds, setup, agree, context);
    case MEASURE:
        return note_measured(e, seconds, agree, context);
    case CONFIRM:
        if (agree_on(e, seconds, seconds, agree, context) < 0)
            return -1;
        return settle(e, winner(e));
    case NEW:
    case SETTLED:
        break;
    }
    return 0;
}

int guard_cannot(struct guard_entry *e)
{
    if (e->contender == GUARD_NATIVE)
        return 0;
    e->agreed[e->contender] = 0;
    e->out |= (uint8_t)(1u << e->contender);
    return e->state == CONFIRM ? settle(e, GUARD_NATIVE) : next(e);
}
