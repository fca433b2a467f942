/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call sites of a report, as `collshim report` shows them: as a table, in pictures, and beside
 * those of another run. Texts and objects are borrowed from the report.
 */
#ifndef COLLSHIM_SHIM_CLI_CALL_SITES_H
#define COLLSHIM_SHIM_CLI_CALL_SITES_H

#include <jansson.h>
#include <stdio.h>

enum { SITES_SHOWN = 20, SITES_FUNCTION = 160 };

struct site_line {
    const char *object, *build_id, *collective, *algorithm, *reason;
    long long offset, ranks, nodes, from, calls, rerouted, native;
    double rerouted_s, native_s;                             /* of all ranks together */
    double rerouted_us, rerouted_p99, native_us, native_p99; /* below 0: not timed */
    double saved_s, error_s;
    int saved_known;
    double waiting_s; /* of both times: waiting for late ranks, as far as sampled */
    json_t *callers;
};

/* Returns 0, or -1: the site is unknown. */
int sites_read(json_t *row, struct site_line *s);

/* Are all rows of the list, which may be NULL, sites? */
int sites_are_valid(json_t *list);

/* "solve at src/solve.c:40", "solve in libfoo.so", or "libfoo.so+0x1234". */
void sites_place(const char *object, const char *build_id, long long offset, char *text,
                 size_t size);

/* Give each row, and each of its callers, its place as a member "place". */
void sites_name(json_t *root);

/* The first `most` rows, those that took most time. Nothing without sites. */
void sites_print(json_t *root, size_t most);

/* One sentence: what to do next. */
void sites_advise(json_t *root);

/* Bars of the sites that took most time. Returns an enum cli_exit. */
int sites_draw(json_t *root, const char *picture);

/* The rows in the order of their offsets; the caller frees them. NULL: no memory. */
struct site_line *sites_lines(json_t *root, size_t *n);

/* The function that makes the call; "": not known. */
void sites_function(const struct site_line *s, char function[SITES_FUNCTION]);

/* Are the sites of two runs, with their functions, one call of the program? */
int sites_same(const struct site_line *a, const char *function_a, const struct site_line *b,
               const char *function_b);

/* The differences between two runs, the largest first. Returns an enum cli_exit. */
int sites_diff(json_t *old, json_t *new, size_t most);

#endif
