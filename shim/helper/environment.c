/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/helper/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char devices[] = "UCX_NET_DEVICES=";

static int begins_with_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(text, list[i], strlen(list[i])))
            return 1;
    return 0;
}

static int is_given(const char *variable, enum mailbox_work work)
{
    static const char *const given[] = {"LD_LIBRARY_PATH=", "HOME=", "TMPDIR=", "UCX_", "CUDA_"},
                             *const tools[] = {"LD_PRELOAD=", "LD_AUDIT=", "CUDA_INJECTION64_PATH=",
                                               "NVTX_INJECTION64_PATH="},
                             *const kept[] = {"COLLSHIM_", "NCCL_COMM_ID=", "NCCL_COMM_BLOCKING="};

    if (begins_with_one_of(variable, tools, sizeof tools / sizeof *tools))
        return 0;
    if (work == MAILBOX_FOR_NCCL)
        return !begins_with_one_of(variable, kept, sizeof kept / sizeof *kept);
    return begins_with_one_of(variable, given, sizeof given / sizeof *given);
}

/* The device of a list that is the helper's; *length: of its name. The owner has the first one
   busy already, if it uses just one. */
static const char *pick(const char *list, int helper, int *length)
{
    int n = 1;

    for (const char *c = list; *c; c++)
        n += *c == ',';
    for (int skip = (helper + 1) % n; skip > 0; skip--)
        list = strchr(list, ',') + 1;
    *length = (int)strcspn(list, ",");
    return list;
}

char **environment_of(char *const *all, int helper, enum mailbox_work work)
{
    size_t n = 0, kept = 0, longest = 0;

    while (all && all[n]) {
        if (!strncmp(all[n], devices, sizeof devices - 1))
            longest = strlen(all[n]);
        n++;
    }
    char **chosen = malloc((n + 1) * sizeof *chosen + longest + 1);
    if (!chosen)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const char *list = all[i] + sizeof devices - 1;

        if (!is_given(all[i], work))
            continue;
        chosen[kept] = all[i];
        /* ^ excludes: which are left only UCX knows. */
        if (!strncmp(all[i], devices, sizeof devices - 1) && *list != '^' && strchr(list, ',')) {
            int length;
            const char *name = pick(list, helper, &length);

            chosen[kept] = (char *)(chosen + n + 1);
            snprintf(chosen[kept], longest + 1, "%s%.*s", devices, length, name);
        }
        kept++;
    }
    chosen[kept] = NULL;
    return chosen;
}
