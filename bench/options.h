/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's options. Parsed before MPI_Init, so that --help and a typing error cost no job. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "collective.h"
#include "rate.h"

enum { BENCH_MOST_SIZES = 64, BENCH_MOST_COLLECTIVES = 32 };

struct bench_options {
    const struct bench_collective *collectives[BENCH_MOST_COLLECTIVES];
    int n_collectives;
    size_t sizes[BENCH_MOST_SIZES]; /* bytes per rank */
    int n_sizes;
    int repetitions;
    int warm_up;        /* calls of the preload before them; 0: as many as its first trials need */
    int settle;         /* pairs of calls in which the preload settles; 0: the sweep instead */
    double limit_s;     /* of those pairs, or of the calls before the repetitions, per size */
    double prune;       /* a native algorithm slower than this many times the best is dropped */
    const char *native; /* "default", "best", or algorithm names separated by commas */
    const char *alone;  /* the only contender: "collshim" or an algorithm; or NULL */
    int bound, verify, corrupt, placement, emulated; /* flags */
    enum bench_rails rails;
    const char *demand_path;                         /* or NULL */
    const char *algorithm_label, *label, *json_path; /* label and json_path may be NULL */
};

enum { BENCH_RUN = -1 };

/*
 * Returns BENCH_RUN, or the status to exit with: 0 after --help, 2 after an error. speak: print
 * help and errors here (one rank of a job does). Strings are borrowed from argv.
 */
int bench_options_parse(int argc, char **argv, int speak, struct bench_options *options);

#endif
