/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns and rounds. The first rounds follow each other; then the entry is settled, and later ones
 * are looks: of what is worth a trial again (worth.h), and at least of the contender in use, to see
 * whether it has become slower. Where nothing changes there are at most
 *     FREE_ROUNDS + APART ln(N / FREE_ROUNDS) + N / MOST_APART
 * rounds in N calls. A look that finds the contender in use slower is made SLOWER_CALLS times in a
 * row. A machine that is found to have changed gets FREE_ROUNDS anew, at most once in CHANGE_CALLS.
 */
#include "bench/regret/weigh.h"

#include <math.h>
#include <string.h>

#include "bench/regret/worth.h"

enum state { NEW, ROUND, SETTLED, FOR_GOOD };

enum { SMALLEST_CLASS = 12, MOST_KIND = 7, MOST_ELSEWHERE = 4, ROUGH_ROUNDS = 3, NEW_CALLS = 200 };
enum { FIRST_LOOK = 4, MOST_APART = 256, APART = 32, FREE_ROUNDS = 64 };
enum { SURE_ROUNDS = 12, SLOWER_CALLS = 3, CHANGE_CALLS = 2000 };

static const double usual_cold = .2;   /* logarithm of how much slower a first call is */
static const double most_cold = 1.2;   /* no more than that is its being the first */
static const double slower = 1.15;     /* than the slowest call so far: something has changed */
static const double indifferent = .01; /* a gain that is not worth a change */
static const double old = .3;          /* spread of what was known before a change */

struct weigh_entry *weigh_find(struct weigh *g, enum plan_collective c, unsigned kind,
                               uint64_t total)
{
    int class = total ? 63 - __builtin_clzll(total) : 0, oldest = 0;

    if (class < SMALLEST_CLASS) /* all below 8 KiB are one */
        class = SMALLEST_CLASS;
    if (kind > MOST_KIND)
        kind = MOST_KIND;
    uint16_t key = (uint16_t)(1 + (kind * COLL_COUNT + (unsigned)c) * 64 + (unsigned)class);

    g->calls++;
    for (int i = 0; i < WEIGH_ENTRIES; i++) {
        if (g->key[i] == key) {
            g->used[i] = g->calls;
            return &g->entry[i];
        }
        if (!g->key[i]) {
            oldest = i;
            break;
        }
        if (g->calls - g->used[i] > g->calls - g->used[oldest])
            oldest = i;
    }
    if (g->key[oldest] && g->calls - g->used[oldest] < WEIGH_IDLE)
        return NULL;
    g->key[oldest] = key;
    g->used[oldest] = g->calls;
    memset(&g->entry[oldest], 0, sizeof g->entry[oldest]);
    return &g->entry[oldest];
}

int weigh_settled(struct weigh_entry *e)
{
    if (e->state == FOR_GOOD)
        return 1;
    if (e->state != SETTLED || e->left == 0)
        return 0;
    e->left--;
    return 1;
}

int weigh_wants_candidates(const struct weigh_entry *e)
{
    return e->state == NEW;
}

/* Looks are made until the free ones are used up; after that they are some calls apart. */
static uint32_t least_apart(const struct weigh_entry *e)
{
    uint32_t least = e->free_rounds ? 0 : e->calls / APART;

    return least < MOST_APART ? least : MOST_APART;
}

/* Until something is worth a trial again, or it is time to see whether the contender in use has
   become slower. */
static void settle(struct weigh_entry *e, const struct samples *s)
{
    uint32_t most = e->interval ? 2 * e->interval : FIRST_LOOK, left = FIRST_LOOK;

    if (most > MOST_APART)
        most = MOST_APART;
    for (int found = 0; !found && left < most; left *= 2)
        for (int i = 0; i < e->n; i++)
            found |= i != e->best && worth_trial(e, s, i, left) > 0;
    left = left < most ? left : most;
    if (left < least_apart(e))
        left = least_apart(e);
    e->interval = e->left = left;
    e->state = SETTLED;
}

/* Which contenders are worth a trial? Fills in the round's; returns how many. */
static int pick_turns(struct weigh_entry *e, const struct samples *s)
{
    int n = 0, untried = -1;
    double most = 0;

    e->turn[n++] = e->best;
    if (e->evidence.tries[e->best] == 1) /* its second call costs nothing, and tells how cold the
                                            first one was */
        return n;
    for (int i = 0; i < e->n; i++) {
        double worth = i == e->best ? 0 : worth_trial(e, s, i, 0);

        if (worth > 0 && e->evidence.tries[i])
            e->turn[n++] = (uint8_t)i;
        if (worth > most && !e->evidence.tries[i]) {
            most = worth;
            untried = i;
        }
    }
    if (untried >= 0) /* one at a time: each tells about the next */
        e->turn[n++] = (uint8_t)untried;
    return n;
}

