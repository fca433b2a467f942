/* SPDX-License-Identifier: BSD-3-Clause */
/* The guard of a simulated job. Its ranks all hold the same, so one of them is enough. */
#ifndef COLLSHIM_BENCH_REGRET_GUARDED_H
#define COLLSHIM_BENCH_REGRET_GUARDED_H

#include "bench/regret/machine.h"

/* A job begins. m: borrowed until the next one. */
void guarded_begin(const struct machine *m);

/* The contender of the next call; *timed: the ranks' times follow. */
int guarded_pick(int class, uint64_t bytes, int *timed);

/* They took so long. Returns whether the ranks agreed on something. */
int guarded_note(int class, const double *seconds, int ranks);

/* The contender in use. */
int guarded_best(int class);

#endif
