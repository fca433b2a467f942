/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conclusions from a round: the contender in use, the loss by trials.
 * A look that finds the contender in use slower is made CHANGED_CALLS times in a row. A machine
 * that is found to have changed gets its free rounds anew, at most once in CHANGE_CALLS.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_LEARN_H
#define COLLSHIM_SHIM_DECIDE_GUARD_LEARN_H

#include "shim/decide/guard/guard_entry.h"

/* Rounds that may follow each other, at first. */
uint8_t guard_free_rounds(const struct guard_entry *e);

/* The times of that round's slots, the largest of any rank. agreement: seconds of the last one by
   the byte; 0: not known. */
void guard_learn_round(struct guard *g, struct guard_entry *e, int round, const double *took,
                       double agreement);

#endif
