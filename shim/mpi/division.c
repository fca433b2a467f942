/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/division.h"

#include <stdio.h>
#include <string.h>

#include "planners/collaborative/collaborative.h"
#include "planners/collaborative/split.h"
#include "shim/mpi/process.h"

static void write_recipe(struct division *one)
{
    snprintf(one->recipe, sizeof one->recipe, "split=%d.%02d", one->correction.share / 100,
             one->correction.share % 100);
}

/* Does somebody say how fast the two paths' links are? */
static int rates_known(const struct topo *t)
{
    return t->link[TOPO_LINK_NVLINK].bw_bytes_per_s > 0 &&
           t->link[TOPO_LINK_PCIE].bw_bytes_per_s > 0;
}

/* What the planner computes, of SPLIT_WHOLE. */
static int computed(const struct plan_request *q)
{
    return (int)((double)split_best(q) / (double)q->nbytes * SPLIT_WHOLE + 0.5);
}

static struct division *find(struct divisions *d, const struct plan_request *q)
{
    int bit = 63 - __builtin_clzll(q->nbytes);
    struct division *one = &d->of[bit < DIVISIONS ? bit : DIVISIONS - 1];

    if (!one->recipe[0]) {
        correction_begin(&one->correction, rates_known(q->topo) ? computed(q) : 0);
        write_recipe(one);
    }
    return one;
}

const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a)
{
    if (a != &plan_collaborative || q->recipe || q->memory != PLAN_ON_DEVICE || !q->nbytes)
        return q->recipe;
    if (process.cfg.reproducible)
        return rates_known(q->topo) ? NULL : "split=0";
    return find(d, q)->recipe;
}

int division_used(struct divisions *d, const char *recipe)
{
    for (int i = 0; recipe && i < DIVISIONS; i++)
        if (recipe == d->of[i].recipe) {
            d->used = &d->of[i];
            return 1;
        }
    return 0;
}

void divisions_tell(const struct divisions *d, double took[DIVISION_TIMES])
{
    if (d->used)
        memcpy(took, d->took, sizeof d->took);
}

void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES])
{
    struct division *one = d->used;

    d->used = NULL;
    if (!one || !(took[0] > 0) || (one->correction.share && !(took[1] > 0)))
        return;
    int settled = one->correction.settled;
    if (correction_note(&one->correction, took[0], took[1]))
        write_recipe(one);
    if (one->correction.settled && !settled)
        say(CFG_LEVEL_INFO,
            "two paths: of calls of %llu bytes and more, %d.%02d%% go through the host",
            1ull << (one - d->of), one->correction.share / 100, one->correction.share % 100);
}
