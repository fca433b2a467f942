/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/choose/division.h"

#include <stdio.h>
#include <string.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/collaborative/split.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"

static void write_recipe(struct division *one)
{
    snprintf(one->recipe, sizeof one->recipe, "split=%d.%02d", one->correction.share / 100,
             one->correction.share % 100);
}

/* Are the rates of the two paths' links given? */
static int rates_known(const struct topo *t)
{
    return topo_link_least(t, TOPO_LINK_NVLINK) > 0 && topo_link_least(t, TOPO_LINK_PCIE) > 0;
}

/* The planner's division, of SPLIT_WHOLE. */
static int computed(const struct plan_request *q)
{
    return (int)((double)split_best(q) / (double)q->nbytes * SPLIT_WHOLE + 0.5);
}

/* told: what the profile says, or -1. */
static struct division *division_find(struct divisions *d, const struct plan_request *q, int told)
{
    int bit = 63 - __builtin_clzll(q->nbytes);
    struct division *one = &d->of[bit < DIVISIONS ? bit : DIVISIONS - 1];

    if (one->recipe[0])
        return one;
    if (told >= 0)
        correction_resume(&one->correction, told);
    else
        correction_begin(&one->correction, rates_known(q->topo) ? computed(q) : 0);
    write_recipe(one);
    return one;
}

const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a)
{
    if (a != &plan_collaborative || q->memory != PLAN_ON_DEVICE || !q->nbytes)
        return q->recipe;
    int told = q->recipe ? collaborative_share(q->recipe) : -1;
    int by_model = settings.cfg.choose == CFG_CHOOSE_MODEL;
    if (q->recipe && (told < 0 || settings.choice[q->collective].forced || by_model))
        return q->recipe;
    if (by_model)
        return rates_known(q->topo) ? NULL : "split=0";
    return division_find(d, q, told)->recipe;
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

/* A row that a profile can keep. */
static void say_row(const struct divisions *d, const struct division *one, int ranks)
{
    unsigned long long least = 1ull << (one - d->of);

    say(CFG_LEVEL_INFO, "profile: allreduce 1x%d %llu-%llu %s(%s) # so much goes through the host",
        ranks, least, 2 * least - 1, plan_collaborative.name, one->recipe);
}

void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES], int ranks)
{
    struct division *one = d->used;

    d->used = NULL;
    if (!one || !(took[0] > 0) || (one->correction.share && !(took[1] > 0)))
        return;
    int settled = one->correction.settled;
    if (correction_note(&one->correction, took[0], took[1]))
        write_recipe(one);
    if (one->correction.settled && !settled)
        say_row(d, one, ranks);
}
