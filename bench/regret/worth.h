/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a trial of a contender is worth: the mean of what it may turn out to be faster,
 * times the calls to come, less what the trial is likely to lose. As many calls are expected to
 * come as have been made, and some more.
 *
 * What is believed of a contender comes from three sources, each weighed by how sure it is: the
 * model's prediction of it beside contenders that were measured, what a class near by has found,
 * and its own samples. Samples get old, so that a trial is worth it again: soon where two
 * contenders are close, late where one is far behind.
 */
#ifndef COLLSHIM_BENCH_REGRET_WORTH_H
#define COLLSHIM_BENCH_REGRET_WORTH_H

#include "bench/regret/weigh.h"

/* Contender i against the one in use, `later` calls from now. */
struct estimate worth_belief(const struct weigh_entry *e, const struct samples *s, int i,
                             uint32_t later);

/* How many calls of the one in use a trial of contender i brings, less what it costs; not positive:
   it is not made. */
double worth_trial(const struct weigh_entry *e, const struct samples *s, int i, uint32_t later);

/* Note what the nearest classes of the same collective and kind have found about each contender. */
void worth_look_near_by(const struct weigh *g, struct weigh_entry *e);

/* Contender i against the library, by its samples alone. spread 0: not known. */
struct estimate worth_against_library(const struct weigh_entry *e, int i);

#endif