/* Put together a round. Returns how many contenders besides the one in use. */
static int compose(const struct weigh *g, struct weigh_entry *e, const struct samples *s)
{
    uint8_t in_order[WEIGH_CONTENDERS];

    e->cold = g->colds ? g->cold : usual_cold;
    if (e->calls < NEW_CALLS)
        worth_look_near_by(g, e);
    e->turns = (uint8_t)pick_turns(e, s);
    memcpy(in_order, e->turn, sizeof in_order);
    for (int k = 0; k < e->turns; k++) /* another one begins each time */
        e->turn[k] = in_order[(k + e->evidence.rounds) % e->turns];
    e->at = e->noted = e->led = e->elsewhere = 0;
    memset(e->mine, 0, sizeof e->mine);
    memset(e->cost, 0, sizeof e->cost);
    e->state = ROUND;
    return e->turns - 1;
}

void weigh_begin(struct weigh *g, struct weigh_entry *e, uint64_t total,
                 const struct plan_candidate *c, int n)
{
    struct samples none = {0};

    if (n > WEIGH_REROUTES)
        n = WEIGH_REROUTES;
    e->n = (uint8_t)(1 + n);
    e->total = total;
    for (int i = 0; i < n; i++) {
        int known = c[i].seconds > 0 && isfinite(c[i].seconds);
        e->reroute[i] =
            (struct weigh_reroute){c[i].algorithm, c[i].recipe, c[i].chunk_bytes, c[i].ppg};
        e->predicted[1 + i] = known ? evidence_ln(c[i].seconds) : i ? e->predicted[i] : 0;
    }
    if (!n) {
        e->state = FOR_GOOD;
        return;
    }
    worth_look_near_by(g, e);
    e->free_rounds = FREE_ROUNDS;
    for (int i = 1; i < e->n; i++)
        if (e->prior[i].spread > 0 && e->prior[i].mean < e->prior[e->best].mean)
            e->best = (uint8_t)i;
    compose(g, e, &none);
}

int weigh_pick(struct weigh *g, struct weigh_entry *e, uint64_t total, int *slot)
{
    *slot = WEIGH_UNTIMED;
    if (e->state == SETTLED) {
        struct samples s;
        evidence_samples(&e->evidence, &s);
        e->calls += e->interval;
        e->total = total;
        compose(g, e, &s);
    }
    if (e->at == e->turns) /* to be told yet */
        return e->best;
    if (total != e->total && !e->loose && e->evidence.rounds >= ROUGH_ROUNDS) {
        e->loose = ++e->elsewhere > MOST_ELSEWHERE;
        e->calls++;
        return e->best;
    }
    e->elsewhere = 0;
    e->calls++;
    if (e->led < g->lead) {
        e->led++;
        return e->turn[e->at];
    }
    e->led = 0;
    *slot = e->at++;
    return e->turn[*slot];
}

void weigh_note(struct weigh_entry *e, int slot, double seconds, double setup, uint64_t total)
{
    double scale = 1e6 / (double)total;

    e->mine[slot] = seconds * scale;
    e->cost[slot] = (seconds + setup) * scale;
    e->noted++;
}

int weigh_values(const struct weigh_entry *e, double value[WEIGH_VALUES])
{
    if (e->state != ROUND || e->noted < e->turns)
        return 0;
    for (int k = 0; k < e->turns; k++) {
        value[2 * k] = e->mine[k];
        value[2 * k + 1] = e->cost[k];
    }
    return 2 * e->turns;
}

/* The contender in use is the one that looks fastest; another takes its place when that is more
   than chance. */
