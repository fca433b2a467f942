/* SPDX-License-Identifier: BSD-3-Clause */
/* Between roll_call.c and roll_call_get.c. */
#ifndef COLLSHIM_SHIM_CLI_ROLL_CALL_PRIVATE_H
#define COLLSHIM_SHIM_CLI_ROLL_CALL_PRIVATE_H

#include "shim/cli/stuck/roll_call.h"

/* A copy without control characters, for the command's life; one for equal texts. */
const char *stuck_keep(const char *text);

/* One more, all 0; NULL: no memory. Those before may move. */
struct stuck_process *stuck_add(struct stuck_roll *r);
struct stuck_line *stuck_add_line(struct stuck_process *p);

#endif
