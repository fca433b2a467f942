/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/nccl_choices.h"

#include <stdio.h>

#include "config/settings/settings.h"
#include "shim/cli/cli.h"

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

static const struct cli_column columns[] = {
    {"  collective", -22, -22},
    {"total", 7, 8},
    {" algorithm", -14, -15},
    {"protocol", -8, -8},
    {"channels", 8, 8},
    {"calls", 7, 10},
    {"us", 8, 12},
    {NULL, 0, 0},
};

static void print_row(const struct choice_row *r)
{
    struct cli_cells c = {0};
    char from[32];

    cfg_print_bytes((unsigned long long)r->from, from, sizeof from);
    cli_cell(&c, "  %s", r->collective);
    cli_cell(&c, "%s", from);
    cli_cell(&c, " %s", r->algorithm);
    cli_cell(&c, "%s", r->protocol);
    cli_cell(&c, !r->most ? "-" : r->least < r->most ? "%lld-%lld" : "%lld", r->least, r->most);
    cli_cell(&c, "%lld", r->calls);
    cli_cell(&c, r->timed ? "%.1f" : "-", r->us);
    cli_print_row(columns, &c);
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
    cli_print_titles(columns);
    json_array_foreach(choices, i, o)
    {
        read_row(o, &r);
        print_row(&r);
    }
}