static int choose(struct weigh_entry *e, const struct samples *s)
{
    int best = e->best;
    double least = 0;

    for (int i = 0; i < e->n; i++) {
        if (i == e->best || !s->n[i] || e->out & 1u << i)
            continue;
        struct estimate b = worth_belief(e, s, i, 0);
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
static int has_slowed(struct weigh_entry *e, const struct samples *s, double seconds)
{
    double most = 0;

    for (int age = e->alarms; age < s->rounds; age++) {
        int r = (e->evidence.rounds - 1 - age) % EVIDENCE_ROUNDS;

        if (s->seconds[r][e->best] > most)
            most = s->seconds[r][e->best];
    }
    if (s->n[e->best] < SLOWER_CALLS || seconds <= slower * most) {
        e->alarms = 0;
        return 0;
    }
    if (++e->alarms < SLOWER_CALLS)
        return 0;
    e->alarms = 0;
    return !e->changed || e->calls - e->changed >= CHANGE_CALLS;
}

/* The machine is another one: what is known of the contenders is now no more than a guess. */
static void begin_again(struct weigh_entry *e, const struct samples *s)
{
    struct estimate was[WEIGH_CONTENDERS] = {{0, 0}};

    for (int i = 0; i < e->n; i++) {
        was[i] = worth_belief(e, s, i, 0);
        was[i].spread = evidence_root(was[i].spread * was[i].spread + old * old);
    }
    memcpy(e->prior, was, sizeof was);
    e->prior[e->best] = (struct estimate){0, old / 3};
    evidence_forget(&e->evidence);
    e->alarms = 0;
    e->changed = e->calls;
    e->free_rounds = FREE_ROUNDS;
}

/* How much slower than its second a contender's first call was. */
static void learn_cold(struct weigh *g, const struct weigh_entry *e, const double *seconds)
{
    for (int i = 0; i < e->n; i++) {
        double first = evidence_first(&e->evidence, i), off;

        if (!(first > 0) || e->evidence.tries[i] != 1 || !(seconds[i] > 0))
            continue;
        off = evidence_ln(first / seconds[i]);
        off = off < 0 ? 0 : off > most_cold ? most_cold : off;
        if (!g->colds)
            g->cold = usual_cold;
        g->cold += (off - g->cold) / (++g->colds + 1);
    }
}

/* What the round's trials have lost, as far as one can tell, with what getting ready took. */
static double lost(const struct weigh_entry *e, const struct samples *s, const double *value,
                   double own)
{
    double sum = 0;

    for (int k = 0; k < e->turns; k++) {
        int i = e->turn[k];

        if (i == e->best || !s->n[i] || !(own > 0))
            continue;
        double mean = worth_belief(e, s, i, 0).mean;
        sum += (mean > 0 ? evidence_exp(mean) - 1 : 0) + (value[2 * k + 1] - value[2 * k]) / own;
    }
    return sum;
}

/* Add a round to what is known. own: seconds of the contender in use. */
static void learn(struct weigh *g, struct weigh_entry *e, const double *seconds, double own,
                  struct samples *s)
{
    learn_cold(g, e, seconds);
    evidence_samples(&e->evidence, s);
    if (own > 0 && has_slowed(e, s, own))
        begin_again(e, s);
    evidence_add(&e->evidence, seconds);
    evidence_samples(&e->evidence, s);
    e->free_rounds -= e->free_rounds > 0;
}

int weigh_tell(struct weigh *g, struct weigh_entry *e, const double value[WEIGH_VALUES])
{
    double seconds[EVIDENCE_ARMS] = {0}, own = 0;
    struct samples s;
    int was = e->best, more;

    for (int k = 0; k < e->turns; k++)
        if (!isfinite(value[2 * k]))
            return 0;
    for (int k = 0; k < e->turns; k++) {
        int i = e->turn[k];

        if (e->out & 1u << i)
            continue;
        seconds[i] = value[2 * k];
        e->seen[i] = e->calls;
        if (i == e->best)
            own = seconds[i];
    }
    learn(g, e, seconds, own, &s);
    e->best = (uint8_t)choose(e, &s);
    e->spent += lost(e, &s, value, own);
    if (e->best != was)
        e->interval = e->alarms = 0;
    more = compose(g, e, &s);
    if ((more && e->free_rounds) || e->alarms || e->evidence.tries[e->best] == 1)
        return 0;
    settle(e, &s);
    return 1;
}

void weigh_cannot(struct weigh_entry *e, int slot)
{
    e->out |= (uint8_t)(1u << e->turn[slot]);
    e->mine[slot] = e->cost[slot] = 0;
    e->noted++;
    if (e->best == e->turn[slot])
        e->best = WEIGH_NATIVE;
}

int weigh_new_verdict(struct weigh_entry *e)
{
    int was = e->told - 1;

    if (was == e->best || (e->state != SETTLED && e->evidence.rounds < SURE_ROUNDS))
        return WEIGH_NO_NEWS;
    e->told = (uint8_t)(1 + e->best);
    return was;
}

void weigh_give_up(struct weigh_entry *e)
{
    *e = (struct weigh_entry){.state = FOR_GOOD};
}
