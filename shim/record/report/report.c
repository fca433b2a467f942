/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/report/report.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/write_file.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/count_series.h"
#include "shim/record/report/call_site_report.h"
#include "shim/record/report/job.h"
#include "shim/record/report/spool.h"

/* Calls that were rerouted by a row, in one size class or in all (k < 0). */
static uint64_t by_row(int c, int k, int row)
{
    return k < 0 ? counters.live.rows[c][row] : counters.by_row[c][k][row];
}

/* The row that serves the collective: the row of most calls or, without calls, the row that would
   serve it. */
static const char *main_algorithm(int c, int timed)
{
    const struct choice *choice = &settings.choice[c];
    int best = 0;

    for (int row = 1; row < COUNT_NAMES; row++)
        best = by_row(c, -1, row) > by_row(c, -1, best) ? row : best;
    if (by_row(c, -1, best))
        return live_row_name(c, best);
    if (!timed || choice->native || !choice->served)
        return "native";
    return (choice->forced ? choice->forced : plan_algorithm_default((enum plan_collective)c))
        ->name;
}

static void put_rows(struct json *j, int c, int k)
{
    json_open(j, "algorithms", '{');
    for (int row = 0; row < COUNT_NAMES; row++)
        if (by_row(c, k, row))
            json_int(j, live_row_name(c, row), (long long)by_row(c, k, row));
    json_close(j, '}');
}

/* Mean microseconds, to a tenth. */
static double mean_us(uint64_t nanoseconds, uint64_t calls)
{
    uint64_t tenths = calls ? (nanoseconds + calls * 50) / (calls * 100) : 0;

    return (double)tenths / 10;
}

static void put_way(struct json *j, int c, int k, enum count_way way, const char *name,
                    const char *us)
{
    uint64_t n = counters.calls[c][k][way];

    json_int(j, name, (long long)n);
    json_number(j, us, mean_us(counters.nanoseconds[c][k][way], n));
}

/* The guard's findings, as the mean of its verdicts; 0: it has none. */
static void put_weighed(struct json *j, int c, int k)
{
    const uint64_t *n = counters.verdicts[c][k];
    double all = (double)(n[COUNT_NATIVE] + n[COUNT_REROUTED]) * COUNT_PARTS;
    double spread = all > 0 ? (double)counters.spreads[c][k] / all : 0;
    double ratio = all > 0 ? (double)(int64_t)counters.ratios[c][k] / all : 0;

    json_number(j, "guard_gain", spread > 0 ? evidence_exp(-ratio) : 0);
    json_number(j, "guard_spread", spread);
}

/* One call that the machine held up moves a mean, and no median. */
static void put_medians(struct json *j, int c, int k)
{
    struct site_times t = site_times(c, k);

    json_rounded(j, "rerouted_us_median", 4, t.us[SITE_REROUTED]);
    json_rounded(j, "native_us_median", 4, t.us[SITE_NATIVE]);
    json_rounded(j, "median_spread", 3, t.spread);
}

/* Rank 0's calls one after the other: [number of the first, how many, us, algorithm or null]. The
   verdicts: [number of the call before, was it for a reroute?]. */
static void put_series(struct json *j, int c, int k)
{
    int line = j->line;

    count_series_lock();
    const struct count_series *s = count_series_of((enum plan_collective)c, k);
    json_open(j, "series", '[');
    j->line = 1; /* lists of numbers are not for reading */
    for (int i = 0; s && i < s->n; i++) {
        const struct count_block *b = &s->block[i];

        json_open(j, NULL, '[');
        json_int(j, NULL, (long long)b->from);
        json_int(j, NULL, (long long)b->calls);
        json_rounded(j, NULL, 4, b->us);
        json_string(j, NULL, b->row == COUNT_LIBRARY ? NULL : live_row_name(c, b->row));
        json_close(j, ']');
    }
    json_close(j, ']');
    json_open(j, "verdicts", '[');
    for (int i = 0; s && i < s->verdicts; i++) {
        json_open(j, NULL, '[');
        json_int(j, NULL, (long long)s->verdict[i].call);
        json_bool(j, NULL, s->verdict[i].rerouted);
        json_close(j, ']');
    }
    json_close(j, ']');
    j->line = line;
    count_series_unlock();
}

