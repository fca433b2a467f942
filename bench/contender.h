/* SPDX-License-Identifier: BSD-3-Clause */
/* A way to run the call: a forced native algorithm, or the application's own symbol with a preload
 * behind it; and one timed, verified call of it. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include "algorithms.h"
#include "sweep.h"

enum bench_verdict { BENCH_RUNNING, BENCH_PRUNED, BENCH_REFUSED, BENCH_WRONG, BENCH_DEADLY };

struct bench_contender {
    const struct bench_mpi *mpi;
    const struct bench_algorithm *algorithm; /* NULL: the preload */
    MPI_Comm comm;
    enum bench_verdict verdict;
    double first_us, trial_us; /* first call at this size; best of the trial calls */
    double settling_us;        /* all calls before the repetitions */
    double *us;                /* borrowed: the timed calls */
    int n;
};

const char *bench_contender_name(const struct bench_contender *c);

/*
 * One call on fresh data, collective over the job. Returns microseconds, the maximum over ranks,
 * the same on all. Sets the verdict if the call was refused or a byte was wrong, with a line on
 * stderr. corrupt: spoil a byte first, which must be found.
 */
double bench_call_once(const struct bench_run *run, const struct bench_collective *row,
                       const struct bench_problem *problem, struct bench_contender *c, int corrupt);

/* Ranks with buffers in this machine's memory: an emulated cluster's nodes are all one machine. */
int bench_sharers(const struct bench_run *run);

#endif
