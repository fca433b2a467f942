/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user sees: the conditions first, then a table; and the same as JSON lines, one object
 * per collective and size, whose keys other people's scripts rely on (see README.md).
 * Everything here is called on rank 0 only.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "sweep.h"

/* Library, ranks, preload (path or NULL), settings, placement if asked for, measured rates. */
void bench_report_conditions(FILE *out, const struct bench_run *run, const char *preload);

void bench_report_table(FILE *out, const struct bench_run *run, const struct bench_result *results,
                        int n);

/* Returns 0, or -EIO if out could not take it. */
int bench_report_json(FILE *out, const struct bench_run *run, const struct bench_result *result,
                      const char *preload);

#endif
