/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "config/base/near.h"

#include <stdio.h>

#include "config/base/cpulist.h"
#include "config/base/text.h"

void near_device(const char *bus_id, int least)
{
    char path[128];
    cpu_set_t own, near;

    int n = snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", bus_id);
    for (char *c = path; n < (int)sizeof path && *c; c++)
        *c = text_lower(*c);
    if (cpulist_read(path, &near) || sched_getaffinity(0, sizeof own, &own))
        return;
    CPU_AND(&near, &near, &own);
    if (CPU_COUNT(&near) >= least)
        sched_setaffinity(0, sizeof near, &near);
}
