/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/site/site_change.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "config/base/text.h"
#include "shim/cli/cli.h"
#include "shim/cli/gate/gate_stat.h"

enum { ROWS = 2 };
static const double matters = .05;

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static double calls_of(json_t *report)
{
    double calls = 0;
    json_t *site;
    size_t i;

    json_array_foreach(json_object_get(report, "sites"), i, site)
    {
        calls += json_number_value(json_object_get(site, "calls"));
    }
    return calls;
}

static void describe(struct change_job *j, json_t *report)
{
    json_t *job = json_object_get(report, "job"), *host, *value;
    const char *program = text_at(job, "program"), *script = text_at(job, "script"), *key;
    long long ranks = (long long)json_integer_value(json_object_get(report, "ranks"));
    long long nodes = (long long)json_integer_value(json_object_get(job, "nodes"));
    char *end = j->nodes;
    size_t i;

    snprintf(j->name, CHANGE_TEXT, "%.50s%s%.50s on %lld rank%s of %lld node%s", basename(program),
             *script ? " " : "", basename(script), ranks, cli_s(ranks), nodes, cli_s(nodes));
    snprintf(j->software, CHANGE_TEXT, "collshim %.20s, %.60s", text_at(report, "collshim"),
             text_at(report, "library"));
    json_array_foreach(json_object_get(job, "hosts"), i, host)
    {
        const char *name = json_string_value(host);

        end += snprintf(end, CHANGE_TEXT - (size_t)(end - j->nodes), "%s%.40s", i ? "," : "",
                        name ? name : "");
        if (end > j->nodes + CHANGE_TEXT - 48)
            break;
    }
    j->settings = HASH_SEED;
    json_object_foreach(json_object_get(report, "changed"), key, value)
    {
        if (strcmp(key, "report") != 0 && json_is_string(value))
            j->settings = hash_text(hash_text(j->settings, key), json_string_value(value));
    }
    text_clean(j->name);
    text_clean(j->software);
    text_clean(j->nodes);
}

void change_add(struct changes *c, json_t *report, double collectives_s)
{
    json_t *job = json_object_get(report, "job");
    double seconds = json_number_value(json_object_get(job, "seconds"));
    double call = collectives_s / calls_of(report);

    if (!(seconds > 0) || !(call > 0) || !isfinite(call) || c->jobs == CHANGE_JOBS ||
        json_is_true(json_object_get(report, "partial")) || json_object_get(report, "nccl"))
        return;
    if (c->jobs == c->room) {
        int room = c->room ? 2 * c->room : 64;
        void *more = realloc(c->job, (size_t)room * sizeof *c->job);

        if (!more)
            return;
        c->job = more;
        c->room = room;
    }
    struct change_job *j = &c->job[c->jobs++];
    *j = (struct change_job){.began = (long long)json_integer_value(json_object_get(job, "began")),
                             .value = {log(seconds), log(call)}};
    describe(j, report);
}

/* Jobs of one program, shape and settings follow each other, the oldest first. */
static int by_program(const void *a, const void *b)
{
    const struct change_job *x = a, *y = b;
    int rc = strcmp(x->name, y->name);

    rc = rc ? rc : (x->settings > y->settings) - (x->settings < y->settings);
    return rc ? rc : (x->began > y->began) - (x->began < y->began);
}

static const char *key_of(const struct change_job *j, int nodes)
{
    return nodes ? j->nodes : j->software;
}

/* The first of the n jobs that is as the last one; 0: all that came before are. */
static int change_at(const struct change_job *job, int n, int nodes)
{
    int at = 0;

    while (strcmp(key_of(&job[at], nodes), key_of(&job[n - 1], nodes)) != 0)
        at++;
    return at;
}

/* Those in front of job[at] and those from there on that are as the last one, the newest of each.
 */
static int compare(const struct change_job *job, int n, int at, int nodes, struct change_loss *l)
{
    const struct change_job *side[2][GATE_RUNS];
    double value[ROWS * 2 * GATE_RUNS];
    struct gate_change found[ROWS];
    int runs[2] = {0}, worst;

    for (int i = n - 1; i >= 0; i--) {
        int new = i >= at;

        if (runs[new] < GATE_RUNS &&
            (!new || !strcmp(key_of(&job[i], nodes), key_of(&job[n - 1], nodes))))
            side[new][runs[new]++] = &job[i];
    }
    for (int r = 0, k = 0; r < ROWS; r++)
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < runs[s]; i++)
                value[k++] = side[s][i]->value[r];
    if (gate_compare(value, ROWS, runs[0], runs[1], log1p(matters), found) < 0)
        return 0;
    worst = found[1].verdict == GATE_SLOWER;
    *l = (struct change_loss){.name = job[at].name,
                              .from = key_of(&job[at - 1], nodes),
                              .to = key_of(&job[n - 1], nodes),
                              .since = job[at].began,
                              .before = runs[0],
                              .after = runs[1],
                              .share = expm1(found[worst].change),
                              .what = worst ? "a call" : "the job"};
    return found[worst].verdict == GATE_SLOWER;
}

void change_find(struct changes *c)
{
    if (c->jobs)
        qsort(c->job, (size_t)c->jobs, sizeof *c->job, by_program);
    c->loss = calloc((size_t)c->jobs + 1, sizeof *c->loss);
    for (int i = 0, n; i < c->jobs && c->loss; i += n) {
        const struct change_job *job = &c->job[i];

        for (n = 1;
             i + n < c->jobs && !strcmp(job->name, job[n].name) && job->settings == job[n].settings;
             n++)
            ;
        int at = change_at(job, n, 0), nodes = !at;
        at = at ? at : change_at(job, n, 1);
        c->losses += at && compare(job, n, at, nodes, &c->loss[c->losses]);
    }
}

void change_close(struct changes *c)
{
    free(c->job);
    free(c->loss);
    *c = (struct changes){0};
}
