/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting in a report: what ranks waited for a late one in the calls that were sampled. No schedule
 * can save that. Any value may be missing or of another type: it is 0 then.
 */
#ifndef COLLSHIM_SHIM_CLI_WAITS_SHOW_H
#define COLLSHIM_SHIM_CLI_WAITS_SHOW_H

#include <jansson.h>

/* The part of a site's time that is waiting, 0 to 1; 0 if none of its calls was sampled. */
double waits_part(json_t *site);

/* "waiting: 61 % of 200 sampled calls; mostly for rank 12 on node7, late 180 times; combining: 9 %;
   last: rail 1 on node7, 150 times". Parts below half a percent are left out, as is a rail that was
   last in less than half of the calls. Nothing without any part. */
void waits_print_row(json_t *site);

/* The end of a sentence that begins with a site's name: "is waiting for rank 12 on node7: its work
   before the call takes 1.8 times the others'". */
void waits_print_cause(json_t *site);

/* The ranks that others waited for most. */
void waits_print(json_t *root);

/* Write the report's trace to the file, for Perfetto. Returns an enum cli_exit. */
int waits_trace(json_t *root, const char *path);

#endif
