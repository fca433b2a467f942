/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files behind guard.h share. */
#ifndef COLLSHIM_SHIM_DECIDE_GUARD_PRIVATE_H
#define COLLSHIM_SHIM_DECIDE_GUARD_PRIVATE_H

#include "shim/decide/guard.h"
#include "shim/decide/worth.h"

enum guard_state { NEW, ROUND, SETTLED, FOR_GOOD };

#define GUARD_LONGEST_S 1e6 /* no call takes longer: a clock has jumped */

/* Put together a round. Returns how many contenders besides the one in use. */
int guard_compose(struct guard_entry *e, const struct view *v);

/* Until something is worth a trial again, or it is time to see whether the contender in use has
   become slower. */
void guard_settle(struct guard_entry *e, const struct view *v);

/* The usual extra time of first calls, as far as it is known. */
void guard_expect_cold(const struct guard *g, struct guard_entry *e);

/* Rounds that may follow each other. */
uint8_t guard_free_rounds(const struct guard_entry *e);

#endif
