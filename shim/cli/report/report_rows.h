/* SPDX-License-Identifier: BSD-3-Clause */
/* A report's rows of collectives and sizes, for the table and for the picture. One thread. */
#ifndef COLLSHIM_SHIM_CLI_REPORT_ROWS_H
#define COLLSHIM_SHIM_CLI_REPORT_ROWS_H

#include <jansson.h>

/* A report in which every field that is used is there and of its type. */
struct report {
    json_t *root;        /* owned */
    json_t *collectives; /* borrowed */
    json_t *nccl;        /* borrowed; NULL: of MPI */
};

/* One size of a collective. Strings and objects are borrowed from the report. */
struct size_row {
    long long from, rerouted, native, guard_rerouted, guard_native;
    double rerouted_us, native_us;   /* medians; in reports without them, means */
    double guard_gain, guard_spread; /* negative in reports of older versions */
    double median_spread;            /* of the medians' ratio; 0: not known */
    json_t *algorithms;              /* NULL in reports of older versions */
};

struct collective_row {
    const char *name, *algorithm;
    long long calls, rerouted, equal, different;
    json_t *reasons, *sizes;
    json_t *balancing; /* of alltoallv, or NULL */
};

/* Returns 0, or negative: a field is missing, or of another type. */
int report_read_size(json_t *o, struct size_row *s);
int report_read_collective(json_t *o, struct collective_row *c);

/* Draw mean times over sizes into the picture, by gnuplot (report_draw.c). Returns CLI_OK or
   CLI_FAILURE. */
int report_draw(const struct report *r, const char *picture);

#endif
