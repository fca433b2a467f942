/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/near.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

int near_cores(const char *list, const cpu_set_t *own, cpu_set_t *near)
{
    char *end;

    CPU_ZERO(near);
    for (; isdigit((unsigned char)*list); list = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long core = first; core <= last && core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, own))
                CPU_SET(core, near);
    }
    return CPU_COUNT(near);
}

void near_device(const char *bus_id, int least)
{
    char path[128], list[4096];
    cpu_set_t own, near;

    int n = snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", bus_id);
    for (char *c = path; n < (int)sizeof path && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (fgets(list, sizeof list, f) && sched_getaffinity(0, sizeof own, &own) == 0 &&
        near_cores(list, &own, &near) >= least)
        sched_setaffinity(0, sizeof near, &near);
    fclose(f);
}
