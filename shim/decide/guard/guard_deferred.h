/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a clock that answers later is asked. The ranks agree GUARD_PAUSE calls after the last slot.
 *
 * If a rank has no answer then and there was none before, another round follows at once, up to
 * GUARD_ROUNDS of them. So hosts that run far ahead wait once for the answers to all of them. Then
 * the ranks ask every GUARD_DEFERRED_ASK calls, or after a sixteenth of what was waited. Later
 * rounds wait as long as the last answer took.
 *
 * The first verdict comes within GUARD_DEFERRED_CALLS calls, and those that hosts are ahead: the
 * entry is settled if another round would not be over by then.
 *
 * Rejected: one round at a time, which waits anew for each; and asking after twice as many calls,
 * which waits up to twice as long as need be.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_DEFERRED_H
#define COLLSHIM_SHIM_DECIDE_GUARD_DEFERRED_H

#include "shim/decide/guard/guard_entry.h"

enum { GUARD_DEFERRED_CALLS = 64, GUARD_DEFERRED_ASK = 32 };

/* Rounds have been put together: ask for the first time. */
void guard_deferred_begin(struct guard_clock *c);

/* There is no answer. Is a round to be added? */
int guard_deferred_wants_more(const struct guard_entry *e);

/* No answer: ask later. */
void guard_deferred_wait(struct guard_clock *c);

/* There was one. */
void guard_deferred_learn(struct guard_clock *c);

/* Without a verdict: would another round be too late? */
int guard_deferred_is_over(const struct guard_entry *e);

#endif
