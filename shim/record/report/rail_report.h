/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rails in the report: one object for each host and rail, from a row of each rank.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_RECORD_RAIL_REPORT_H
#define COLLSHIM_SHIM_RECORD_RAIL_REPORT_H

#include "config/base/json.h"
#include "shim/record/counts/live_layout.h"
#include "shim/record/report/job.h"

/* One rank's row: plain bytes. */
struct rail_row {
    char host[JOB_HOST_BYTES];
    uint64_t host_key;     /* equal on two ranks if they run on one host */
    int32_t rank, ranks;   /* its rank; then, of a merged row: how many */
    int64_t number;        /* of a merged row: the rail; below 0: all of its host's */
    struct live_rail rail; /* of a merged row: sums, and the longest time */
};

/* Number each row's rail; hosts by name, then ranks. */
void rail_rows_number(struct rail_row *rows, int n);

/* Merge the rows of a host's ranks on one rail, hosts by name. Writes the result over rows; returns
   how many there are. */
int rail_rows_merge(struct rail_row *rows, int n);

/* The part of the traffic of rows[i]'s host, that way, that rail i carried. Rows are merged. */
double rail_row_share(const struct rail_row *rows, int n, int i, enum live_way w);

/* The list "rails", and how many are not listed, of rows[n] that were merged. Empty if none had
   traffic between hosts. */
void rail_report(struct json *j, const struct rail_row *rows, int n);

#endif
