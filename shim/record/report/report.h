/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report that COLLSHIM_REPORT asks for, in parts: a backend puts its own between them. Keys
 * stay as they are, programs read them. It goes to a file, or to the spool (spool.h) where
 * COLLSHIM_REPORT names a directory.
 */
#ifndef COLLSHIM_SHIM_RECORD_REPORT_H
#define COLLSHIM_SHIM_RECORD_REPORT_H

#include "config/base/json.h"
#include "shim/record/report/reporter.h"

/* The object, and its first members; to be closed by the caller. */
struct json report_begin(FILE *f, const char *library, int ranks, const char *counts_are);

void report_settings(struct json *j);

/* The list of what was counted (count.h). timed: with the times, of all collectives and of
   balancing; else of those that were called. */
void report_collectives(struct json *j, int timed);

/* Does COLLSHIM_REPORT name a directory now? */
int report_is_spooled(void);

/* Write the report to COLLSHIM_REPORT, in which %p is replaced by the process id. A file gets
   `behind` added to its name. A spool takes reports of jobs, not of one process. Errors are logged.
 */
void report_write(const char *behind, enum reporter_scope of, void (*print)(FILE *f));

/* The same without a message, and to no stream: for a report that another will replace. Returns 0
   or a negative code. */
int report_write_quietly(void (*print)(FILE *f));

#endif
