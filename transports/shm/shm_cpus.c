/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks with the fewest CPUs choose first, and take any CPU that is left. This is exact if any two
 * sets are disjoint or one contains the other, as launchers bind ranks.
 */
#define _GNU_SOURCE
#include "transports/shm/shm_cpus.h"

#include <sched.h>
#include <string.h>

struct shm_cpus shm_cpus_here(void)
{
    struct shm_cpus cpus = {{0}};
    cpu_set_t set;

    _Static_assert(sizeof set <= sizeof cpus, "room for every CPU that the call can name");
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        memcpy(&cpus, &set, sizeof set);
    return cpus;
}

static int count(const struct shm_cpus *c)
{
    int n = 0;

    for (int w = 0; w < SHM_CPU_WORDS; w++)
        n += __builtin_popcountll(c->word[w]);
    return n;
}

/* Take one of its CPUs that is not taken. */
static int take_one(const struct shm_cpus *c, struct shm_cpus *taken)
{
    for (int w = 0; w < SHM_CPU_WORDS; w++) {
        uint64_t left = c->word[w] & ~taken->word[w];
        taken->word[w] |= left & -left;
        if (left)
            return 1;
    }
    return 0;
}

/* The least choice that any rank has beyond that; 0: none has. */
static int next_choice(const struct shm_cpus *cpus, int n, int beyond)
{
    int least = 0;

    for (int i = 0; i < n; i++) {
        int c = count(&cpus[i]);
        if (c > beyond && (!least || c < least))
            least = c;
    }
    return least;
}

int shm_cpus_suffice(const struct shm_cpus *cpus, int n)
{
    struct shm_cpus taken = {{0}};
    int placed = 0, choice = 0;

    while (placed < n && (choice = next_choice(cpus, n, choice)) > 0)
        for (int i = 0; i < n; i++) {
            if (count(&cpus[i]) != choice)
                continue;
            if (!take_one(&cpus[i], &taken))
                return 0;
            placed++;
        }
    return placed == n;
}
