/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs that `collshim gate` compares: reports in a file or a folder, brought together by call
 * site. Only what is compared or shown is kept of a report.
 */
#ifndef COLLSHIM_SHIM_CLI_GATE_RUNS_H
#define COLLSHIM_SHIM_CLI_GATE_RUNS_H

#include <sys/types.h>

#include "shim/cli/gate/gate_stat.h"

struct site_line;

enum { GATE_TEXT = 256, GATE_JOB = 0, GATE_ALL, GATE_SHORT, GATE_TOTALS };

/* The facts of a run. Runs of one comparison agree in the first two. */
enum gate_fact { FACT_PROGRAM, FACT_SHAPE, FACT_VERSION, FACT_LIBRARY, FACT_HOSTS, FACT_SETTINGS };
enum { FACTS = FACT_SETTINGS + 1 };
extern const char *const gate_fact_names[FACTS];

/* Why a file of a folder is left out. */
enum gate_skip { GATE_FOREIGN, GATE_PARTIAL, GATE_OTHER, GATE_SKIPS };
extern const char *const gate_skip_texts[GATE_SKIPS];

struct gate_side {
    const char *path;                      /* borrowed */
    int runs, skipped[GATE_SKIPS], shared; /* shared: in both sides, so new ones */
    char first_skipped[GATE_SKIPS][GATE_TEXT];
    char fact[FACTS][GATE_TEXT]; /* "several": runs differ */
    char name[GATE_RUNS][GATE_TEXT];
    struct {
        dev_t device;
        ino_t inode;
    } file[GATE_RUNS];
};

/* A total (the first GATE_TOTALS), or a call site. */
struct gate_row {
    struct site_line *site; /* owned, with its strings; NULL: a total */
    char function[160], place[GATE_TEXT], what[GATE_TEXT];
    double seconds[2][GATE_RUNS], calls[2][GATE_RUNS]; /* calls 0: not in that run */
    int compared;                                      /* it is in all runs, and not short */
    double mean[2], spread[2]; /* seconds of a call; standard deviation through mean */
    struct gate_change found;  /* of rows that are compared */
};

struct gate {
    struct gate_side side[2]; /* baseline, new */
    struct gate_row *row;     /* owned */
    int rows;
    double loss; /* share of a time that matters */
};

/* Read the sides' paths, the new one first: a file that is in both is new. Returns an enum
   cli_exit. gate_free frees it, also then. */
int gate_read(struct gate *g);
void gate_free(struct gate *g);

#endif
