/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a trial of a contender is worth: the mean of what it may turn out to be faster, times the
 * calls to come, less what the trial is likely to lose. As many calls are expected to come as have
 * been made, and some more.
 *
 * What is believed of all contenders (belief.h) comes from the model's predictions, from size
 * classes near by, and from their own samples. Three doubts are part of it. A first call may be
 * cold. A contender's only call may have been held up: how likely that is follows from how far it
 * is off from what was believed without it. And samples get old, so that a trial is worth it
 * again: soon where two contenders are close, late where one is far behind.
 */
#ifndef COLLSHIM_SHIM_DECIDE_WORTH_H
#define COLLSHIM_SHIM_DECIDE_WORTH_H

#include "shim/decide/guard.h"

/* All that is known of an entry. */
struct view {
    const struct guard_entry *e;
    struct samples s; /* as they are weighed: without what makes them slow for a while */
    struct belief b;
    int best;                         /* the contender in use */
    double held_up[GUARD_CONTENDERS]; /* the chance that its only call was */
    unsigned discarded;               /* contenders whose only call surely was, a bit each */
};

void worth_view(const struct guard *g, struct guard_entry *e, struct view *v);

/* Contender i against the one in use, `later` calls from now. */
struct estimate worth_belief(const struct view *v, int i, uint32_t later);

/* Has the contender samples that count? */
int worth_is_known(const struct view *v, int i);

/* How many calls of the one in use a trial of contender i brings, less what it costs; not positive:
   it is not made. */
double worth_trial(const struct view *v, int i, uint32_t later);

#endif
