/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own files, because a preload's backend should not bring a topology library into
   every application for one number. */
#define _GNU_SOURCE
#include "config/base/socket.h"

#include <stdio.h>

#include "config/base/cpulist.h"

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

/* One processor is asked who else is on its socket: to ask each, of which a rank that is not bound
   has hundreds, takes milliseconds. */
int socket_of(const cpu_set_t *cpus, const char *sysfs)
{
    char path[256];
    cpu_set_t socket;
    int cpu = 0;

    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, cpus))
        cpu++;
    snprintf(path, sizeof path, "%s/cpu%d/topology/core_siblings_list", sysfs, cpu);
    if (cpulist_read(path, &socket))
        return -1;
    CPU_AND(&socket, &socket, cpus);
    return CPU_EQUAL(&socket, cpus) ? package(cpu, sysfs) : -1;
}

int socket_here(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof cpus, &cpus) == 0
               ? socket_of(&cpus, "/sys/devices/system/cpu")
               : -1;
}
