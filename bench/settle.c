/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order inside a pair alternates, because the second call of a pair finds the caches and the
 * links as the first one left them.
 */
#include "settle.h"
#include "contender.h"
#include "progress.h"
#include "rate.h"
#include "report.h"
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Short calls go on for some seconds: what else the machine does takes as long as they do. */
enum { FEWEST_PAIRS = 80, MORE_TIMES = 10, FEWEST_ALONE = 24 };
static const double SECONDS_OF_SHORT_ONES = 4;

static int goes_on(const struct bench_options *o, int pairs, double spent)
{
    if (pairs < FEWEST_PAIRS)
        return 1;
    return pairs < o->settle ? spent < o->limit_s
                             : pairs < o->settle * MORE_TIMES && spent < SECONDS_OF_SHORT_ONES;
}

/* The pairs of calls; returns how many. */
static int run_pairs(const struct bench_run *run, const struct bench_collective *row,
                     const struct bench_problem *problem, struct bench_contender pair[2])
{
    double spent = 0;
    int k = 0;

    for (; goes_on(run->options, k, spent); k++) {
        bench_progress("%s %zu bytes: pair %d", row->name, problem->bytes, k + 1);
        for (int j = 0; j < 2; j++) {
            struct bench_contender *c = &pair[(j + k) % 2];

            c->us[c->n] = bench_call_once(run, row, problem, c, 0);
            spent += c->us[c->n++] / 1e6;
        }
    }
    return k;
}

/* By how much more than as many of the library's the preload's calls [from, from + n) took, in
   parts of 200 of the library's. Sums, not medians: a reroute's trial may be in one call alone. */
static double excess(const struct bench_contender pair[2], int from, int n, double usual)
{
    double sum = 0;

    for (int k = from; k < from + n; k++)
        sum += pair[1].us[k] - pair[0].us[k];
    return sum / (BENCH_SETTLE_CALLS * usual);
}

/* How far calls [from, calls) in groups of n are from their usual excess: so much any group of
   calls may have because the machine delayed one, after everything has settled. */
static double noise(const struct bench_contender pair[2], int from, int n, int calls, double usual)
{
    double most = 0, mean = excess(pair, from, calls - from, usual) * n / (calls - from);

    for (int k = from; k + n <= calls; k += n) {
        double off = excess(pair, k, n, usual) - mean;

        most = off > most ? off : -off > most ? -off : most;
    }
    return most;
}

static void conclude(struct bench_contender pair[2], int calls, struct bench_settled *r)
{
    int first = BENCH_TRIAL_CALLS; /* FEWEST_PAIRS is twice that */
    double *sorted = malloc((size_t)calls * sizeof(*sorted));

    r->calls = calls;
    if (sorted)
        memcpy(sorted, pair[0].us, (size_t)calls * sizeof(*sorted));
    r->native = bench_stats_of(sorted ? sorted : pair[0].us, calls);
    r->cost = excess(pair, 0, first, r->native.median);
    r->noise = noise(pair, first, first, calls, r->native.median);
    r->settled = bench_stats_of(pair[1].us + first, calls - first);
    r->behind = r->settled.median / r->native.median - 1;
    r->verified = pair[0].verdict == BENCH_RUNNING && pair[1].verdict == BENCH_RUNNING;
    free(sorted);
}

/* One line that says which call cannot be run here. */
static void say_why(const struct bench_run *run, const struct bench_collective *row, size_t bytes,
                    int rc)
{
    if (run->text)
        fprintf(stderr, "collshim: bench: %s of %zu bytes per rank: %s\n", row->name, bytes,
                rc == -EOVERFLOW ? "more than an int counts; choose fewer bytes"
                                 : "not enough memory; choose fewer bytes");
}

int bench_settle_size(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_algorithm *auto_algorithm, MPI_Comm comm, size_t bytes,
                      struct bench_settled *result)
{
    struct bench_problem problem;
    size_t most = (size_t)run->options->settle * MORE_TIMES;
    double *us = calloc(2 * most, sizeof(*us));
    int rc = bench_problem_make(row, run->shape, bytes, bench_sharers(run), &problem);
    struct bench_contender pair[2] = {
        {.mpi = run->native, .algorithm = auto_algorithm, .comm = auto_algorithm->comm, .us = us},
        {.mpi = run->app, .comm = comm, .us = us ? us + most : NULL},
    };

    *result = (struct bench_settled){.row = row, .bytes = bytes};
    if (!us)
        rc = -ENOMEM;
    run->native->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, run->control);
    if (!rc) {
        if (run->rates)
            result->bound_us = bench_rates_bound_us(run->rates, row, &problem);
        /* The library's own set-up at its first call is no part of the comparison. */
        bench_call_once(run, row, &problem, &pair[0], 0);
        conclude(pair, run_pairs(run, row, &problem, pair), result);
        bench_progress_end();
    } else {
        say_why(run, row, bytes, rc);
    }
    free(us);
    bench_problem_free(&problem);
    return rc;
}

