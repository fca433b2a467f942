/* SPDX-License-Identifier: BSD-3-Clause */
/* weigh.c, whose ranks all hold the same: one of them is enough. */
#include "bench/regret/policy.h"

#include <string.h>

#include "bench/regret/weigh.h"

static struct weigh all;
static struct plan_candidate list[WEIGH_REROUTES];
static struct weigh_entry *entry[MOST_CLASSES];
static int reroutes, slot;

static void begin(const struct machine *m)
{
    static const struct plan_algorithm rows[MOST_ARMS];

    memset(&all, 0, sizeof all);
    reroutes = m->arms - 1;
    for (int i = 0; i < reroutes; i++)
        list[i] = (struct plan_candidate){
            .algorithm = &rows[i], .seconds = m->predicted[1 + i], .ppg = 1};
}

static int pick(int class, uint64_t bytes, int *timed)
{
    struct weigh_entry *e = entry[class] = weigh_find(&all, COLL_BCAST, 0, bytes);

    *timed = 0;
    if (weigh_settled(e))
        return e->best;
    if (weigh_wants_candidates(e))
        weigh_begin(&all, e, bytes, list, reroutes);
    int contender = weigh_pick(&all, e, bytes, &slot);
    *timed = slot != WEIGH_UNTIMED;
    return contender;
}

static int note(int class, uint64_t bytes, const double *seconds, int ranks, double setup)
{
    double value[WEIGH_VALUES], most = 0;

    for (int r = 0; r < ranks; r++)
        most = seconds[r] > most ? seconds[r] : most;
    weigh_note(entry[class], slot, most, setup, bytes);
    if (!weigh_values(entry[class], value))
        return 0;
    weigh_tell(&all, entry[class], value);
    return 1;
}

static int best(int class)
{
    return entry[class]->best;
}

const struct policy policy_weigh = {"weigh", begin, pick, note, best};
