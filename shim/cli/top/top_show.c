/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/top/top_show.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/base/json.h"
#include "config/base/text.h"
#include "shim/cli/cli.h"
#include "shim/cli/top/top_rails.h"

static const char *const skip_texts[TOP_SKIPS] = {
    [TOP_FOREIGN] = "of another build of collshim",
    [TOP_GARBAGE] = "no counters under their name",
    [TOP_MANY] = "beyond 2,048 of a user",
};

/* The counters of one backend in the processes list[from] to list[to - 1], which are of one job. */
struct group {
    int from, to;
    double interval;                  /* seconds between the readings, the mean */
    struct live_counts total, change; /* sums */
};

/* One line. */
struct top_line {
    const char *collective, *algorithm, *reason;   /* NULL: none */
    uint64_t calls, rerouted, bytes;               /* since the job began, sums over processes */
    double rerouted_rate, native_rate, bytes_rate; /* per second, the mean of the processes */
};

/* Counters only grow; others are no collshim's, and did not change. */
static void add(struct group *g, const struct top_counters *now, const struct top_counters *before)
{
    static const struct live_counts none;
    const uint64_t *is = (const uint64_t *)&now->counts;
    const uint64_t *was = (const uint64_t *)(before ? &before->counts : &none);
    uint64_t *total = (uint64_t *)&g->total, *change = (uint64_t *)&g->change;

    for (size_t i = 0; i < sizeof none / sizeof *is; i++) {
        total[i] += is[i];
        change[i] += is[i] > was[i] ? is[i] - was[i] : 0;
    }
}

/* The group that begins at list[from]. */
static void sum_up(struct group *g, const struct top_reading *now, const struct top_reading *before,
                   int from)
{
    const struct top_counters *first = &now->list[from];
    int known = 0;

    memset(g, 0, sizeof *g);
    g->from = from;
    for (g->to = from; g->to < now->n; g->to++) {
        const struct top_counters *c = &now->list[g->to], *b = top_same(before, c);

        if (strcmp(c->job, first->job) != 0 || c->nccl != first->nccl)
            break;
        add(g, c, b);
        g->interval += b ? c->when - b->when : 0;
        known += b != NULL;
    }
    g->interval = known ? g->interval / known : 0;
}

static uint64_t sum(const uint64_t *of, int n)
{
    uint64_t all = 0;

    for (int i = 0; i < n; i++)
        all += of[i];
    return all;
}

/* The index of the largest, by what changed or, where nothing did, in total; -1: all are 0. */
static int most(const uint64_t *change, const uint64_t *total, int n)
{
    const uint64_t *of = sum(change, n) ? change : total;
    int best = 0;

    for (int i = 1; i < n; i++)
        best = of[i] > of[best] ? i : best;
    return of[best] ? best : -1;
}

/* Returns 0: the collective was never called. */
static int find_line(const struct group *g, int c, struct top_line *l)
{
    const struct live_counts *t = &g->total, *d = &g->change;
    double per = g->interval > 0 ? 1 / g->interval / (g->to - g->from) : 0;
    int row = most(d->rows[c], t->rows[c], LIVE_ROWS);
    int reason = most(d->native[c], t->native[c], REASON_COUNT);

    l->collective = plan_collective_name((enum plan_collective)c);
    l->rerouted = sum(t->rows[c], LIVE_ROWS);
    l->calls = l->rerouted + sum(t->native[c], REASON_COUNT);
    l->bytes = t->bytes[c];
    l->rerouted_rate = (double)sum(d->rows[c], LIVE_ROWS) * per;
    l->native_rate = (double)sum(d->native[c], REASON_COUNT) * per;
    l->bytes_rate = (double)d->bytes[c] * per;
    l->algorithm = row < 0 ? NULL : live_row_name(c, row);
    l->reason = reason < 0 ? NULL : reason_texts[reason];
    return l->calls > 0;
}

static const char *user_name(unsigned uid)
{
    static char number[16];
    struct passwd *p = getpwuid(uid);

    snprintf(number, sizeof number, "%u", uid);
    return p ? text_clean(p->pw_name) : number;
}

static const char *library_of(const struct group *g, const struct top_reading *r)
{
    return r->list[g->from].nccl ? "NCCL" : "MPI";
}

