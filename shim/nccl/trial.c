/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/trial.h"

#include <math.h>

#define CLEARLY 0.97 /* of the library's time: what is gained must be seen */

static uint16_t key_of(unsigned kind, uint64_t total)
{
    return (uint16_t)(1 + kind * 64 + (total ? 63u - (unsigned)__builtin_clzll(total) : 0));
}

const struct trial *trial_known(const struct trials *t, unsigned kind, uint64_t total)
{
    uint16_t key = key_of(kind, total);

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

enum trial_turn trial_pick(struct trial *t, int *sample, int *compare)
{
    uint32_t n = t->n++;

    *sample = -1;
    *compare = 0;
    if (t->settled) {
        if (n == TRIAL_AGAIN)
            t->settled = 0, t->n = 0;
        return (enum trial_turn)t->best;
    }
    if (n < 4 * TRIAL_CALLS) {
        *sample = n % 2 ? (int)(n / 4) : -1;
        return n / 2 % 2 ? TRIAL_REROUTED : TRIAL_NATIVE;
    }
    *compare = n == 4 * TRIAL_CALLS + TRIAL_PAUSE;
    return TRIAL_NATIVE;
}

void trial_best(const struct trial *t, const struct cuda_calls *cu, double *seconds)
{
    for (int way = 0; way < 2; way++) {
        seconds[way] = INFINITY;
        for (int i = 1; i < TRIAL_CALLS; i++) {
            float ms = 0;

            if (!t->begin[way][i] || !t->end[way][i] ||
                cu->EventElapsedTime(&ms, t->begin[way][i], t->end[way][i]) != CUDA_SUCCESS) {
                seconds[way] = INFINITY;
                break;
            }
            seconds[way] = fmin(seconds[way], (double)ms / 1e3);
        }
    }
}

int trial_settle(struct trial *t, const double *seconds)
{
    t->n = 0;
    if (!isfinite(seconds[TRIAL_NATIVE]) || !isfinite(seconds[TRIAL_REROUTED]))
        return 0;
    t->best = seconds[TRIAL_REROUTED] < CLEARLY * seconds[TRIAL_NATIVE];
    t->settled = t->ended = 1;
    return 1;
}

void trials_close(struct trials *t, const struct cuda_calls *cu)
{
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < 2 * TRIAL_CALLS; k++) {
            CUevent *begin = &t->entry[i].begin[k % 2][k / 2],
                    *end = &t->entry[i].end[k % 2][k / 2];

            if (*begin)
                cu->EventDestroy(*begin);
            if (*end)
                cu->EventDestroy(*end);
            *begin = *end = NULL;
        }
    t->n = 0;
}
