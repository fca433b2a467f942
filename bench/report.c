/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conditions are part of the result: library, placement, settings, flags and the measured rate
 * stand beside every figure. Without them a reader cannot check a ratio.
 */
#define _GNU_SOURCE
#include "report.h"
#include "units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const double bits_per_mbit = 1e6;

static double mbit(double bytes_per_s)
{
    return bytes_per_s * 8 / bits_per_mbit;
}

/* The library's own version line, up to the first comma or line end. */
static const char *library(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *c = version; *c; c++) {
        if (*c == '\t')
            *c = ' ';
    }
    snprintf(text, size, "%.*s", (int)size - 1, version);
    return text;
}

/* COLLSHIM_* of this process, as "A=1 B=2". */
static const char *settings(char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (char **e = environ; *e && at < size; e++) {
        if (strncmp(*e, "COLLSHIM_", 9) == 0)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? " " : "", *e);
    }
    return text;
}

static double smallest(const double *x, int n)
{
    double least = x[0];

    for (int i = 1; i < n; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

static void rates(FILE *out, const struct bench_run *run)
{
    const struct bench_rates *r = run->rates;
    char bytes[32];

    if (!r) {
        if (run->options->bound)
            fprintf(out, "rate:      not measured, one node only: no bound\n");
        return;
    }
    fprintf(out,
            "rate:      %.1f Mbit/s a flow (%.1f to %.1f), %.1f Mbit/s into the slowest node; "
            "rank to rank, ring of all nodes,\n"
            "           one direction at a time, %s each, %s\n",
            mbit(r->flow_median), mbit(r->flow_min), mbit(r->flow_max),
            mbit(smallest(r->in, r->nodes)), bench_units_bytes(r->flow_bytes, bytes, sizeof(bytes)),
            run->options->rails == BENCH_RAILS_AFFINE ? "each rank on its own rail: a node's rate "
                                                        "is the sum of its flows"
                                                      : "each rank over all rails: a node's rate "
                                                        "is its bytes / its slowest flow");
    for (int i = 0; i < run->options->n_collectives; i++)
        fprintf(out, "bound:     %s: %s\n", run->options->collectives[i]->name,
                run->options->collectives[i]->formula);
}

void bench_report_conditions(FILE *out, const struct bench_run *run, const char *preload)
{
    char text[1024];

    fprintf(out, "library:   %s, %d ranks on %d node%s%s\n", library(text, sizeof(text)),
            run->shape->ranks, run->shape->nodes, run->shape->nodes == 1 ? "" : "s",
            run->options->emulated ? ", emulated network" : "");
    if (preload)
        fprintf(out, "preload:   %s %s\n", preload, settings(text, sizeof(text)));
    else
        fprintf(out,
                "preload:   none, so there is no collshim column: only the library is timed\n");
    fprintf(out, "times:     maximum over ranks, median of %d interleaved repetitions, %s\n",
            run->options->repetitions,
            run->options->verify ? "every received byte checked" : "NOTHING CHECKED");
    if (run->options->placement)
        bench_shape_print(run->shape, out);
    rates(out, run);
}

static const char *ratio(double a, double b, const char *format, char *text, size_t size)
{
    if (a > 0 && b > 0)
        snprintf(text, size, format, a / b);
    else
        snprintf(text, size, "-");
    return text;
}

static const char *spreads(const struct bench_result *r, char *text, size_t size)
{
    if (r->shim.n)
        snprintf(text, size, "%.1f/%.1f%%", 100 * r->native.spread, 100 * r->shim.spread);
    else
        snprintf(text, size, "%.1f%%", 100 * r->native.spread);
    return text;
}

void bench_report_table(FILE *out, const struct bench_run *run, const struct bench_result *results,
                        int n)
{
    static const char *const heads[2][6] = {
        {"native, ms", "native, ms", "collshim", "bound", "of the bound", "spread"},
        {"default", "best", "ms", "ms", "native/shim", "native/shim"},
    };
    char size[32], usual[32], native[32], shim[32], bound[32], gain[32], part[32], whole[32];
    char spread[32];
    int trial = 0;

    fputc('\n', out);
    for (int i = 0; i < 2; i++)
        fprintf(out, "%-20s %9s %11s  %11s  %-18s %10s %6s %10s %12s %12s  %s\n",
                i ? "" : "collective", i ? "" : "per rank", heads[i][0], heads[i][1],
                i ? "its algorithm" : "", heads[i][2], i ? "" : "ratio", heads[i][3], heads[i][4],
                heads[i][5], i ? "" : "verified");
    for (int i = 0; i < n; i++) {
        const struct bench_result *r = &results[i];

        trial |= r->usual_from_trial;
        ratio(r->bound_us, r->native.median, "%.3f", whole, sizeof(whole));
        ratio(r->bound_us, r->shim.median, "/%.3f", part, sizeof(part));
        if (r->shim.n && r->bound_us > 0)
            strncat(whole, part, sizeof(whole) - strlen(whole) - 1);
        fprintf(out, "%-20s %9s %11s%s %11s  %-18s %10s %6s %10s %12s %12s  %s\n", r->row->name,
                bench_units_bytes(r->bytes, size, sizeof(size)),
                bench_units_ms(r->usual.median, usual, sizeof(usual)),
                r->usual_from_trial ? "*" : " ",
                bench_units_ms(r->native.median, native, sizeof(native)), r->native_name,
                bench_units_ms(r->shim.median, shim, sizeof(shim)),
                ratio(r->native.median, r->shim.median, "%.2f", gain, sizeof(gain)),
                bench_units_ms(r->bound_us, bound, sizeof(bound)), whole,
                spreads(r, spread, sizeof(spread)),
                r->verified            ? "yes"
                : run->options->verify ? "WRONG"
                                       : "not checked");
    }
    if (trial)
        fprintf(out, "* dropped after the trial calls; this is the better of those\n");
    fflush(out);
}

static double over(double a, double b)
{
    return a > 0 && b > 0 ? a / b : 0;
}

struct json bench_report_line(FILE *out)
{
    struct json j = json_begin(out);

    j.line = 1;
    json_open(&j, NULL, '{');
    return j;
}

void bench_report_figure(struct json *j, const char *key, double value)
{
    if (value != 0)
        json_rounded(j, key, 6, value);
    else
        json_null(j, key);
}

int bench_report_line_end(struct json *j)
{
    json_close(j, '}');
    return fflush(j->f) || ferror(j->f) ? -EIO : 0;
}

int bench_report_json(FILE *out, const struct bench_run *run, const struct bench_result *r,
                      const char *preload)
{
    const struct bench_options *o = run->options;
    char text[1024];
    struct json j = bench_report_line(out);

    json_string(&j, "collective", r->row->name);
    json_string(&j, "algorithm", run->app ? o->algorithm_label : "native");
    json_int(&j, "ranks", run->shape->ranks);
    json_int(&j, "nodes", run->shape->nodes);
    json_int(&j, "bytes_per_rank", (long long)r->bytes);
    bench_report_figure(&j, "native_us", r->native.median);
    bench_report_figure(&j, "collshim_us", r->shim.median);
    bench_report_figure(&j, "ratio", over(r->native.median, r->shim.median));
    bench_report_figure(&j, "bound_us", r->bound_us);
    bench_report_figure(&j, "bound_fraction", over(r->bound_us, r->shim.median));
    if (o->verify)
        json_bool(&j, "verified", r->verified);
    else
        json_null(&j, "verified");
    json_int(&j, "total_bytes", (long long)r->total_bytes);
    json_int(&j, "repetitions", o->repetitions);
    json_string(&j, "native_algorithm", r->native_name);
    json_string(&j, "native_flag", r->native_flag);
    json_open(&j, "native_each_us", '{');
    for (int i = 0; i < r->n_each; i++)
        bench_report_figure(&j, r->each[i].name, r->each[i].us);
    json_close(&j, '}');
    bench_report_figure(&j, "native_min_us", r->native.min);
    bench_report_figure(&j, "native_max_us", r->native.max);
    json_rounded(&j, "native_spread", 6, r->native.spread);
    json_rounded(&j, "native_error", 6, r->native.error);
    bench_report_figure(&j, "native_bound_fraction", over(r->bound_us, r->native.median));
    bench_report_figure(&j, "native_default_us", r->usual.median);
    json_bool(&j, "native_default_from_trial", r->usual_from_trial);
    bench_report_figure(&j, "collshim_min_us", r->shim.min);
    bench_report_figure(&j, "collshim_max_us", r->shim.max);
    bench_report_figure(&j, "collshim_spread", r->shim.spread);
    bench_report_figure(&j, "collshim_error", r->shim.error);
    bench_report_figure(&j, "collshim_first_us", r->shim_first_us);
    bench_report_figure(&j, "collshim_settling_us", r->shim_settling_us);
    bench_report_figure(&j, "flow_mbit_per_s", run->rates ? mbit(run->rates->flow_median) : 0);
    bench_report_figure(&j, "node_mbit_per_s",
                        run->rates ? mbit(smallest(run->rates->in, run->rates->nodes)) : 0);
    json_string(&j, "bound_formula", run->rates ? r->row->formula : NULL);
    json_string(&j, "rails", o->rails == BENCH_RAILS_AFFINE ? "affine" : "striped");
    json_string(&j, "label", o->label);
    json_bool(&j, "emulated", o->emulated);
    json_string(&j, "library", library(text, sizeof(text)));
    json_string(&j, "preload", preload);
    json_string(&j, "settings", settings(text, sizeof(text)));
    return bench_report_line_end(&j);
}
