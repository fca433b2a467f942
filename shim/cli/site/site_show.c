/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/site/site_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config/base/json.h"
#include "config/base/text.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/advice.h"

enum { SHOWN = 20, IN_PROMETHEUS = 100 };

const char *const site_skip_texts[SKIPS] = {
    [SKIP_CUT_OFF] = "cut off",
    [SKIP_FOREIGN] = "no report",
    [SKIP_TOO_LARGE] = "larger than 4 MiB",
    [SKIP_TOO_MANY] = "beyond what a user may keep",
    [SKIP_AUTHOR] = "not of the user it names",
    [SKIP_UNREADABLE] = "not readable",
};

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_day(long long when)
{
    time_t t = (time_t)when;
    struct tm tm;
    char text[32];

    if (when >= 0 && gmtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm))
        fputs(text, stdout);
    else
        putchar('?');
}

static void print_skips(const struct site_skips *skips)
{
    for (int i = 0; i < SKIPS; i++) {
        if (!skips->files[i])
            continue;
        printf("%lld file%s %s:", skips->files[i], cli_s(skips->files[i]), site_skip_texts[i]);
        for (int k = 0; k < 3 && skips->name[i][k][0]; k++)
            printf(" %s", skips->name[i][k]);
        puts(skips->files[i] > 3 ? " ..." : "");
    }
}

static void print_rows(const struct sum_table *t, const char *title)
{
    const struct cli_column columns[] = {
        {title, -20, -32},       {"jobs", 5, 7},    {"node hours", 10, 12},
        {"collectives", 11, 12}, {"saved", 18, 20}, {"saved %", 0, 8},
        {"gained", 6, 7},        {"lost", 4, 5},    {NULL, 0, 0},
    };

    putchar('\n');
    cli_print_titles(columns);
    for (int i = 1; i <= t->rows && i <= SHOWN; i++) {
        const struct sum_row *r = &t->row[i < t->rows ? i : 0];
        struct cli_cells c = {0};
        char name[81];

        if (!r->jobs)
            continue;
        text_show(name, cli_is_wide ? sizeof name : 21, r->name, strlen(r->name));
        cli_cell(&c, "%s", name);
        cli_cell(&c, "%lld", r->jobs);
        cli_cell(&c, "%.4g", r->hours);
        cli_cell(&c, "%.4g", r->collectives);
        cli_cell(&c, "%.4g +- %.1g", r->saved, sqrt(r->error));
        cli_cell(&c, "%.2f%%", share(r->saved, r->hours));
        cli_cell(&c, "%lld", r->gained);
        cli_cell(&c, "%lld", r->lost);
        cli_print_row(columns, &c);
    }
    if (t->rows > SHOWN)
        printf("%d more; --json has them\n", t->rows - SHOWN);
}

/* NULL: for most of its time there is none. */
static const char *reason_advice(const struct sum_row *r)
{
    return r->advised > r->collectives / 2 ? advice_for(r->name) : NULL;
}

static void print_reasons(const struct sum *s)
{
    printf("\n%-12s %8s  %s\n", "Native hours", "share", "reason");
    for (int i = 1; i < s->reasons.rows && i <= SHOWN; i++) {
        const struct sum_row *r = &s->reasons.row[i];
        const char *clause = reason_advice(r);

        printf("%12.4g %7.1f%%  %s%s%s\n", r->collectives,
               share(r->collectives, s->all.collectives), r->name, clause ? "; " : "",
               clause ? clause : "");
    }
}

static void print_changes(const struct changes *c)
{
    if (c->losses)
        puts("\nSlower since a change");
    for (int i = 0; i < c->losses && i < SHOWN; i++) {
        const struct change_loss *l = &c->loss[i];

        printf("  %s: %s takes %.1f %% longer in %d job%s since ", l->name, l->what, 100 * l->share,
               l->after, cli_s(l->after));
        print_day(l->since);
        printf(" than in %d before\n    %s -> %s\n", l->before, l->from, l->to);
    }
    if (c->losses > SHOWN)
        printf("%d more; --json has them\n", c->losses - SHOWN);
}

/* The program that waits most, if that is much of its time in collectives; NULL: none. */
static const struct sum_row *waiter(const struct sum *s)
{
    const struct sum_row *most = NULL;

    for (int i = 1; i < s->programs.rows; i++) {
        const struct sum_row *r = &s->programs.row[i];

        if (r->waiting > r->collectives / 4 && (!most || r->waiting > most->waiting))
            most = r;
    }
    return most;
}

