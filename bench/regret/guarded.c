/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/regret/guarded.h"

#include "shim/decide/guard/guard.h"

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

void guarded_begin(const struct machine *m)
{
    static const struct plan_algorithm ours[MOST_ARMS];

    simulated = m;
    guard_open(&all, 0, clock_now);
    reroutes = m->arms - 1;
    for (int i = 0; i < reroutes; i++)
        list[i] = (struct plan_candidate){
            .algorithm = &ours[i], .seconds = m->predicted[1 + i], .ppg = 1};
}

int guarded_pick(int class, uint64_t bytes, int *timed)
{
    struct guard_entry *e = entry[class] = guard_find(&all, COLL_BCAST, 0, bytes);

    *timed = 0;
    if (guard_settled(e))
        return e->best;
    if (guard_wants_candidates(e))
        guard_begin(&all, e, bytes, list, reroutes);
    int contender = guard_pick(&all, e, bytes, &slot);
    *timed = slot != GUARD_UNTIMED;
    return contender;
}

/* All ranks hand in the largest time. */
static int agree(void *context, double *value, int n)
{
    (void)context;
    (void)value;
    now += agreement;
    return n > 0 ? 0 : -1;
}

int guarded_note(int class, const double *seconds, int ranks)
{
    double most = 0;

    for (int r = 0; r < ranks; r++)
        most = seconds[r] > most ? seconds[r] : most;
    guard_note(entry[class], slot, most);
    if (!guard_due(entry[class]))
        return 0;
    agreement = machine_agreement(simulated, class);
    guard_conclude(&all, entry[class], agree, NULL);
    return 1;
}

int guarded_best(int class)
{
    return entry[class]->best;
}