int bench_settle_lone(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_algorithm *auto_algorithm, MPI_Comm comm, size_t bytes,
                      struct bench_lone *result)
{
    const struct bench_options *o = run->options;
    struct bench_problem problem;
    double *us = calloc((size_t)o->settle, sizeof(*us)), spent = 0, sum = 0;
    int rc = bench_problem_make(row, run->shape, bytes, bench_sharers(run), &problem);
    struct bench_contender c = {.mpi = auto_algorithm ? run->native : run->app,
                                .algorithm = auto_algorithm,
                                .comm = auto_algorithm ? auto_algorithm->comm : comm,
                                .us = us};

    *result = (struct bench_lone){.row = row, .name = bench_contender_name(&c), .bytes = bytes};
    if (!us)
        rc = -ENOMEM;
    run->native->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, run->control);
    if (!rc) {
        while (c.n < o->settle && (c.n < FEWEST_ALONE || spent < o->limit_s)) {
            bench_progress("%s %zu bytes: call %d", row->name, bytes, c.n + 1);
            us[c.n] = bench_call_once(run, row, &problem, &c, 0);
            spent += us[c.n] / 1e6;
            sum += c.n < BENCH_TRIAL_CALLS ? us[c.n] : 0;
            c.n++;
        }
        bench_progress_end();
        result->calls = c.n;
        result->first = us[0];
        result->early = sum / (c.n < BENCH_TRIAL_CALLS ? c.n : BENCH_TRIAL_CALLS);
        result->settled = bench_stats_of(us + c.n - c.n / 4, c.n / 4);
        result->verified = c.verdict == BENCH_RUNNING;
    } else {
        say_why(run, row, bytes, rc);
    }
    free(us);
    bench_problem_free(&problem);
    return rc;
}

void bench_settle_lone_print(FILE *out, const struct bench_lone *r, int first)
{
    char size[32], at_first[32], early[32], settled[32];

    if (first)
        fprintf(out, "\n%-20s %-9s %9s %6s %11s %13s %11s  %s\n", "collective", "alone", "per rank",
                "calls", "first, ms", "first 40, ms", "settled, ms", "verified");
    fprintf(out, "%-20s %-9s %9s %6d %11s %13s %11s  %s\n", r->row->name, r->name,
            bench_units_bytes(r->bytes, size, sizeof(size)), r->calls,
            bench_units_ms(r->first, at_first, sizeof(at_first)),
            bench_units_ms(r->early, early, sizeof(early)),
            bench_units_ms(r->settled.median, settled, sizeof(settled)),
            r->verified ? "yes" : "WRONG");
    fflush(out);
}

static struct json begin_line(FILE *out, const struct bench_run *run,
                              const struct bench_collective *row, size_t bytes, int calls)
{
    struct json j = bench_report_line(out);

    json_string(&j, "collective", row->name);
    json_int(&j, "ranks", run->shape->ranks);
    json_int(&j, "nodes", run->shape->nodes);
    json_int(&j, "bytes_per_rank", (long long)bytes);
    json_int(&j, "calls", calls);
    return j;
}

static int end_line(struct json *j, const struct bench_run *run, int verified)
{
    json_bool(j, "verified", verified);
    json_string(j, "label", run->options->label);
    json_bool(j, "emulated", run->options->emulated);
    return bench_report_line_end(j);
}

int bench_settle_lone_json(FILE *out, const struct bench_run *run, const struct bench_lone *r)
{
    struct json j = begin_line(out, run, r->row, r->bytes, r->calls);

    json_string(&j, "contender", r->name);
    bench_report_figure(&j, "first_us", r->first);
    bench_report_figure(&j, "early_us", r->early);
    bench_report_figure(&j, "settled_us", r->settled.median);
    return end_line(&j, run, r->verified);
}

void bench_settle_print(FILE *out, const struct bench_settled *r, int first)
{
    char size[32], native[32], settled[32];

    if (first)
        fprintf(out, "\n%-20s %9s %6s %11s %11s %9s %14s %7s  %s\n", "collective", "per rank",
                "calls", "native, ms", "settled, ms", "behind", "settling costs", "+-", "verified");
    fprintf(out, "%-20s %9s %6d %11s %11s %8.1f%% %13.2f%% %6.2f%%  %s\n", r->row->name,
            bench_units_bytes(r->bytes, size, sizeof(size)), r->calls,
            bench_units_ms(r->native.median, native, sizeof(native)),
            bench_units_ms(r->settled.median, settled, sizeof(settled)), 100 * r->behind,
            100 * r->cost, 100 * r->noise, r->verified ? "yes" : "WRONG");
    fflush(out);
}

int bench_settle_json(FILE *out, const struct bench_run *run, const struct bench_settled *r)
{
    struct json j = begin_line(out, run, r->row, r->bytes, r->calls);

    bench_report_figure(&j, "native_default_us", r->native.median);
    bench_report_figure(&j, "settled_us", r->settled.median);
    bench_report_figure(&j, "bound_us", r->bound_us);
    json_rounded(&j, "behind", 6, r->behind);
    json_rounded(&j, "settling_cost", 6, r->cost);
    json_rounded(&j, "settling_noise", 6, r->noise);
    return end_line(&j, run, r->verified);
}
