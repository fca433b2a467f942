/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many jobs' reports added up. Memory does not grow with their number: tables have a fixed size,
 * and rows that do not fit count as "(others)". Times are in node hours: seconds of all ranks, as
 * if a job's ranks were spread evenly over its nodes.
 */
#ifndef COLLSHIM_SHIM_CLI_SITE_SUM_H
#define COLLSHIM_SHIM_CLI_SITE_SUM_H

#include "shim/cli/site/site_change.h"

enum { SUM_PROGRAMS = 4096, SUM_REASONS = 128, SUM_SETTINGS = 512, SUM_TEXT = 160 };

/* Programs, reasons, or settings; which fields are used depends on which. */
struct sum_row {
    char name[SUM_TEXT];
    long long jobs, gained, lost; /* beyond the doubt about what was saved */
    double hours;                 /* of the jobs */
    double collectives;           /* of that, in collectives; of a reason: natively for it */
    double advised;               /* of a reason's: of calls for which advice.h changes something */
    double waiting;               /* of that, waiting for late ranks, as far as sampled */
    double saved, error;          /* error: squared */
};

struct sum_table {
    struct sum_row *row; /* owned; row 0: (others) */
    int rows, most;
    int *index; /* owned */
};

struct sum {
    long long reports, partial;
    long long first, last; /* when the earliest and the latest job began */
    struct sum_row all;
    struct sum_table programs, reasons, settings;
    struct changes changes;
};

/* Returns 0, or -1: no memory; then nothing is owned. */
int sum_open(struct sum *s);
void sum_close(struct sum *s);

/* When the job began, seconds since 1970; -1: no report, or of a version that did not say. */
long long sum_began(struct json_t *report);

/* The job's user, as the report has it; -1: it does not say. */
long long sum_user(struct json_t *report);

/* written: when, seconds since 1970; the job cannot have taken longer than until then. Returns 0,
   or -1: it is no report that can be, and nothing has changed. */
int sum_add(struct sum *s, struct json_t *report, long long written);

/* Largest first, and (others) last: by what was saved or lost, or by time. Finds what became
   slower. */
void sum_sort(struct sum *s);

#endif
