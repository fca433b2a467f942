/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a control variable and their names, from the library that has it. */
#ifndef BENCH_KNOB_NAMES_H
#define BENCH_KNOB_NAMES_H

enum { BENCH_KNOB_VALUES = 32, BENCH_KNOB_NAME = 64 };

struct bench_knob_names {
    int n;
    int value[BENCH_KNOB_VALUES];
    char name[BENCH_KNOB_VALUES][BENCH_KNOB_NAME];
};

/* index: of the variable in MPI_T, which must be initialised. n is 0 if there are no names. */
void bench_knob_names_get(int index, struct bench_knob_names *names);

#endif
