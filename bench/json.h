/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes one flat JSON object per line. A library was not worth its dependency: nothing here
 * reads JSON, and flat lines are what jq and a spreadsheet take.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdio.h>

struct json {
    FILE *out; /* borrowed */
    int keys;
};

void json_begin(struct json *j, FILE *out);
void json_string(struct json *j, const char *key, const char *value); /* NULL: null */
void json_integer(struct json *j, const char *key, long long value);
void json_number(struct json *j, const char *key, double value);
void json_figure(struct json *j, const char *key, double value); /* 0, not measured: null */
void json_boolean(struct json *j, const char *key, int value);

/* End the line. Returns 0, or -EIO if out is in error. */
int json_end(struct json *j);

#endif
