/* SPDX-License-Identifier: BSD-3-Clause */
/* shim/decide/guard.c, whose ranks all hold the same: one of them is enough. */
#include "bench/regret/policy.h"

#include "planners/variants.h"
#include "shim/decide/guard.h"

static const struct plan_algorithm rows[MOST_ARMS];
static struct guard all;
static struct plan_candidate list[GUARD_REROUTES];
static struct guard_entry *entry[MOST_CLASSES];
static int reroutes, slot;
static const struct machine *simulated;
static double now, agreement; /* seconds; those that the next agreement takes */

static double clock_now(void)
{
    return now;
}

static void begin(const struct machine *m)
{
    simulated = m;
    guard_open(&all, 0, clock_now);
    reroutes = m->arms - 1;
    for (int i = 0; i < reroutes; i++)
        list[i] = (struct plan_candidate){.algorithm = m->theirs & 2u << i ? &plan_variants[i].row
                                                                           : &rows[i],
                                          .seconds = m->predicted[1 + i],
                                          .ppg = 1};
}

/* Which of the machine's is the entry's contender? */
static int arm_of(const struct guard_entry *e, int contender)
{
    const struct plan_candidate *way = guard_way(e, contender);
    const struct plan_variant *theirs = way ? plan_variant_of(way->algorithm) : NULL;

    return !way ? 0 : 1 + (theirs ? plan_variant_index(theirs) : (int)(way->algorithm - rows));
}

static int pick(int class, uint64_t bytes, int *timed)
{
    struct guard_entry *e = entry[class] = guard_find(&all, COLL_BCAST, 0, bytes);

    *timed = 0;
    if (guard_settled(e))
        return arm_of(e, e->best);
    if (guard_wants_candidates(e))
        guard_begin(&all, e, bytes, list, reroutes, 0);
    int contender = guard_pick(&all, e, bytes, &slot);
    *timed = slot != GUARD_UNTIMED;
    return arm_of(e, contender);
}

/* All ranks hand in the largest time. */
static int agree(void *context, double *value, int n)
{
    (void)context;
    (void)value;
    now += agreement;
    return n > 0 ? 0 : -1;
}

static int note(int class, uint64_t bytes, const double *seconds, int ranks, double setup)
{
    double most = 0;

    (void)bytes;
    for (int r = 0; r < ranks; r++)
        most = seconds[r] > most ? seconds[r] : most;
    guard_note(entry[class], slot, most, setup);
    if (!guard_due(entry[class]))
        return 0;
    agreement = machine_agreement(simulated, class);
    guard_conclude(&all, entry[class], agree, NULL);
    return 1;
}

static int best(int class)
{
    return arm_of(entry[class], entry[class]->best);
}

const struct policy policy_guard = {"guard", begin, pick, note, best};
