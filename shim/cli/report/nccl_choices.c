/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/nccl_choices.h"

#include <stdio.h>

#include "config/settings/settings.h"

/* Strings are borrowed. */
struct choice_row {
    const char *collective, *algorithm, *protocol;
    long long from, least, most, calls, timed;
    double us; /* 0: not timed */
};

static int read_row(json_t *o, struct choice_row *r)
{
    *r = (struct choice_row){.us = json_number_value(json_object_get(o, "us"))};
    return json_unpack(o, "{s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I}", "collective", &r->collective,
                       "total_bytes_from", &r->from, "algorithm", &r->algorithm, "protocol",
                       &r->protocol, "channels_least", &r->least, "channels_most", &r->most,
                       "calls", &r->calls, "timed", &r->timed);
}

int nccl_choices_are_valid(json_t *nccl)
{
    json_t *choices = json_object_get(nccl, "choices"), *o;
    struct choice_row r;
    size_t i;

    if (choices && !json_is_array(choices))
        return 0;
    json_array_foreach(choices, i, o)
    {
        if (read_row(o, &r) < 0)
            return 0;
    }
    return 1;
}

static void print_row(const struct choice_row *r)
{
    char from[32], channels[48] = "-", us[32] = "-";

    cfg_print_bytes((unsigned long long)r->from, from, sizeof from);
    if (r->most)
        snprintf(channels, sizeof channels, r->least < r->most ? "%lld-%lld" : "%lld", r->least,
                 r->most);
    if (r->timed)
        snprintf(us, sizeof us, "%.1f", r->us);
    printf("  %-20s %8s  %-14s %-8s %8s %10lld %12s\n", r->collective, from, r->algorithm,
           r->protocol, channels, r->calls, us);
}

void nccl_choices_print(json_t *nccl)
{
    json_t *choices = json_object_get(nccl, "choices"), *o;
    json_t *plugin = json_object_get(nccl, "plugin");
    long long tuner = (long long)json_integer_value(json_object_get(plugin, "tuner"));
    struct choice_row r;
    size_t i;

    if (!json_array_size(choices))
        return;
    printf("\nNCCL's choices, from its profiler plugin (v%lld",
           (long long)json_integer_value(json_object_get(plugin, "profiler")));
    if (tuner)
        printf("; tuner v%lld", tuner);
    printf("); us is the GPU's time, from the first channel's start to the last one's end\n");
    printf("  %-20s %8s  %-14s %-8s %8s %10s %12s\n", "collective", "total", "algorithm",
           "protocol", "channels", "calls", "us");
    json_array_foreach(choices, i, o)
    {
        read_row(o, &r);
        print_row(&r);
    }
}
