/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contenders in reserve. A library has more algorithms than the guard can try in the first calls.
 * The others wait, and come one at a time once the entry is settled, with a look that is due
 * anyway. The likely loss by a trial decides which is next: by the model, corrected by what other
 * algorithms of the library took, or by what the same one took in a near class. All trials of
 * contenders in reserve together lose at most a share of the calls, so one that may be far slower
 * waits for longer.
 *
 * A newcomer takes a free place, or that of the contender that is farthest behind, which goes into
 * the reserve with what was found of it. From its first call on it is a contender like others.
 *
 * Rejected: all of them as contenders from the first call on. Each costs a communicator and a call,
 * which is more than 2 % of 200 calls for five of them.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_RESERVE_H
#define COLLSHIM_SHIM_DECIDE_GUARD_RESERVE_H

#include "shim/decide/worth.h"

/* At a look: the contender that this round is to try first, with a place of its own by now, or 0.
   v is as of before, and is made anew if there is one. */
int guard_reserve_admit(const struct guard *g, struct guard_entry *e, struct view *v);

/* The newcomer's round is over. lost: what its call took longer, and getting it ready, in calls of
   the one in use. If it is to have a second one, since the first may have been held up, that waits
   until as much may be lost again. */
void guard_reserve_learn(struct guard_entry *e, double lost);

/* Findings of earlier jobs on those in reserve; spread 0: unknown. Those that are about as fast as
   the fastest get a place: known[] of the contenders changes with them. */
void guard_reserve_recall(struct guard_entry *e, struct estimate known[GUARD_KNOWN]);

/* Is the contender an algorithm of the library, or ours? */
uint8_t guard_kind_of(const struct plan_candidate *c);

/* All findings no longer hold: each is to be looked at again. */
void guard_reserve_forget(struct guard_entry *e);

#endif