static void put_sizes(struct json *j, int c, int timed)
{
    json_open(j, "sizes", '[');
    for (int k = 0; timed && k < COUNT_CLASSES; k++) {
        if (!counters.calls[c][k][COUNT_NATIVE] && !counters.calls[c][k][COUNT_REROUTED])
            continue;
        json_open(j, NULL, '{');
        json_int(j, "total_bytes_from", 1ll << k);
        put_way(j, c, k, COUNT_REROUTED, "rerouted", "rerouted_us");
        put_way(j, c, k, COUNT_NATIVE, "native", "native_us");
        json_int(j, "guard_rerouted", (long long)counters.verdicts[c][k][COUNT_REROUTED]);
        json_int(j, "guard_native", (long long)counters.verdicts[c][k][COUNT_NATIVE]);
        put_weighed(j, c, k);
        put_medians(j, c, k);
        put_rows(j, c, k);
        if (!spool_is_printing)
            put_series(j, c, k);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_exchange(struct json *j)
{
    static const char *const keys[] = {
#define EXCHANGE(id, key) key,
        COUNT_EXCHANGES(EXCHANGE)
#undef EXCHANGE
    };

    json_open(j, "balancing", '{');
    for (int i = 0; i < COUNT_EXCHANGES_COUNT; i++)
        json_int(j, keys[i], (long long)counters.exchange[i]);
    json_close(j, '}');
}

static void put_native(struct json *j, int c)
{
    json_open(j, "native", '{');
    for (int r = 0; r < REASON_COUNT; r++)
        if (counters.live.native[c][r])
            json_int(j, reason_texts[r], (long long)counters.live.native[c][r]);
    json_close(j, '}');
}

static void put_processes(struct json *j, int c)
{
    char text[16];

    json_open(j, "processes", '{');
    for (int k = 1; k <= COUNT_PROCESSES; k++)
        if (counters.by_processes[c][k]) {
            snprintf(text, sizeof text, "%d", k);
            json_int(j, text, (long long)counters.by_processes[c][k]);
        }
    json_close(j, '}');
}

static void put_collective(struct json *j, int c, int timed)
{
    uint64_t calls = 0, rerouted = 0;

    for (int r = 0; r < REASON_COUNT; r++)
        calls += counters.live.native[c][r];
    for (int k = 0; k < COUNT_CLASSES; k++)
        rerouted += counters.calls[c][k][COUNT_REROUTED];
    rerouted += counters.started[c];
    if ((!timed || spool_is_printing) && !calls && !rerouted)
        return;
    json_open(j, NULL, '{');
    json_string(j, "collective", plan_collective_name((enum plan_collective)c));
    json_int(j, "calls", (long long)(calls + rerouted));
    json_int(j, "rerouted", (long long)rerouted);
    json_int(j, "rerouted_nonblocking", (long long)counters.started[c]);
    json_int(j, "rerouted_bytes", (long long)counters.live.bytes[c]);
    json_string(j, "algorithm", main_algorithm(c, timed));
    json_int(j, "verified_equal", (long long)counters.verified[c][1]);
    json_int(j, "verified_different", (long long)counters.verified[c][0]);
    json_int(j, "sliced", (long long)counters.sliced[c][0]);
    json_int(j, "sliced_on_device", (long long)counters.sliced[c][1]);
    json_int(j, "sliced_redone", (long long)counters.sliced[c][2]);
    json_int(j, "sliced_meanwhile", (long long)counters.sliced[c][3]);
    put_native(j, c);
    put_rows(j, c, -1);
    put_processes(j, c);
    if (timed && c == COLL_ALLTOALLV)
        put_exchange(j);
    put_sizes(j, c, timed);
    json_close(j, '}');
}

void report_collectives(struct json *j, int timed)
{
    json_open(j, "collectives", '[');
    for (int c = 0; c < COLL_COUNT; c++)
        put_collective(j, c, timed);
    json_close(j, ']');
}

struct json report_begin(FILE *f, const char *library, int ranks, const char *counts_are)
{
    struct json j = json_begin(f);

    j.line = spool_is_printing;
    json_open(&j, NULL, '{');
    json_string(&j, "collshim", COLLSHIM_VERSION);
    json_string(&j, "library", library);
    json_int(&j, "ranks", ranks);
    json_string(&j, "counts_are", counts_are);
    job_report(&j);
    return j;
}

void report_settings(struct json *j)
{
    char value[CFG_TEXT_MAX];

    json_open(j, "settings", '{');
    for (int id = 0; id < CFG_COUNT && !spool_is_printing; id++) { /* "changed" is enough there */
        cfg_value_text(&settings.cfg, (enum cfg_id)id, value, sizeof value);
        json_string(j, cfg_rows[id].name, value);
    }
    json_close(j, '}');
}

/* The path in COLLSHIM_REPORT: %p is this process's number. Returns path->at. */
static const char *report_path(const char *behind, struct settings_path *path)
{
    const char *from = settings.cfg.report, *mark = strstr(from, "%p");
    char name[CFG_TEXT_MAX + 32];

    if (mark)
        snprintf(name, sizeof name, "%.*s%d%s%s", (int)(mark - from), from, (int)getpid(), mark + 2,
                 behind);
    else
        snprintf(name, sizeof name, "%s%s", from, behind);
    return settings_path(name, path);
}

int report_is_spooled(void)
{
    struct settings_path path;
    struct stat st;

    return settings.cfg.report[0] && !stat(report_path("", &path), &st) && S_ISDIR(st.st_mode);
}

/* quietly: another report will take its place. */
static int write_report(const char *behind, enum reporter_scope of, void (*print)(FILE *f),
                        int quietly)
{
    int spooled = report_is_spooled(), rc = 0;
    struct settings_path room;
    const char *path = report_path(spooled ? "" : behind, &room), *why;

    if (spooled ? of != REPORT_OF_JOB : quietly && config_write_is_device(path))
        return 0;
    rc = spooled ? spool_write(path, &spool_caps, print, &why)
                 : config_write_file(path, print, &why);
    if (rc < 0 && !quietly)
        say(CFG_LEVEL_WARN, "COLLSHIM_REPORT: cannot write %s%s: %s", spooled ? "to " : "", path,
            why);
    return rc;
}

int report_write_quietly(void (*print)(FILE *f))
{
    return write_report("", REPORT_OF_JOB, print, 1);
}

void report_write(const char *behind, enum reporter_scope of, void (*print)(FILE *f))
{
    write_report(behind, of, print, 0);
}
