/* SPDX-License-Identifier: BSD-3-Clause */
/* Median, extremes and spread of a few samples. The mean was rejected: one rank that lost its
 * core for a moment moves it, and on a shared machine one always does. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

struct bench_stats {
    int n;
    double median, min, max; /* in the samples' unit; 0 if n is 0 */
    double spread;           /* (max - min) / median */
    double error;            /* standard error of the median, by it; 0: fewer than 4 samples */
};

/* Sorts samples in place. */
struct bench_stats bench_stats_of(double *samples, int n);

#endif
