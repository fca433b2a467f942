/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/report/call_site_report.h"

#include <stdlib.h>
#include <string.h>

#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"
#include "shim/record/counts/live_layout.h"
#include "shim/record/report/job.h"
#include "shim/record/report/spool.h"
#include "shim/record/report/waits_report.h"

enum { ROWS_SHOWN = 512, ROWS_IN_SPOOL = 24, LEAST_TIMED = 3 };

struct gain {
    int known;
    double saved, error; /* rank seconds */
};

/* A square root by Newton: the preload's backends link no libm. */
static double root_of(double x)
{
    double r = x > 1 ? x : 1;

    for (int i = 0; i < 200 && r * r > x * (1 + 1e-9); i++)
        r = (r + x / r) / 2;
    return x > 0 ? r : 0;
}

static double timed(const uint32_t *bins)
{
    double n = 0;

    for (int b = 0; b < HISTOGRAM_BINS; b++)
        n += bins[b];
    return n;
}

/* Standard error of a median: of a normal distribution as wide between its quartiles. */
static double median_error(const uint32_t *bins, double calls)
{
    double width = histogram_quantile(bins, 0.75) - histogram_quantile(bins, 0.25);

    return 1.2533 * width / 1.349 / root_of(calls);
}

/* Ranks whose calls the row holds, and how many stand behind each of them. */
struct site_share {
    double held, behind;
};

static struct site_share share_of(const struct site_row *r, enum site_scope scope)
{
    double ranks = r->key.ranks ? r->key.ranks : 1;

    return scope == SITE_ALL_RANKS ? (struct site_share){ranks, 1} : (struct site_share){1, ranks};
}

static struct gain gain_of(const struct site_row *r, enum site_scope scope)
{
    const uint32_t *native = r->bins[SITE_NATIVE], *ours = r->bins[SITE_REROUTED];
    double ranks = share_of(r, scope).held;
    double calls[SITE_WAYS] = {timed(native) / ranks, timed(ours) / ranks};

    if (calls[SITE_NATIVE] < LEAST_TIMED || calls[SITE_REROUTED] < LEAST_TIMED)
        return (struct gain){0};
    double a = median_error(native, calls[SITE_NATIVE]);
    double b = median_error(ours, calls[SITE_REROUTED]);
    double times = (double)r->calls[SITE_REROUTED] * share_of(r, scope).behind * 1e-9;
    return (struct gain){1,
                         times * (histogram_quantile(native, 0.5) - histogram_quantile(ours, 0.5)),
                         times * 2 * root_of(a * a + b * b)};
}

struct site_times site_times(int collective, int size_class)
{
    static uint32_t bins[SITE_WAYS][HISTOGRAM_BINS]; /* reports are written one after the other */
    double part[SITE_WAYS] = {0}, n[SITE_WAYS] = {0}, ranks = 1;
    struct site_times t = {{0}, 0};

    memset(bins, 0, sizeof bins);
    site_table_lock();
    for (uint32_t i = 0; site_table && i < site_table->rows; i++) {
        const struct site_row *r = &site_table->row[i];

        if (r->key.collective != collective || r->key.size_class != size_class)
            continue;
        ranks = r->key.ranks > ranks ? r->key.ranks : ranks;
        for (int b = 0; b < SITE_WAYS * HISTOGRAM_BINS; b++)
            bins[b / HISTOGRAM_BINS][b % HISTOGRAM_BINS] +=
                r->bins[b / HISTOGRAM_BINS][b % HISTOGRAM_BINS];
    }
    site_table_unlock();
    for (int way = 0; way < SITE_WAYS; way++) {
        n[way] = timed(bins[way]);
        t.us[way] = n[way] > 0 ? histogram_quantile(bins[way], 0.5) * 1e-3 : 0;
        if (t.us[way] > 0)
            part[way] = median_error(bins[way], n[way] / ranks) * 1e-3 / t.us[way];
    }
    if (n[SITE_NATIVE] >= LEAST_TIMED * ranks && n[SITE_REROUTED] >= LEAST_TIMED * ranks)
        t.spread = root_of(part[SITE_NATIVE] * part[SITE_NATIVE] +
                           part[SITE_REROUTED] * part[SITE_REROUTED]);
    return t;
}

static void put_frame(struct json *j, const struct site_frame *f)
{
    const struct site_object *o = &site_table->object[f->object];
    char text[2 * SITE_ID_BYTES + 1] = "";

    json_string(j, "object", o->path);
    for (int i = 0; i < o->id_bytes; i++)
        snprintf(text + 2 * i, sizeof text - 2 * (size_t)i, "%02x", o->id[i]);
    json_string(j, "build_id", text[0] ? text : NULL);
    json_int(j, "offset", (long long)f->offset);
}

