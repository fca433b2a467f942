/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output for users: the conditions first, then a table. JSON lines hold the same, one object
 * per collective and size; other people's scripts rely on their keys (see README.md). Everything
 * here is called on rank 0 only.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "config/base/json.h"
#include "sweep.h"

/* Library, ranks, preload (path or NULL), settings, placement if asked for, measured rates. */
void bench_report_conditions(FILE *out, const struct bench_run *run, const char *preload);

void bench_report_table(FILE *out, const struct bench_run *run, const struct bench_result *results,
                        int n);

/* A line of JSON: one flat object, begun and ended; the end returns 0, or -EIO if out is in error.
   A figure is a time, rate or ratio of the benchmark: 0, not measured, is written as null. */
struct json bench_report_line(FILE *out);
void bench_report_figure(struct json *j, const char *key, double value);
int bench_report_line_end(struct json *j);

/* Returns 0, or -EIO if out could not take it. */
int bench_report_json(FILE *out, const struct bench_run *run, const struct bench_result *result,
                      const char *preload);

#endif