static void print_group(const struct group *g, const struct top_reading *r,
                        const struct top_reading *before)
{
    struct top_rails rails = top_rails_of(r, before, g->from, g->to, g->interval);
    const struct top_counters *first = &r->list[g->from];
    const char *name = strrchr(first->program, '/');
    int n = g->to - g->from, printed = 0;
    struct top_line l;

    printf("\nJob %s%s%s%s, %s of %s, %s: %d process%s here", first->job,
           first->scheduler ? " (" : "", first->scheduler ? first->scheduler : "",
           first->scheduler ? ")" : "", name ? name + 1 : first->program, user_name(first->uid),
           library_of(g, r), n, n == 1 ? "" : "es");
    if (first->size)
        printf(" of %d rank%s", first->size, cli_s(first->size));
    printf(", pid %d%s\n", (int)first->pid, n > 1 ? " and on" : "");
    for (int c = 0; c < COLL_COUNT; c++) {
        if (!find_line(g, c, &l))
            continue;
        if (!printed++)
            printf("%-20s %12s %10s %10s %12s  %s\n", "  collective", "rerouted/s", "native/s",
                   "MB/s", "calls", "algorithm; why natively");
        printf("  %-18s %12.1f %10.1f %10.1f %12llu  %s%s%s\n", l.collective, l.rerouted_rate,
               l.native_rate, l.bytes_rate / 1e6, (unsigned long long)l.calls,
               l.algorithm ? l.algorithm : "-", l.reason ? "; " : "", l.reason ? l.reason : "");
    }
    if (!printed)
        puts("  no collectives so far");
    top_rails_print(&rails);
    top_rails_free(&rails);
}

static void print_skips(const struct top_reading *r)
{
    for (int i = 0; i < TOP_SKIPS; i++)
        if (r->skipped[i].n)
            printf("Not shown, %s%s%s: %d process%s, %d first\n", skip_texts[i],
                   r->skipped[i].version[0] ? ", " : "", r->skipped[i].version, r->skipped[i].n,
                   r->skipped[i].n == 1 ? "" : "es", (int)r->skipped[i].pid);
    if (r->closed)
        printf("Not readable: %d process%s of other users; root sees them\n", r->closed,
               r->closed == 1 ? "" : "es");
}

void top_show_text(const struct top_reading *now, const struct top_reading *before)
{
    static struct group g;
    char clock[32], host[65] = "";
    time_t t = time(NULL);
    struct tm tm;

    gethostname(host, sizeof host - 1);
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&t, &tm));
    printf("collshim top, %s on %s\n", clock, host);
    for (int i = 0; i < now->n; i = g.to) {
        sum_up(&g, now, before, i);
        print_group(&g, now, before);
    }
    if (now->closed || now->skipped[TOP_FOREIGN].n || now->skipped[TOP_GARBAGE].n ||
        now->skipped[TOP_MANY].n)
        putchar('\n');
    print_skips(now);
}

static void put_line(struct json *j, const struct top_line *l)
{
    json_open(j, NULL, '{');
    json_string(j, "collective", l->collective);
    json_int(j, "calls", (long long)l->calls);
    json_int(j, "rerouted", (long long)l->rerouted);
    json_int(j, "rerouted_bytes", (long long)l->bytes);
    json_rounded(j, "rerouted_per_s", 6, l->rerouted_rate);
    json_rounded(j, "native_per_s", 6, l->native_rate);
    json_rounded(j, "rerouted_bytes_per_s", 6, l->bytes_rate);
    json_string(j, "algorithm", l->algorithm);
    json_string(j, "reason", l->reason);
    json_close(j, '}');
}

static void put_group(struct json *j, const struct group *g, const struct top_reading *r,
                      const struct top_reading *before)
{
    struct top_rails rails = top_rails_of(r, before, g->from, g->to, g->interval);
    const struct top_counters *first = &r->list[g->from];
    struct top_line l;

    json_open(j, NULL, '{');
    json_string(j, "job", first->job);
    json_string(j, "scheduler", first->scheduler);
    json_string(j, "library", library_of(g, r));
    json_string(j, "program", first->program);
    json_string(j, "user", user_name(first->uid));
    json_known(j, "size", first->size);
    json_rounded(j, "interval_s", 6, g->interval);
    json_open(j, "processes", '[');
    for (int i = g->from; i < g->to; i++) {
        json_open(j, NULL, '{');
        json_int(j, "pid", r->list[i].pid);
        json_index(j, "rank", r->list[i].rank);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "collectives", '[');
    for (int c = 0; c < COLL_COUNT; c++)
        if (find_line(g, c, &l))
            put_line(j, &l);
    json_close(j, ']');
    top_rails_put(j, &rails);
    top_rails_free(&rails);
    json_close(j, '}');
}

void top_show_json(const struct top_reading *now, const struct top_reading *before, int line)
{
    static struct group g;
    struct json j = json_begin(stdout);

    j.line = line;
    json_open(&j, NULL, '{');
    json_open(&j, "jobs", '[');
    for (int i = 0; i < now->n; i = g.to) {
        sum_up(&g, now, before, i);
        put_group(&j, &g, now, before);
    }
    json_close(&j, ']');
    json_open(&j, "skipped", '{');
    for (int i = 0; i < TOP_SKIPS; i++)
        json_int(&j, skip_texts[i], now->skipped[i].n);
    json_close(&j, '}');
    json_int(&j, "not_readable", now->closed);
    json_close(&j, '}');
}
