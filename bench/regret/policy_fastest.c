/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simpler guard, told for all ranks at once: try all, keep the fastest. The library twice, then
 * each reroute, warmed up and measured, twice where it may win, as long as not too much is lost; of
 * several calls the fastest counts. The apparent winner is measured once more. Looks at the library
 * and the fastest reroute come after 100 to 16000 calls.
 */
#include "bench/regret/policy.h"

#include <float.h>
#include <string.h>

enum state { NEW, BASELINE, WARM_UP, MEASURE, CONFIRM_NATIVE, CONFIRM, SETTLED };
enum { MOST_ELSEWHERE = 4, SOON = 100, COLD = 300, NOW_AND_THEN = 1000, RARELY = 16000 };

static const double limit = 2, budget = 1.5, near = 1.5, faster = .95, slower = 1.03,
                    comfortable = .8;

static struct entry {
    double agreed[MOST_ARMS], native[MOST_RANKS], spent, scale;
    uint64_t total;
    uint32_t left, interval;
    int state, contender, calls, n, best, loose, elsewhere;
    unsigned out;
} entry[MOST_CLASSES];

static void begin(const struct machine *m)
{
    memset(entry, 0, sizeof entry);
    for (int c = 0; c < MOST_CLASSES; c++)
        entry[c].n = m->arms < 5 ? m->arms : 5; /* it took four reroutes at most */
}

static void open_trial(struct entry *e, uint64_t total)
{
    e->state = BASELINE;
    e->total = total;
    e->contender = e->calls = e->loose = e->elsewhere = 0;
    e->spent = 0;
    memset(e->agreed, 0, sizeof e->agreed);
    for (int r = 0; r < MOST_RANKS; r++)
        e->native[r] = DBL_MAX;
}

static int fastest(const struct entry *e, int all)
{
    int best = 0;

    for (int i = 1; i < e->n; i++)
        if ((all || !(e->out & 1u << i)) && e->agreed[i] > 0 &&
            (!best || e->agreed[i] < e->agreed[best]))
            best = i;
    return best;
}

static int pick(int class, uint64_t bytes, int *timed)
{
    struct entry *e = &entry[class];

    *timed = 0;
    if (e->state == SETTLED && e->left) {
        e->left--;
        return e->best;
    }
    if (e->state == NEW) {
        open_trial(e, bytes);
    } else if (e->state == SETTLED) {
        int rival = e->best ? e->best : fastest(e, 1);
        e->out = ~(1u | 1u << rival);
        open_trial(e, bytes);
    }
    if (!e->loose && bytes != e->total) {
        e->loose = ++e->elsewhere > MOST_ELSEWHERE;
        return e->best;
    }
    *timed = 1;
    e->elsewhere = 0;
    e->scale = (double)e->total / (double)bytes;
    return e->contender;
}

static void settle(struct entry *e, int best)
{
    double share = e->agreed[0] > 0 ? e->agreed[best] / e->agreed[0] : 0;
    int changed = !e->interval || best != e->best, dropped = 0;

    for (int i = 1; i < e->n; i++)
        dropped |= e->out & 1u << i && e->agreed[i] > 0;
    if (changed)
        e->interval = best && share > comfortable ? SOON : dropped ? COLD : NOW_AND_THEN;
    else
        e->interval = e->interval * 4 < RARELY ? e->interval * 4 : RARELY;
    e->left = e->interval;
    e->best = best;
    e->state = SETTLED;
}

static int winner(const struct entry *e)
{
    int rival = fastest(e, 0);

    return rival && e->agreed[rival] <= (e->best ? slower : faster) * e->agreed[0] ? rival : 0;
}

static void next(struct entry *e)
{
    int i = e->contender + 1;

    while (i < e->n && e->out & 1u << i)
        i++;
    if (i < e->n && e->spent <= budget * e->agreed[0]) {
        e->contender = i;
        e->calls = 0;
        e->state = WARM_UP;
    } else if (winner(e) == e->best) {
        settle(e, e->best);
    } else {
        e->contender = 0;
        e->state = CONFIRM_NATIVE;
    }
}

static int affordable(const struct entry *e)
{
    return e->spent + e->agreed[e->contender] <= (1 + limit) * e->agreed[0];
}

static void agree(struct entry *e, const double *seconds, int ranks, double setup)
{
    double native = 0, most = 0;

    for (int r = 0; r < ranks; r++) {
        native = e->native[r] > native ? e->native[r] : native;
        most = seconds[r] > most ? seconds[r] : most;
    }
    most *= e->scale;
    e->agreed[0] = native;
    if (!e->agreed[e->contender] || most < e->agreed[e->contender])
        e->agreed[e->contender] = most;
    e->spent += most + setup * e->scale - native;
}

static int note(int class, uint64_t bytes, const double *seconds, int ranks, double setup)
{
    struct entry *e = &entry[class];

    (void)bytes;
    if (e->state == BASELINE || e->state == CONFIRM_NATIVE) {
        for (int r = 0; r < ranks; r++)
            if (seconds[r] * e->scale < e->native[r])
                e->native[r] = seconds[r] * e->scale;
        if (e->state == CONFIRM_NATIVE) {
            e->contender = e->best ? e->best : fastest(e, 0);
            e->out &= ~(1u << e->contender);
            e->state = CONFIRM;
        } else if (++e->calls == 2) {
            double native = 0;
            for (int r = 0; r < ranks; r++)
                native = e->native[r] > native ? e->native[r] : native;
            e->agreed[0] = native;
            next(e);
        }
        return 0;
    }
    agree(e, seconds, ranks, e->state == WARM_UP ? setup : 0);
    if (e->state == CONFIRM) {
        settle(e, winner(e));
    } else if (e->state == WARM_UP) {
        if (affordable(e)) {
            e->state = MEASURE;
        } else {
            e->out |= 1u << e->contender;
            next(e);
        }
    } else if (++e->calls == 2 || e->agreed[e->contender] > near * e->agreed[0] || !affordable(e)) {
        next(e);
    }
    return 1;
}

static int best(int class)
{
    return entry[class].best;
}

const struct policy policy_fastest = {"fastest", begin, pick, note, best};
