/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/guarded.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "test/unit/agreed.h"
#include "test/unit/suites.h"

static const struct plan_algorithm row[MOST_WAYS];

/* A call is slow on all ranks. */
static int is_slow(const struct machine *m)
{
    struct rng r = {(uint64_t)(m->slow * 1000) * 100003 + (uint64_t)m->calls * 7919};

    rng_below(&r, 3);
    return rng_below(&r, 3) == 0;
}

/* The machine's time of one call on one rank. */
static double time_of(struct machine *m, int contender, uint64_t total)
{
    double t = m->native * (double)total / MIB;

    if (contender)
        t *= m->share[contender - 1];
    else if (m->slow > 0 && is_slow(m))
        t *= m->slow;
    if (!contender && m->last && m->behind > 0)
        t *= m->behind;
    if (contender && (contender != m->last || m->run < m->fresh_calls) && m->fresh_calls)
        t *= m->fresh;
    if (contender && m->calls < m->busy)
        t *= m->busy_by;
    t *= 1 + m->noise * (rng_below(&m->rng, 1000) / 1000.0);
    if (m->hiccup > 0 && rng_below(&m->rng, 20) == 0)
        t *= m->hiccup;
    if (m->calls + 1 == m->held_up)
        t *= m->held_up_by;
    return t;
}

int machine_way(const struct guard_entry *e, int contender)
{
    const struct plan_candidate *way = guard_way(e, contender);

    for (int i = 0; way && i < MOST_WAYS; i++)
        if (way->algorithm == &row[i])
            return 1 + i;
    return contender;
}

/* A rank's part in this call up to its measurement. Returns the contender. */
int machine_begin_call(struct machine *m, struct guard *g, struct guard_entry *e, uint64_t total,
                       int *slot)
{
    *slot = GUARD_UNTIMED;
    if (guard_settled(e))
        return e->best;
    if (guard_wants_candidates(e)) {
        struct plan_candidate c[MOST_WAYS] = {{0}};
        for (int i = 0; i < m->reroutes; i++)
            c[i] = (struct plan_candidate){.algorithm = &row[i], .seconds = 1, .ppg = 1};
        guard_begin(g, e, total, c, m->reroutes);
        if (m->recalled[1].spread > 0)
            guard_recall(g, e, m->recalled);
        if (guard_settled(e))
            return e->best;
    }
    if (m->offer > 0 && guard_affords(e, m->offer))
        guard_offer(
            e, &(struct plan_candidate){.algorithm = &row[m->reroutes], .seconds = .5, .ppg = 1});
    return guard_pick(g, e, total, slot);
}

/* All but what a rank has measured itself. */
static int same_entry(const struct guard_entry *a, const struct guard_entry *b)
{
    struct guard_entry x = *a, y = *b;

    x.cost.agreement = y.cost.agreement = 0;
    memset(x.slots.mine, 0, sizeof x.slots.mine);
    memset(y.slots.mine, 0, sizeof y.slots.mine);
    return !memcmp(&x, &y, sizeof x);
}

/* Some seconds later each time it is asked. */
static double passing(void)
{
    static double now;

    return now += 2e-5;
}

/* The ranks agree on a round if one is complete. */
static void agree(struct machine *m, struct guard_entry **e)
{
    struct agreed a = {.n = 0};

    for (int r = 0; r < m->ranks; r++)
        must(guard_due(e[r]) == guard_due(e[0]), "call %d: rank %d concludes, or 0", m->calls, r);
    if (!guard_due(e[0]))
        return;
    for (int r = 0; r < m->ranks; r++) {
        struct guard_entry copy = *e[r];
        guard_conclude(&m->guard[r], &copy, agreed_collect, &a);
    }
    for (int r = 0; r < m->ranks; r++) {
        m->guard[r].now = passing;
        int made = guard_conclude(&m->guard[r], e[r], agreed_tell, &a);
        m->verdicts += made && guard_is_news(e[r]) && r == 0;
    }
    m->agreements++;
}

/* By how much a rank's clock is ahead at the end of a call. */
static double jump(const struct machine *m, int rank)
{
    static const double by[] = {-3600, 3600, 1e300, -1e300, INFINITY, NAN, -1e-9};
    enum { JUMPS = sizeof by / sizeof *by };

    if (!m->jumps || m->calls % m->jumps || rank != m->calls / m->jumps % m->ranks)
        return 0;
    return by[m->calls / m->jumps % JUMPS];
}

/* All ranks make one call of so many bytes. */
void machine_call(struct machine *m, uint64_t total)
{
    struct guard_entry *e[MOST_RANKS] = {NULL};
    int contender = -1, slot = 0;
    double slowest = 0, mine[MOST_RANKS], extra = 0;

    for (int r = 0; r < m->ranks; r++) {
        int own;
        e[r] = guard_find(&m->guard[r], COLL_BCAST, m->skew, total);
        int picked = machine_begin_call(m, &m->guard[r], e[r], total, &own);
        must(r == 0 || (picked == contender && own == slot), "call %d: rank %d picks %d, rank 0 %d",
             m->calls, r, picked, contender);
        contender = picked;
        slot = own;
    }
    int way = machine_way(e[0], contender), cannot = way && m->share[way - 1] == 0;
    int runs = cannot ? 0 : way;
    if (runs && !m->warm[runs - 1]++)
        extra = m->cold[runs - 1] * m->native;
    for (int r = 0; r < m->ranks; r++) {
        mine[r] = time_of(m, runs, total) + extra;
        slowest = mine[r] > slowest ? mine[r] : slowest;
    }
    m->calls++;
    m->run = m->last == runs ? m->run + 1 : 1;
    m->last = runs;
    m->ran[runs]++;
    m->took += slowest;
    m->lost += slowest - m->native * (double)total / MIB;
    m->timed += slot != GUARD_UNTIMED;
    for (int r = 0; slot != GUARD_UNTIMED && r < m->ranks; r++) {
        if (cannot)
            guard_cannot(e[r], slot, 7);
        else
            guard_note(e[r], slot, mine[r] + jump(m, r));
    }
    agree(m, e);
    for (int r = 1; r < m->ranks; r++)
        must(same_entry(e[0], e[r]), "call %d: rank %d differs from rank 0", m->calls, r);
}

static uint64_t bytes_of(const struct machine *m)
{
    return m->bytes ? m->bytes : MIB;
}

struct guard_entry *machine_entry(struct machine *m)
{
    return guard_find(&m->guard[0], COLL_BCAST, m->skew, bytes_of(m));
}

void machine_calls(struct machine *m, int n)
{
    for (int i = 0; i < n; i++)
        machine_call(m, bytes_of(m));
}

/* Which contender is in use when the first calls are over? */
int machine_settled_on(struct machine *m)
{
    machine_calls(m, FIRST_CALLS);
    ck_assert_msg(m->verdicts > 0 || machine_entry(m)->why, "no verdict after %d calls", m->calls);
    return machine_way(machine_entry(m), machine_entry(m)->best);
}
