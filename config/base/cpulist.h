/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of processors as the kernel writes them: "0-15,32-47" (Linux, cpuset(7), list format).
 */
#ifndef COLLSHIM_CONFIG_CPULIST_H
#define COLLSHIM_CONFIG_CPULIST_H

#include <sched.h>

/* Those of the list, up to what is no number or range; those beyond CPU_SETSIZE are left out. */
void cpulist_parse(const char *list, cpu_set_t *cpus);

/* Those of the list in that file. Returns 0, or -1 with an empty set if it cannot be read. */
int cpulist_read(const char *path, cpu_set_t *cpus);

#endif
