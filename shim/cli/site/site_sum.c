/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/site/site_sum.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "config/base/text.h"
#include "shim/cli/report/advice.h"
#include "shim/cli/report/call_sites.h"

/* Clocks of hosts and file servers differ. Calls of a process may overlap, on as many communicators
   as are rerouted at once. */
enum { MOST_SITES = 1024, CLOCKS_S = 600, OVERLAP = 64 };

/* One report's values, before any of them is added. */
struct job {
    long long ranks, nodes, began;
    double seconds, per_rank_second; /* node hours */
    double saved, error, collectives, waiting;
};

static int open_table(struct sum_table *t, int most)
{
    t->most = most;
    t->rows = 1;
    t->row = calloc((size_t)most, sizeof *t->row);
    t->index = calloc((size_t)most * 2, sizeof *t->index);
    if (t->row)
        strcpy(t->row[0].name, "(others)");
    return t->row && t->index ? 0 : -1;
}

static void close_table(struct sum_table *t)
{
    free(t->row);
    free(t->index);
    *t = (struct sum_table){0};
}

int sum_open(struct sum *s)
{
    *s = (struct sum){0};
    if (open_table(&s->programs, SUM_PROGRAMS) < 0 || open_table(&s->reasons, SUM_REASONS) < 0 ||
        open_table(&s->settings, SUM_SETTINGS) < 0) {
        sum_close(s);
        return -1;
    }
    return 0;
}

void sum_close(struct sum *s)
{
    close_table(&s->programs);
    close_table(&s->reasons);
    close_table(&s->settings);
    change_close(&s->changes);
}

static struct sum_row *row_of(struct sum_table *t, const char *name)
{
    char text[SUM_TEXT];
    int at;

    text_show(text, sizeof text, name, strlen(name));
    at = (int)(hash_text(HASH_SEED, text) % (uint64_t)(2 * t->most));
    for (; t->index[at]; at = (at + 1) % (2 * t->most))
        if (!strcmp(t->row[t->index[at]].name, text))
            return &t->row[t->index[at]];
    if (t->rows == t->most)
        return &t->row[0];
    t->index[at] = t->rows;
    memcpy(t->row[t->rows].name, text, sizeof text);
    return &t->row[t->rows++];
}

static void add_job(struct sum_row *r, const struct job *j)
{
    r->jobs++;
    r->gained += j->saved > 0 && j->saved > j->error;
    r->lost += j->saved < 0 && -j->saved > j->error;
    r->hours += j->seconds * (double)j->nodes / 3600;
    r->collectives += j->collectives * j->per_rank_second;
    r->waiting += j->waiting * j->per_rank_second;
    r->saved += j->saved * j->per_rank_second;
    r->error += pow(j->error * j->per_rank_second, 2);
}

/* A number that can be added up, or 0: any user can write reports. */
static double number(json_t *object, const char *key)
{
    double x = json_number_value(json_object_get(object, key));

    return isfinite(x) && fabs(x) < 1e15 ? x : 0;
}

static double positive(json_t *object, const char *key)
{
    double x = number(object, key);

    return x > 0 ? x : 0;
}

long long sum_began(json_t *report)
{
    json_t *job = json_object_get(report, "job"), *began = json_object_get(job, "began");

    return json_is_integer(began) ? (long long)json_integer_value(began) : -1;
}

