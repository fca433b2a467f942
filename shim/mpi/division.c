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

/* The class's, begun with what the planner computes; NULL if there are too many. */
static struct division *find(struct divisions *d, const struct plan_request *q)
{
    uint8_t class = (uint8_t)(64 - __builtin_clzll(q->nbytes | 1));

    for (int i = 0; i < DIVISIONS; i++) {
        struct division *one = &d->of[i];

        if (one->class == class)
            return one;
        if (one->class)
            continue;
        double share = (double)split_best(q) / (double)q->nbytes * SPLIT_WHOLE;
        one->class = class;
        correction_begin(&one->correction, (int)(share + 0.5));
        write_recipe(one);
        return one;
    }
    return NULL;
}

const char *division_recipe(struct divisions *d, const struct plan_request *q,
                            const struct plan_algorithm *a)
{
    struct division *one;

    if (a != &plan_collaborative || q->recipe || q->memory != PLAN_ON_DEVICE ||
        process.cfg.reproducible || !q->nbytes)
        return q->recipe;
    one = find(d, q);
    return one ? one->recipe : NULL;
}

void division_ended(struct divisions *d, const char *recipe, const double took[DIVISION_TIMES])
{
    for (int i = 0; i < DIVISIONS; i++)
        if (recipe == d->of[i].recipe) {
            d->used = &d->of[i];
            memcpy(d->took, took, sizeof d->took);
        }
}

void divisions_tell(const struct divisions *d, double took[DIVISION_TIMES])
{
    if (d->used)
        memcpy(took, d->took, sizeof d->took);
}

void divisions_hear(struct divisions *d, const double took[DIVISION_TIMES])
{
    struct division *one = d->used;
    int settled;

    d->used = NULL;
    if (!one || !(took[0] > 0) || !(took[1] > 0))
        return;
    settled = one->correction.settled;
    if (correction_note(&one->correction, took[0], took[1]))
        write_recipe(one);
    if (one->correction.settled && !settled)
        say(CFG_LEVEL_INFO,
            "two paths: of calls of %llu bytes and more, %d.%02d%% go through the host",
            1ull << (one->class - 1), one->correction.share / 100, one->correction.share % 100);
}
