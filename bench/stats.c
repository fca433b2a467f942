/* SPDX-License-Identifier: BSD-3-Clause */
/* The median of an even number of samples is the mean of the middle two, so that a median of
 * medians does not lean to one side. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct bench_stats bench_stats_of(double *samples, int n)
{
    struct bench_stats s = {0};

    if (n <= 0)
        return s;
    qsort(samples, (size_t)n, sizeof(*samples), ascending);
    s.n = n;
    s.min = samples[0];
    s.max = samples[n - 1];
    s.median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
    /* Quartiles of normal samples are 1.349 standard deviations apart, and a median is off by
       1.2533 / sqrt(n) of one. */
    double quartiles = samples[(n - 1) * 3 / 4] - samples[(n - 1) / 4];
    s.error = s.median > 0 && n > 3 ? 1.2533 / 1.349 * quartiles / sqrt(n) / s.median : 0;
    s.spread = s.median > 0 ? (s.max - s.min) / s.median : 0;
    return s;
}
