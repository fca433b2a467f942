/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time over this process's calls: for each collective and size class a list of blocks of calls that
 * one contender carried, one after the other, and the guard's verdicts among them. A list has a
 * fixed size. Once it is full, blocks may be twice as long, and neighbours of one contender become
 * one. If too few do, every other pair of blocks goes.
 *
 * Thread rule: any thread adds. A list is read between count_series_lock and the unlock.
 */
#ifndef COLLSHIM_SHIM_RECORD_COUNT_SERIES_H
#define COLLSHIM_SHIM_RECORD_COUNT_SERIES_H

#include <stdint.h>

#include "planners/plan/collective.h"

enum {
    COUNT_BLOCKS = 64,
    COUNT_VERDICTS = 8, /* the first ones and the last one */
    COUNT_OF_BLOCK = 9, /* calls of a block whose median is its time, spread over it */
    COUNT_LIBRARY = -1  /* as a row: natively */
};

struct count_block {
    uint64_t from, calls; /* the number of its first call, from 1 on; how many */
    double us;            /* median; of blocks that became one, the mean by calls */
    int row;              /* of the counters, or COUNT_LIBRARY */
};

struct count_series {
    uint64_t calls, longest;
    int n, taken, verdicts;
    struct count_block block[COUNT_BLOCKS];
    double us[COUNT_OF_BLOCK]; /* sorted [taken]: of the last block */
    struct {
        uint64_t call; /* behind which it came */
        int rerouted;
    } verdict[COUNT_VERDICTS];
};

/* A call of a size class took so long. */
void count_series_add(enum plan_collective c, int size_class, int row, double us);

/* The guard has another verdict than before. */
void count_series_verdict(enum plan_collective c, int size_class, int rerouted);

/* NULL: no call, or no memory. */
const struct count_series *count_series_of(enum plan_collective c, int size_class);

void count_series_lock(void);
void count_series_unlock(void);

#endif
