/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of a store (store.h), in memory and in their file. Thread rule: the caller's.
 */
#ifndef COLLSHIM_SHIM_DECIDE_STORE_ROWS_H
#define COLLSHIM_SHIM_DECIDE_STORE_ROWS_H

#include <stdio.h>

#include "planners/plan/collective.h"

#define STORE_HEAD "# collshim store 1\n"
#define STORE_LIBRARY "library" /* the library's own call, in slices */
enum {
    STORE_WHERE = 96,     /* bytes of a place (store_where), its end included */
    STORE_LINE = 512,     /* bytes of a row at most */
    STORE_ROWS = 2000,    /* of a file; the oldest go first */
    STORE_BYTES = 1 << 20 /* of a file */
};

struct store_row {
    /* The key. */
    char where[STORE_WHERE], algorithm[160]; /* NAME or NAME(RECIPE) */
    enum plan_collective collective;
    unsigned kind;
    uint64_t bytes; /* lower end of the class: a power of two */
    int ppg;
    /* The findings. */
    double ratio, spread; /* time through the library's; standard deviation of the logarithm */
    unsigned jobs, day;
};

struct store_rows {
    int n, room;
    struct store_row *row; /* [n] owned */
};

/* The rows of a text; those that cannot be read are left out. Returns 0 or -ENOMEM; *rows can be
   freed either way. */
int store_rows_parse(const char *text, struct store_rows *rows);

/* Read a file. Returns 0, also if there is none; or -1 after a line about it: *rows is empty. */
int store_rows_read(const char *path, struct store_rows *rows);

void store_row_print(FILE *f, const struct store_row *r);

/* The row with the same key, or NULL. */
struct store_row *store_rows_find(const struct store_rows *rows, const struct store_row *key);

/* Put a row in the place of that with its key, or behind all. Returns 0 or -ENOMEM. */
int store_rows_set(struct store_rows *rows, const struct store_row *r);

/* Two jobs' findings as one: the precisions add up, unless they contradict each other. Then the
   newer one counts. Returns whether they do. */
int store_row_combine(struct store_row *old, const struct store_row *newer);

/* Combine rows with those of the file. Jobs do so one after the other, unless a process holds the
   folder's lock without writing; then one job's rows may be lost. Rows that these contradict cost a
   line. Takes a third of a second, or ten while others write. */
void store_rows_merge(const char *path, const struct store_rows *rows);

void store_rows_free(struct store_rows *rows);

#endif
