/* SPDX-License-Identifier: BSD-3-Clause */
/* Advice about a reason to run natively: one clause, for the last line of `report` and `site`. */
#ifndef COLLSHIM_SHIM_CLI_ADVICE_H
#define COLLSHIM_SHIM_CLI_ADVICE_H

/* reason: as a report has it. NULL: nothing is to be done about it. Constant. */
const char *advice_for(const char *reason);

/* Would that change anything for calls of so many bytes, over all ranks? */
int advice_reaches(const char *reason, long long bytes);

#endif
