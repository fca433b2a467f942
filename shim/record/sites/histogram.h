/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of durations with fixed bins, so that those of all ranks add up: four bins for each
 * doubling from 256 ns to 1,100 s. A quantile is exact to an eighth of its value, and often better:
 * values are taken to be spread evenly over a bin. Also the classes of sizes that calls are counted
 * by.
 */
#ifndef COLLSHIM_SHIM_RECORD_HISTOGRAM_H
#define COLLSHIM_SHIM_RECORD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BINS = 128, HISTOGRAM_FIRST = 8 /* bin 0: below 2^8 ns and a quarter */ };

static inline int histogram_bin(uint64_t ns)
{
    int k = ns >> HISTOGRAM_FIRST ? 63 - __builtin_clzll(ns) : 0;
    int bin = k ? (k - HISTOGRAM_FIRST) * 4 + (int)(ns >> (k - 2) & 3) : 0;

    return bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1;
}

/* Where bin begins, in nanoseconds. */
static inline double histogram_from(int bin)
{
    return bin ? (double)(1ull << (HISTOGRAM_FIRST + bin / 4)) * (1 + bin % 4 / 4.0) : 0;
}

/* The value, in nanoseconds, that the fraction q of all is below; 0 where there is none. */
static inline double histogram_quantile(const uint32_t *bins, double q)
{
    double all = 0, below = 0;

    for (int b = 0; b < HISTOGRAM_BINS; b++)
        all += bins[b];
    for (int b = 0; b < HISTOGRAM_BINS; b++) {
        if (bins[b] && below + bins[b] >= q * all)
            return histogram_from(b) +
                   (histogram_from(b + 1) - histogram_from(b)) * (q * all - below) / bins[b];
        below += bins[b];
    }
    return 0;
}

/* Class k of calls: 2^k <= total bytes < 2^(k+1); the last one has all larger totals too. */
enum { HISTOGRAM_SIZE_CLASSES = 48 };

static inline int histogram_size_class(uint64_t total)
{
    int k = total ? 63 - __builtin_clzll(total) : 0;

    return k < HISTOGRAM_SIZE_CLASSES ? k : HISTOGRAM_SIZE_CLASSES - 1;
}

#endif