long long sum_user(json_t *report)
{
    json_t *uid = json_object_get(json_object_get(report, "job"), "uid");

    return json_is_integer(uid) ? (long long)json_integer_value(uid) : -1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void add_program(struct sum *s, json_t *job, const struct job *j)
{
    const char *program = json_string_value(json_object_get(job, "program"));
    const char *script = json_string_value(json_object_get(job, "script"));
    char name[2 * SUM_TEXT];

    snprintf(name, sizeof name, "%s%s%s", program ? base_name(program) : "(unknown)",
             script ? " " : "", script ? base_name(script) : "");
    add_job(row_of(&s->programs, name), j);
}

static void add_settings(struct sum *s, json_t *changed, const struct job *j)
{
    char name[2 * SUM_TEXT];
    const char *key;
    json_t *value;
    int any = 0;

    json_object_foreach(changed, key, value)
    {
        if (!json_is_string(value) || !strcmp(key, "report") ||
            !strcmp(key, "spool")) /* of the version before */
            continue;
        snprintf(name, sizeof name, "%s=%.200s", key, json_string_value(value));
        add_job(row_of(&s->settings, name), j);
        any = 1;
    }
    if (!any)
        add_job(row_of(&s->settings, "(defaults)"), j);
}

static void add_reason(struct sum *s, const struct site_line *l, const struct job *j)
{
    if (!l->reason || !(l->native_s > 0))
        return;
    struct sum_row *r = row_of(&s->reasons, l->reason);
    r->jobs += l->native > 0;
    r->collectives += l->native_s * j->per_rank_second;
    if (advice_reaches(l->reason, l->from))
        r->advised += l->native_s * j->per_rank_second;
}

/* Returns how many there are, or -1: they are no sites. The rest of a longer list is left out. */
static int read_sites(json_t *list, struct site_line *line, struct job *j)
{
    size_t n = json_array_size(list);

    if (list && !json_is_array(list))
        return -1;
    n = n < MOST_SITES ? n : MOST_SITES;
    for (size_t i = 0; i < n; i++) {
        if (sites_read(json_array_get(list, i), &line[i]) < 0)
            return -1;
        double seconds = line[i].native_s + line[i].rerouted_s;
        if (!(line[i].native_s >= 0 && line[i].rerouted_s >= 0 && seconds < 1e15))
            return -1;
        j->collectives += seconds;
        j->waiting += line[i].waiting_s;
    }
    return (int)n;
}

/* Can the job have taken so long, if its report was written then? */
static int is_possible(const struct job *j, long long written)
{
    double elapsed = (double)written - (double)j->began + CLOCKS_S;
    double most = OVERLAP * (double)j->ranks * elapsed;

    return j->began >= 0 && elapsed >= 0 && j->seconds <= elapsed && j->collectives <= most &&
           fabs(j->saved) <= most && j->error <= most;
}

int sum_add(struct sum *s, json_t *report, long long written)
{
    static struct site_line line[MOST_SITES];
    json_t *job = json_object_get(report, "job"), *saved = json_object_get(report, "saved");
    struct job j = {.ranks = json_integer_value(json_object_get(report, "ranks")),
                    .nodes = json_integer_value(json_object_get(job, "nodes")),
                    .began = sum_began(report),
                    .seconds = positive(job, "seconds"),
                    .saved = number(saved, "rank_seconds"),
                    .error = positive(saved, "plus_minus")};
    if (json_is_true(json_object_get(report, "beside_mpi")))
        j.seconds = 0; /* another report of the same processes has them */
    int n = read_sites(json_object_get(report, "sites"), line, &j);

    if (!json_is_string(json_object_get(report, "collshim")) || j.ranks < 1 || j.nodes < 1 ||
        j.nodes > j.ranks || n < 0)
        return -1;
    if (number(saved, "collectives_rank_seconds") >
        j.collectives) /* rows that are not listed too */
        j.collectives = number(saved, "collectives_rank_seconds");
    if (!is_possible(&j, written))
        return -1;
    j.per_rank_second = (double)j.nodes / (double)j.ranks / 3600;
    s->reports++;
    s->partial += json_is_true(json_object_get(report, "partial"));
    if (s->reports == 1 || j.began < s->first)
        s->first = j.began;
    s->last = j.began > s->last ? j.began : s->last;
    add_job(&s->all, &j);
    add_program(s, job, &j);
    add_settings(s, json_object_get(report, "changed"), &j);
    change_add(&s->changes, report, j.collectives);
    for (int i = 0; i < n; i++)
        add_reason(s, &line[i], &j);
    return 0;
}

static int by_saved(const void *a, const void *b)
{
    double x = fabs(((const struct sum_row *)a)->saved),
           y = fabs(((const struct sum_row *)b)->saved);

    return (x < y) - (x > y);
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct sum_row *)a)->collectives;
    double y = ((const struct sum_row *)b)->collectives;

    return (x < y) - (x > y);
}

static void sort(struct sum_table *t, int (*order)(const void *, const void *))
{
    qsort(t->row + 1, (size_t)t->rows - 1, sizeof *t->row, order);
}

void sum_sort(struct sum *s)
{
    sort(&s->programs, by_saved);
    sort(&s->settings, by_saved);
    sort(&s->reasons, by_time);
    change_find(&s->changes);
}
