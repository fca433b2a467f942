/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/regret/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 100000, AROUND = 50, COLD = 2 };

/* The mean of a way's calls around the i-th, as if the trace went round. */
static double mean_around(const struct trace *t, int i, int way)
{
    double sum = 0;

    for (int k = i - AROUND; k <= i + AROUND; k++)
        sum += t->seconds[((k % t->n) + t->n) % t->n][way];
    return sum / (2 * AROUND + 1);
}

int trace_read(const char *path, struct trace *t)
{
    FILE *f = fopen(path, "re");
    double native, rerouted;

    if (!f)
        return -errno;
    *t = (struct trace){.name = strdup(path), .seconds = calloc(MOST_PAIRS, sizeof *t->seconds)};
    while (t->seconds && t->n < MOST_PAIRS && fscanf(f, "%lf %lf", &native, &rerouted) == 2) {
        t->seconds[t->n][0] = native / 1e6;
        t->seconds[t->n++][1] = rerouted / 1e6;
    }
    fclose(f);
    if (t->n > COLD) { /* cold first calls come once */
        t->n -= COLD;
        memmove(t->seconds, t->seconds + COLD, (size_t)t->n * sizeof *t->seconds);
    }
    if (!t->name || !t->n) {
        trace_free(t);
        return -EINVAL;
    }
    t->mean = calloc((size_t)t->n, sizeof *t->mean);
    for (int i = 0; t->mean && i < t->n; i++)
        for (int way = 0; way < 2; way++)
            t->mean[i][way] = mean_around(t, i, way);
    return t->mean ? 0 : -ENOMEM;
}

void trace_free(struct trace *t)
{
    free((char *)t->name);
    free(t->seconds);
    free(t->mean);
    *t = (struct trace){0};
}

void machine_replay(struct machine *m, const struct trace *t, uint64_t seed)
{
    machine_make(m, seed);
    m->arms = 2;
    m->ranks = 1; /* the slowest rank's times are what was recorded */
    m->classes = 1;
    m->cold[0] = m->cold[1] = 0;
    m->change_at = CALLS;
    m->sizes = SIZES_ONE;
    m->trace = t;
    m->from = (int)(seed * 7919 % (uint64_t)t->n);
    for (int way = 0; way < 2; way++)
        m->mean[0][way] = t->mean[m->from][way];
}
