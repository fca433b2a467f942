/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "config/base/cpulist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

void cpulist_parse(const char *list, cpu_set_t *cpus)
{
    char *end;

    CPU_ZERO(cpus);
    for (; isdigit((unsigned char)*list); list = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < CPU_SETSIZE; first++)
            CPU_SET(first, cpus);
    }
}

int cpulist_read(const char *path, cpu_set_t *cpus)
{
    char list[4096] = "";
    FILE *f = fopen(path, "re");

    CPU_ZERO(cpus);
    if (!f)
        return -1;
    int rc = fgets(list, sizeof list, f) ? 0 : -1;
    fclose(f);
    cpulist_parse(list, cpus);
    return rc;
}