/* The program that loses most, beyond doubt; NULL: none. */
static const struct sum_row *loser(const struct sum *s)
{
    for (int i = 1; i < s->programs.rows; i++)
        if (s->programs.row[i].saved < -2 * sqrt(s->programs.row[i].error))
            return &s->programs.row[i];
    return NULL;
}

void site_show_advice(const struct sum *s)
{
    const struct sum_row *lost = loser(s), *late = waiter(s);

    if (!s->reports) {
        puts("\nNext: set COLLSHIM_REPORT to this directory in the module, and let jobs run.");
        return;
    }
    if (lost) {
        printf("\nNext: look at %s with `collshim report`: its jobs lost %.3g node hours.\n",
               lost->name, -lost->saved);
        return;
    }
    if (late && late->waiting > s->all.collectives / 4) {
        printf("\nNext: look at %s with `collshim report`: %.0f %% of its time in collectives is "
               "waiting for late ranks.\n",
               late->name, share(late->waiting, late->collectives));
        return;
    }
    for (int i = 1; i < s->reasons.rows; i++) {
        const struct sum_row *r = &s->reasons.row[i];
        const char *clause = reason_advice(r);

        if (clause && r->collectives > s->all.collectives / 10) {
            printf("\nNext: %.0f %% of the time in collectives is native (%s); %s.\n",
                   share(r->collectives, s->all.collectives), r->name, clause);
            return;
        }
    }
    puts("\nNext: nothing; no reason that a setting would change takes a tenth of the time.");
}

void site_show_text(const struct sum *s, const struct site_skips *skips)
{
    printf("%lld report%s, %lld of them partial", s->reports, cli_s(s->reports), s->partial);
    if (s->reports) {
        fputs(", jobs begun from ", stdout);
        print_day(s->first);
        fputs(" to ", stdout);
        print_day(s->last);
        fputs(" UTC", stdout);
    }
    putchar('\n');
    print_skips(skips);
    printf("Node hours %.4g; in collectives %.4g; saved %.4g +- %.1g, %.2f %%\n", s->all.hours,
           s->all.collectives, s->all.saved, sqrt(s->all.error), share(s->all.saved, s->all.hours));
    if (s->all.waiting > 0)
        printf("Waiting for late ranks, which no schedule can save: %.4g node hours, %.0f %% of "
               "those in collectives\n",
               s->all.waiting, share(s->all.waiting, s->all.collectives));
    if (s->reports) {
        print_rows(&s->programs, "Program");
        print_reasons(s);
        print_rows(&s->settings, "Setting");
        print_changes(&s->changes);
    }
    site_show_advice(s);
}

static void put_row(struct json *j, const struct sum_row *r, const char *name)
{
    json_open(j, NULL, '{');
    json_string(j, name, r->name);
    json_int(j, "jobs", r->jobs);
    json_int(j, "gained", r->gained);
    json_int(j, "lost", r->lost);
    json_rounded(j, "node_hours", 6, r->hours);
    json_rounded(j, "collectives_node_hours", 6, r->collectives);
    json_rounded(j, "waiting_node_hours", 6, r->waiting);
    json_rounded(j, "saved_node_hours", 6, r->saved);
    json_rounded(j, "plus_minus", 3, sqrt(r->error));
    json_close(j, '}');
}

static void put_rows(struct json *j, const struct sum_table *t, const char *list, const char *name)
{
    json_open(j, list, '[');
    for (int i = 1; i < t->rows; i++)
        put_row(j, &t->row[i], name);
    if (t->row[0].jobs)
        put_row(j, &t->row[0], name);
    json_close(j, ']');
}

