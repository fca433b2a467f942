/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conclusions from a round: the contender in use, the loss by trials, how cold first calls are.
 * A look that finds the contender in use slower is made CHANGED_CALLS times in a row, or
 * LUCKY_CALLS times while it has few calls. A machine that is found to have changed gets its free
 * rounds anew, at most once in CHANGE_CALLS.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_LEARN_H
#define COLLSHIM_SHIM_DECIDE_GUARD_LEARN_H

#include "shim/decide/guard.h"

/* Rounds that may follow each other, at first. */
uint8_t guard_free_rounds(const struct guard_entry *e);

/* The usual extra time of first calls, as far as it is known. */
void guard_expect_cold(const struct guard *g, struct guard_entry *e);

/* The times of that round, the largest of any rank: of each turn, and with what getting ready took
   (not read with a later clock). agreement: seconds of the last one by the unit of bytes; 0: not
   known. */
void guard_learn_round(struct guard *g, struct guard_entry *e, int round, const double *took,
                       const double *cost, double agreement);

#endif
