/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a report as Perfetto and chrome://tracing read it. Each rank has a track. Each stay
 * in a sampled call is a slice, with its waiting as a slice inside. An arrow leads from the late
 * rank to each one that waited for it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/waits_show.h"

enum { RANK, ENTRY, EXIT, WAIT };

static double value(json_t *stay, size_t which)
{
    return json_number_value(json_array_get(stay, which));
}

/* An event on a rank's track at that time; more: an object of members that only it has. */
static void add(json_t *events, const char *kind, double rank, double us, json_t *more)
{
    json_t *e =
        json_pack("{s:s, s:i, s:I, s:f}", "ph", kind, "pid", 1, "tid", (json_int_t)rank, "ts", us);

    json_object_update(e, more);
    json_decref(more);
    json_array_append_new(events, e);
}

static void add_track(json_t *events, double rank, const char *host)
{
    char name[160];

    snprintf(name, sizeof name, "rank %.0f%s%.80s", rank, host ? " on " : "", host ? host : "");
    text_clean(name); /* it may be cut inside a character */
    add(events, "M", rank, 0,
        json_pack("{s:s, s:{s:s}}", "name", "thread_name", "args", "name", name));
    add(events, "M", rank, 0,
        json_pack("{s:s, s:{s:I}}", "name", "thread_sort_index", "args", "sort_index",
                  (json_int_t)rank));
}

static json_t *slice(const char *name, double us)
{
    return json_pack("{s:s, s:s, s:f}", "name", name, "cat", "collective", "dur", us);
}

/* arrow: the number of the last one. Both ends lie inside the slices that they join. */
static void add_wait(json_t *events, json_t *stay, json_t *late, json_int_t *arrow)
{
    double until = value(stay, ENTRY) + value(stay, WAIT);
    char name[64];

    snprintf(name, sizeof name, "waiting for rank %.0f", value(late, RANK));
    add(events, "X", value(stay, RANK), value(stay, ENTRY), slice(name, value(stay, WAIT)));
    ++*arrow;
    add(events, "s", value(late, RANK), value(late, ENTRY),
        json_pack("{s:s, s:s, s:I}", "name", "late", "cat", "late", "id", *arrow));
    add(events, "f", value(stay, RANK), until,
        json_pack("{s:s, s:s, s:I, s:s}", "name", "late", "cat", "late", "id", *arrow, "bp", "e"));
}

static void add_call(json_t *events, json_t *call, json_int_t *arrow)
{
    json_t *stays = json_object_get(call, "ranks"), *stay, *late = NULL;
    json_t *last = json_object_get(call, "late");
    const char *collective = json_string_value(json_object_get(call, "collective"));
    char name[80];
    size_t i;

    snprintf(name, sizeof name, "%.40s %.0f", collective ? collective : "?",
             json_number_value(json_object_get(call, "call")));
    text_clean(name);
    json_array_foreach(stays, i, stay)
    {
        add(events, "X", value(stay, RANK), value(stay, ENTRY),
            slice(name, value(stay, EXIT) - value(stay, ENTRY)));
        if (json_is_number(last) && value(stay, RANK) == json_number_value(last))
            late = stay;
    }
    json_array_foreach(stays, i, stay)
    {
        if (late && value(stay, WAIT) > 0)
            add_wait(events, stay, late, arrow);
    }
}

int waits_trace(json_t *root, const char *path)
{
    json_t *list = json_object_get(root, "trace"), *events = json_array(), *o;
    json_int_t arrow = 0;
    size_t i;

    if (!json_array_size(list)) {
        json_decref(events);
        return cli_fail("no trace: the report has no sampled calls");
    }
    json_array_foreach(json_object_get(root, "by_rank"), i, o)
    {
        add_track(events, (double)i, json_string_value(json_object_get(o, "host")));
    }
    json_array_foreach(list, i, o)
    {
        add_call(events, o, &arrow);
    }
    json_t *trace = json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
    int failed = json_dump_file(trace, path, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(trace);
    return failed ? cli_fail("%s: %s", path, strerror(errno)) : CLI_OK;
}
