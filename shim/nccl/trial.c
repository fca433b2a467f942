/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/trial.h"

#include <math.h>

#define CLEARLY 0.97 /* of the library's time: what is gained must be seen */

static uint32_t key_of(unsigned kind, uint64_t total)
{
    return 1 + kind * 64 + (total ? 63u - (unsigned)__builtin_clzll(total) : 0);
}

const struct trial *trial_known(const struct trials *t, unsigned kind, uint64_t total)
{
    uint32_t key = key_of(kind, total);

    for (int i = 0; i < t->n; i++)
        if (t->entry[i].key == key)
            return &t->entry[i];
    return NULL;
}

struct trial *trial_find(struct trials *t, unsigned kind, uint64_t total)
{
    const struct trial *known = trial_known(t, kind, total);

    if (known)
        return &t->entry[known - t->entry];
    if (t->n == TRIAL_ENTRIES)
        return NULL;
    t->entry[t->n].key = key_of(kind, total);
    return &t->entry[t->n++];
}

/* Turn i of a look. */
static int way_of(const struct trial *t, uint32_t i)
{
    int way = (int)(i % (uint32_t)t->ways);

    return way && t->rival ? t->rival : way;
}

int trial_pick(struct trial *t, int reroutes, int *sample, int *compare)
{
    uint32_t n = t->n++, measured;

    *sample = -1;
    *compare = 0;
    if (t->settled) {
        if (n == TRIAL_AGAIN)
            t->settled = 0, t->n = 0;
        return t->best;
    }
    if (n == 0)
        t->ways = 1 + (t->rival ? 1 : reroutes);
    measured = 2 * TRIAL_CALLS * (uint32_t)t->ways;
    if (n < measured) {
        *sample = n % 2 ? (int)n / (2 * t->ways) : -1;
        return way_of(t, n / 2);
    }
    *compare = n == measured + TRIAL_PAUSE;
    return TRIAL_NATIVE;
}

static double best_of(const struct trial *t, int way, const struct cuda_calls *cu)
{
    double best = INFINITY;

    for (int i = 1; i < TRIAL_CALLS; i++) {
        float ms = 0;

        if (!t->begin[way][i] || !t->end[way][i] ||
            cu->EventElapsedTime(&ms, t->begin[way][i], t->end[way][i]) != CUDA_SUCCESS)
            return INFINITY;
        best = fmin(best, (double)ms / 1e3);
    }
    return best;
}

void trial_best(const struct trial *t, const struct cuda_calls *cu, double seconds[TRIAL_WAYS])
{
    for (int way = 0; way < TRIAL_WAYS; way++)
        seconds[way] = 0;
    for (int i = 0; i < t->ways; i++)
        seconds[way_of(t, (uint32_t)i)] = best_of(t, way_of(t, (uint32_t)i), cu);
}

int trial_settle(struct trial *t, const double seconds[TRIAL_WAYS])
{
    int first = 0;

    t->n = 0;
    for (int i = 0; i < t->ways; i++) {
        int way = way_of(t, (uint32_t)i);

        if (!isfinite(seconds[way]))
            return 0;
        if (way && (!first || seconds[way] < seconds[first]))
            first = way;
    }
    t->rival = first;
    t->best = seconds[first] < CLEARLY * seconds[TRIAL_NATIVE] ? first : TRIAL_NATIVE;
    t->settled = t->ended = 1;
    return 1;
}

void trials_close(struct trials *t, const struct cuda_calls *cu)
{
    for (struct trial *e = t->entry; e < t->entry + t->n; e++)
        for (int k = 0; k < TRIAL_WAYS * TRIAL_CALLS; k++) {
            CUevent *begin = &e->begin[k % TRIAL_WAYS][k / TRIAL_WAYS],
                    *end = &e->end[k % TRIAL_WAYS][k / TRIAL_WAYS];

            if (*begin)
                cu->EventDestroy(*begin);
            if (*end)
                cu->EventDestroy(*end);
        }
    *t = (struct trials){0};
}
