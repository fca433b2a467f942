/* SPDX-License-Identifier: BSD-3-Clause */
/* A way to choose among contenders, as the simulated job asks it. */
#ifndef COLLSHIM_BENCH_REGRET_POLICY_H
#define COLLSHIM_BENCH_REGRET_POLICY_H

#include "bench/regret/machine.h"

struct policy {
    const char *name;
    /* A job begins. */
    void (*begin)(const struct machine *m);
    /* The contender of the next call; *timed: the ranks' times follow. */
    int (*pick)(int class, uint64_t bytes, int *timed);
    /* They took so long, and setup besides. Returns whether the ranks agreed on something. */
    int (*note)(int class, uint64_t bytes, const double *seconds, int ranks, double setup);
    /* The contender in use. */
    int (*best)(int class);
};

extern const struct policy policy_fastest, policy_guard, policy_informed;

#endif
