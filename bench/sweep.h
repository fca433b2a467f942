/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective at one size: trial calls, pruning of the native algorithms, then the timed
 * repetitions of everything that is left, interleaved in an order that rotates. Rejected: timing
 * one contender after the other, because a drift in the meantime (another job, a clock, a cache)
 * would count for or against one of them.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "algorithms.h"
#include "options.h"
#include "stats.h"

/* Members that stay the same over sizes; all borrowed. */
struct bench_run {
    const struct bench_options *options;
    const struct bench_mpi *native, *app; /* app is NULL without a preload */
    const struct bench_shape *shape;
    const struct bench_rates *rates; /* NULL: no bound */
    MPI_Comm control;                /* for barriers and agreement; never for timed calls */
    FILE *text;                      /* for people; NULL but on rank 0 */
};

enum { BENCH_MOST_TIMED = 32 };

struct bench_result {
    const struct bench_collective *row;
    size_t bytes, total_bytes;
    struct bench_stats usual, native, shim; /* microseconds; usual: the library's own choice */
    int usual_from_trial;    /* that was dropped after the trial calls: usual is their best */
    double shim_first_us;    /* the first call at this size, planning included */
    double shim_settling_us; /* that and the calls after it, before the repetitions */
    char native_name[64], native_flag[256];
    struct bench_timed {
        char name[64];
        double us;
    } each[BENCH_MOST_TIMED]; /* the medians of all that were timed, but the shim */
    int n_each;
    double bound_us; /* 0: not known */
    int verified;    /* every byte of every call of every contender was right */
};

/*
 * Collective over the job. fresh: these algorithms were not called yet in this job, so warm
 * them up. Prints a line per native algorithm. Returns 0, -EOVERFLOW or -ENOMEM if the size
 * cannot be run here (said in one line), the same on all ranks. Wrong data is no error here: see
 * verified.
 */
int bench_sweep_size(const struct bench_run *run, const struct bench_collective *row,
                     const struct bench_algorithms *algorithms, size_t bytes, int fresh,
                     struct bench_result *result);

#endif
