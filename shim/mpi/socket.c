/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own files, because a preload's backend should not bring a topology library into
   every application for one number. */
#define _GNU_SOURCE
#include "shim/mpi/socket.h"

#include <stdio.h>

/* The socket of one processor, or -1. */
static int package(int cpu, const char *sysfs)
{
    char path[256];
    int id = -1;

    snprintf(path, sizeof path, "%s/cpu%d/topology/physical_package_id", sysfs, cpu);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    if (fscanf(f, "%d", &id) != 1)
        id = -1;
    fclose(f);
    return id;
}

int socket_of(const cpu_set_t *cpus, const char *sysfs)
{
    int common = -1;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus))
            continue;
        int id = package(cpu, sysfs);
        if (id < 0 || (common >= 0 && id != common))
            return -1;
        common = id;
    }
    return common;
}

int socket_here(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof cpus, &cpus) == 0
               ? socket_of(&cpus, "/sys/devices/system/cpu")
               : -1;
}
