/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can all ranks run at once? The answer says how soon a rank that was asked for help can answer.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_CPUS_H
#define COLLSHIM_TRANSPORTS_SHM_CPUS_H

#include <stdint.h>

enum { SHM_CPU_WORDS = 16 };

/* The CPUs on which a process may run, a bit each. */
struct shm_cpus {
    uint64_t word[SHM_CPU_WORDS];
};

/* Those of the calling thread; none if the system does not say, or has more than fit. */
struct shm_cpus shm_cpus_here(void);

/*
 * Has each of n ranks a CPU of its own? cpus: [n]. Other processes are not looked at. The same for
 * the same arguments; may say no where the sets overlap without one containing the other.
 */
int shm_cpus_suffice(const struct shm_cpus *cpus, int n);

#endif
