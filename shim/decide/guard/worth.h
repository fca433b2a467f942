/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of a trial of a contender: its mean possible gain, times the calls to come, less the
 * trial's likely loss. As many calls are expected to come as have been made, and some more. The
 * estimates of all contenders (belief.h) come from the model's predictions, from near size classes,
 * and from their own samples. Three doubts are part of it. A first call may be cold. A contender's
 * only call may have been held up: the chance follows from its distance to the estimate without it.
 * Samples get old, so that a trial becomes worth it again: soon if two contenders are close, late
 * if one is far behind.
 *
 * Trials lose one call and a thirty-second of all calls at most, by what is believed when each is
 * made.
 */
#ifndef COLLSHIM_SHIM_DECIDE_WORTH_H
#define COLLSHIM_SHIM_DECIDE_WORTH_H

#include "shim/decide/guard/guard_entry.h"

/* All that is known of an entry. */
struct view {
    const struct guard_entry *e;
    struct samples s;    /* as they are weighed: without what makes them slow for a while */
    struct belief prior; /* without its own samples */
    struct belief b;
    int near_by;                      /* a class near by has samples */
    int best;                         /* the contender in use */
    int spared;                       /* the library gets no trial yet, at any estimate */
    double held_up[GUARD_CONTENDERS]; /* the chance that its only call was */
    unsigned discarded;               /* contenders whose only call surely was, a bit each */
};

/* After how many calls a trial is worth it that takes so many times as long as a call. */
uint32_t worth_spared(double times);

/* v->e is borrowed. Notes in e which contenders are discarded. */
void worth_view(const struct guard *g, struct guard_entry *e, struct view *v);

/* Contender i against the one in use, `later` calls from now. With a deferred clock a reroute has
   to be 2 % faster than the library. */
struct estimate worth_belief(const struct view *v, int i, uint32_t later);

/* Has the contender samples that count? */
int worth_is_known(const struct view *v, int i);

/* Is contender i so near to the one in use that only runs tell them apart? */
int worth_is_near(const struct view *v, int i);

/* How many calls of the one in use a trial of contender i brings, less what it costs; not positive:
   it is not made. */
double worth_trial(const struct view *v, int i, uint32_t later);

#endif