static void put_changes(struct json *j, const struct changes *c)
{
    json_open(j, "slower", '[');
    for (int i = 0; i < c->losses; i++) {
        const struct change_loss *l = &c->loss[i];

        json_open(j, NULL, '{');
        json_string(j, "program", l->name);
        json_string(j, "from", l->from);
        json_string(j, "to", l->to);
        json_int(j, "since", l->since);
        json_string(j, "what", l->what);
        json_rounded(j, "slower", 4, l->share);
        json_int(j, "jobs_before", l->before);
        json_int(j, "jobs_since", l->after);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void site_show_json(const struct sum *s, const struct site_skips *skips)
{
    struct json j = json_begin(stdout);

    json_open(&j, NULL, '{');
    json_int(&j, "reports", s->reports);
    json_int(&j, "partial", s->partial);
    json_int(&j, "first", s->first);
    json_int(&j, "last", s->last);
    json_open(&j, "skipped", '{');
    for (int i = 0; i < SKIPS; i++)
        json_int(&j, site_skip_texts[i], skips->files[i]);
    json_close(&j, '}');
    json_rounded(&j, "node_hours", 6, s->all.hours);
    json_rounded(&j, "collectives_node_hours", 6, s->all.collectives);
    json_rounded(&j, "waiting_node_hours", 6, s->all.waiting);
    json_rounded(&j, "saved_node_hours", 6, s->all.saved);
    json_rounded(&j, "plus_minus", 3, sqrt(s->all.error));
    put_rows(&j, &s->programs, "programs", "program");
    json_open(&j, "reasons", '[');
    for (int i = 1; i < s->reasons.rows; i++) {
        const struct sum_row *r = &s->reasons.row[i];

        json_open(&j, NULL, '{');
        json_string(&j, "reason", r->name);
        json_int(&j, "sites", r->jobs);
        json_rounded(&j, "native_node_hours", 6, r->collectives);
        json_string(&j, "advice", reason_advice(r));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    put_rows(&j, &s->settings, "settings", "setting");
    put_changes(&j, &s->changes);
    json_close(&j, '}');
}

/* A label's value: backslash, quote and newline are escaped; names have no other control
 * characters. */
static void print_label(const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            putchar('\\');
        putchar(*text);
    }
}

static void print_metric(const char *name, const char *help)
{
    printf("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void print_labelled(const struct sum_table *t, const char *name, const char *label,
                           double (*value)(const struct sum_row *))
{
    for (int i = 1; i < t->rows && i <= IN_PROMETHEUS; i++) {
        printf("%s{%s=\"", name, label);
        print_label(t->row[i].name);
        printf("\"} %.9g\n", value(&t->row[i]));
    }
}

static double saved_of(const struct sum_row *r)
{
    return r->saved;
}

static double time_of(const struct sum_row *r)
{
    return r->collectives;
}

static double jobs_of(const struct sum_row *r)
{
    return (double)r->jobs;
}

void site_show_prometheus(const struct sum *s, const struct site_skips *skips)
{
    print_metric("collshim_reports", "Reports that were added up.");
    printf("collshim_reports %lld\n", s->reports);
    print_metric("collshim_reports_skipped", "Files that were not.");
    for (int i = 0; i < SKIPS; i++)
        printf("collshim_reports_skipped{why=\"%s\"} %lld\n", site_skip_texts[i], skips->files[i]);
    print_metric("collshim_slower_programs",
                 "Programs that are slower since a change of library, collshim or nodes.");
    printf("collshim_slower_programs %d\n", s->changes.losses);
    print_metric("collshim_node_hours", "Node hours of the jobs.");
    printf("collshim_node_hours %.9g\n", s->all.hours);
    print_metric("collshim_collectives_node_hours", "Node hours in collectives.");
    printf("collshim_collectives_node_hours %.9g\n", s->all.collectives);
    print_metric(
        "collshim_waiting_node_hours",
        "Node hours in collectives spent waiting for late ranks, which no schedule can save.");
    printf("collshim_waiting_node_hours %.9g\n", s->all.waiting);
    print_metric("collshim_saved_node_hours", "Node hours saved.");
    printf("collshim_saved_node_hours %.9g\n", s->all.saved);
    print_metric("collshim_saved_node_hours_error", "Two standard errors of what was saved.");
    printf("collshim_saved_node_hours_error %.9g\n", sqrt(s->all.error));
    print_metric("collshim_program_saved_node_hours",
                 "Node hours saved, of the first 100 programs.");
    print_labelled(&s->programs, "collshim_program_saved_node_hours", "program", saved_of);
    print_metric("collshim_program_jobs", "Jobs of these programs.");
    print_labelled(&s->programs, "collshim_program_jobs", "program", jobs_of);
    print_metric("collshim_native_node_hours",
                 "Node hours in collectives that ran natively, and why.");
    print_labelled(&s->reasons, "collshim_native_node_hours", "reason", time_of);
}