static void put_site(struct json *j, const struct site *s)
{
    if (!s->frames) {
        json_string(j, "object", "(others)");
        json_null(j, "build_id");
        json_int(j, "offset", 0);
    } else {
        put_frame(j, &s->frame[0]);
    }
    json_open(j, "callers", '[');
    for (int i = 1; i < s->frames && !spool_is_printing; i++) {
        json_open(j, NULL, '{');
        put_frame(j, &s->frame[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_way(struct json *j, const struct site_row *r, enum site_scope scope, int way,
                    const char *const *keys)
{
    double seconds = (double)r->nanoseconds[way] * share_of(r, scope).behind * 1e-9;
    int any = timed(r->bins[way]) > 0;

    json_int(j, keys[0], (long long)r->calls[way]);
    json_rounded(j, keys[1], 6, seconds);
    if (any) {
        json_rounded(j, keys[2], 4, histogram_quantile(r->bins[way], 0.5) * 1e-3);
        json_rounded(j, keys[3], 4, histogram_quantile(r->bins[way], 0.99) * 1e-3);
    } else {
        json_null(j, keys[2]);
        json_null(j, keys[3]);
    }
}

static void put_row(struct json *j, const struct site_row *r, enum site_scope scope)
{
    static const char *const ours[] = {"rerouted", "rerouted_rank_s", "rerouted_us_median",
                                       "rerouted_us_p99"};
    static const char *const native[] = {"native", "native_rank_s", "native_us_median",
                                         "native_us_p99"};
    struct gain g = gain_of(r, scope);

    json_open(j, NULL, '{');
    put_site(j, &site_table->site[r->key.site]);
    json_string(j, "collective", site_collective_name(r->key.collective));
    json_int(j, "comm_ranks", r->key.ranks);
    json_int(j, "comm_nodes", r->key.nodes); /* 0: not known */
    json_int(j, "total_bytes_from", r->bytes ? 1ll << r->key.size_class : 0);
    json_int(j, "calls", (long long)(r->calls[SITE_NATIVE] + r->calls[SITE_REROUTED]));
    json_number(j, "bytes", (double)r->bytes / share_of(r, scope).held);
    put_way(j, r, scope, SITE_REROUTED, ours);
    put_way(j, r, scope, SITE_NATIVE, native);
    json_string(j, "algorithm",
                r->calls[SITE_REROUTED] ? live_row_name(r->key.collective, r->algorithm.what)
                                        : NULL);
    json_string(j, "reason", r->calls[SITE_NATIVE] ? reason_texts[r->reason.what] : NULL);
    if (g.known) {
        json_rounded(j, "saved_rank_s", 4, g.saved);
        json_rounded(j, "plus_minus_rank_s", 2, g.error);
    } else {
        json_null(j, "saved_rank_s");
        json_null(j, "plus_minus_rank_s");
    }
    waits_report_row(j, &r->waits, share_of(r, scope).held);
    json_close(j, '}');
}

static uint64_t time_of(const struct site_row *r)
{
    return r->nanoseconds[SITE_NATIVE] + r->nanoseconds[SITE_REROUTED];
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = time_of(&site_table->row[*(const uint16_t *)a]);
    uint64_t y = time_of(&site_table->row[*(const uint16_t *)b]);

    return (x < y) - (x > y);
}

void site_report(struct json *j, enum site_scope scope, int ranks)
{
    static uint16_t order[SITE_ROWS];
    struct gain all = {0}, g;
    double unknown = 0, seconds = 0;
    int n = 0, most = spool_is_printing ? ROWS_IN_SPOOL : ROWS_SHOWN;

    site_table_lock(); /* a report on the way, beside other threads' calls */
    for (uint32_t i = 0; site_table && i < site_table->rows; i++) {
        const struct site_row *r = &site_table->row[i];

        if (!r->calls[SITE_NATIVE] && !r->calls[SITE_REROUTED])
            continue;
        order[n++] = (uint16_t)i;
        seconds += (double)time_of(r) * share_of(r, scope).behind * 1e-9;
        g = gain_of(r, scope);
        all.saved += g.saved;
        all.error += g.error * g.error;
        unknown += g.known ? 0 : (double)r->calls[SITE_REROUTED];
    }
    qsort(order, (size_t)n, sizeof *order, by_time);
    json_open(j, "saved", '{');
    json_rounded(j, "rank_seconds", 4, all.saved);
    json_rounded(j, "plus_minus", 2, root_of(all.error));
    json_rounded(j, "node_hours", 4, all.saved / (ranks ? ranks : 1) * job_nodes() / 3600);
    json_rounded(j, "collectives_rank_seconds", 6, seconds);
    json_number(j, "calls_without_comparison", unknown);
    json_close(j, '}');
    json_open(j, "sites", '[');
    for (int i = 0; i < n && i < most; i++)
        put_row(j, &site_table->row[order[i]], scope);
    json_close(j, ']');
    json_int(j, "sites_not_listed", n > most ? n - most : 0);
    site_table_unlock();
}
