/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call sites in the report: a row for each site, communicator shape, collective and size class.
 * Rows with the most time come first.
 *
 * Time saved: the medians' difference, times the rerouted calls, in seconds of all ranks together
 * ("rank seconds"). Both medians are of calls that were timed in this run. plus_minus: two standard
 * errors of that difference, from the spread between the quartiles and the number of calls. Ranks
 * of one call wait for each other, so they are one observation. null if either way was timed less
 * than three times.
 */
#ifndef COLLSHIM_SHIM_RECORD_CALL_SITE_REPORT_H
#define COLLSHIM_SHIM_RECORD_CALL_SITE_REPORT_H

#include "config/base/json.h"
#include "shim/record/sites/call_site_table.h"

/* All sites' calls of one collective and size class that were timed. */
struct site_times {
    double us[SITE_WAYS]; /* medians; 0: none was timed */
    double spread;        /* of their ratio, one standard error; 0: not known */
};
struct site_times site_times(int collective, int size_class);

/* The list "sites", and the object "saved". The table holds the calls of all ranks; or of one,
   which stands for the others of each communicator. ranks: of the job. */
enum site_scope { SITE_ALL_RANKS, SITE_ONE_RANK };
void site_report(struct json *j, enum site_scope scope, int ranks);

#endif
