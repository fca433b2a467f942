/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contender is a way to run the call: a forced native algorithm, or the application's own symbol
 * with a preload behind it. Trial calls find slow contenders, which are dropped: on a slow network
 * a bad algorithm takes seconds per call and would take the time of the repetitions. A dropped one
 * still has its trial time printed, so that nothing is left out silently.
 */
#include "contender.h"
#include "progress.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A preload that tries both ways first gets that many more calls. The repetitions measure its final
   choice, and the cost of settling is printed beside them. */
enum { TRIALS = 2, SETTLING = 16, WARM_UP_BYTES = 1024 };

/* A contender dropped for its first, cold call alone is tried once more some 300 calls later; short
   calls reach that at once. */
enum { SECOND_CHANCE = 330 };
static const double US_FOR_IT = 500e3;

/* With --warm-up, short calls go on for some seconds: what else the machine does takes as long, and
   a median of calls that differ by half is known to 2 % after a thousand. */
enum { MORE_TIMES = 100 };
static const double US_OF_SHORT_ONES = 4e6;

/* Short calls of a contender then follow each other, as in a program, and the first ones do not
   count: they have the burst that the last contender left in the limiters. */
enum { IN_A_ROW = 10, UNCOUNTED = 4 };

struct field {
    int n, native; /* the preload, if any, comes after the native ones */
    struct bench_contender *list;
    double *us;
};

/* Is name in the comma-separated list? */
static int listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return 1;
    }
    return 0;
}

static int wanted(const struct bench_options *o, const struct bench_algorithm *a)
{
    if (o->alone)
        return strcmp(o->alone, a->name) == 0;
    return a->index < 0 || strcmp(o->native, "best") == 0 || listed(o->native, a->name);
}

/* Timed calls of a contender, at most. */
static int most_of(const struct bench_options *o)
{
    return o->repetitions * (o->warm_up ? MORE_TIMES : 1);
}

static int field_make(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_problem *problem,
                      const struct bench_algorithms *algorithms, struct field *f)
{
    size_t most = (size_t)algorithms->n + 1;
    size_t each = (size_t)most_of(run->options);

    memset(f, 0, sizeof(*f));
    f->list = calloc(most, sizeof(*f->list));
    f->us = calloc(most * each, sizeof(double));
    if (!f->list || !f->us)
        return -ENOMEM;
    for (int i = 0; i < algorithms->n; i++) {
        const struct bench_algorithm *a = &algorithms->list[i];
        int deadly = row->ends_job && row->ends_job(problem, a->name);

        if (wanted(run->options, a))
            f->list[f->n++] =
                (struct bench_contender){.mpi = run->native,
                                         .algorithm = a,
                                         .comm = a->comm,
                                         .verdict = deadly ? BENCH_DEADLY : BENCH_RUNNING};
    }
    f->native = f->n;
    if (run->app && (!run->options->alone || !f->n))
        f->list[f->n++] = (struct bench_contender){.mpi = run->app, .comm = MPI_COMM_WORLD};
    for (int i = 0; i < f->n; i++)
        f->list[i].us = f->us + each * (size_t)i;
    return 0;
}

static void field_free(struct field *f)
{
    free(f->list);
    free(f->us);
}

/* A small call of each contender pays for its set-up at the first call on a communicator. */
static void warm_up(const struct bench_run *run, const struct bench_collective *row, size_t bytes,
                    struct field *f)
{
    struct bench_problem small;
    int rc = bench_problem_make(row, run->shape, bytes < WARM_UP_BYTES ? bytes : WARM_UP_BYTES,
                                bench_sharers(run), &small);

    run->native->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, run->control);
    for (int i = 0; i < f->n && !rc; i++) {
        if (f->list[i].verdict == BENCH_RUNNING)
            bench_call_once(run, row, &small, &f->list[i], 0);
    }
    bench_problem_free(&small);
}

static void let_settle(const struct bench_run *run, const struct bench_collective *row,
                       const struct bench_problem *problem, struct bench_contender *c)
{
    const struct bench_options *o = run->options;
    int most = o->warm_up ? o->warm_up : SECOND_CHANCE;
    double spent = 0, limit = o->warm_up ? 1e6 * o->limit_s : US_FOR_IT;

    for (int call = 0; call < most && c->verdict == BENCH_RUNNING; call++) {
        if (call >= SETTLING && spent > limit)
            return;
        bench_progress("%s %zu bytes: %s settles", row->name, problem->bytes,
                       bench_contender_name(c));
        double us = bench_call_once(run, row, problem, c, 0);
        spent += us;
        c->settling_us += call < SETTLING ? us : 0;
    }
}

/* The second round is only for contenders that the first did not show to be slow. */
static void try_out(const struct bench_run *run, const struct bench_collective *row,
                    const struct bench_problem *problem, struct field *f)
{
    double prune = run->options->prune, best = INFINITY;

    for (int round = 0; round < TRIALS; round++) {
        for (int i = 0; i < f->n; i++) {
            struct bench_contender *c = &f->list[i];
            double us;

            if (c->verdict != BENCH_RUNNING ||
                (i < f->native && c->trial_us > prune * prune * best))
                continue;
            bench_progress("%s %zu bytes: trying %s", row->name, problem->bytes,
                           bench_contender_name(c));
            us = bench_call_once(run, row, problem, c, 0);
            c->first_us = round ? c->first_us : us;
            c->settling_us += us;
            c->trial_us = round ? fmin(c->trial_us, us) : us;
        }
        for (int i = 0; i < f->native; i++) {
            if (f->list[i].verdict == BENCH_RUNNING)
                best = fmin(best, f->list[i].trial_us);
        }
    }
    for (int i = 0; i < f->native; i++) {
        if (f->list[i].verdict == BENCH_RUNNING && f->list[i].trial_us > prune * best)
            f->list[i].verdict = BENCH_PRUNED;
    }
    for (int i = f->native; i < f->n; i++)
        let_settle(run, row, problem, &f->list[i]);
}

static void print_trials(const struct bench_run *run, const struct bench_collective *row,
                         size_t bytes, const struct field *f)
{
    static const char *const words[] = {
        [BENCH_RUNNING] = "timed",
        [BENCH_PRUNED] = "dropped",
        [BENCH_REFUSED] = "not for this shape",
        [BENCH_WRONG] = "WRONG DATA",
        [BENCH_DEADLY] = "would end the job",
    };
    char size[32], time[32];

    fprintf(run->text,
            "\n%s, %s per rank: the library's own algorithms, best of up to %d trial calls\n",
            row->name, bench_units_bytes(bytes, size, sizeof(size)), TRIALS);
    for (int i = 0; i < f->native; i++) {
        const struct bench_contender *c = &f->list[i];
        const char *ms = c->verdict == BENCH_REFUSED || c->verdict == BENCH_DEADLY
                             ? "-"
                             : bench_units_ms(c->trial_us, time, sizeof(time));

        fprintf(run->text, "  %12s ms  %-18s  %-18s  %s\n", ms, words[c->verdict],
                c->algorithm->name, c->algorithm->flag);
    }
    fflush(run->text);
}

static int goes_on(const struct bench_options *o, int repetition, double spent)
{
    return repetition < o->repetitions ||
           (repetition < most_of(o) && spent < US_OF_SHORT_ONES && !o->corrupt);
}

/* An order of n contenders, the same on all ranks, that is drawn anew each time. In a cyclic order
   each would always follow the same one, whose bytes may have used up a limiter's burst. */
static void draw_order(int *order, int n)
{
    static uint64_t state = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */

    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        int k = (int)(state % (uint64_t)(i + 1)), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}

/* So many calls of a contender at a time. */
static int calls_in_a_row(const struct bench_options *o, const struct field *f)
{
    double once = 0;

    for (int i = 0; i < f->n; i++)
        once += f->list[i].verdict == BENCH_RUNNING ? f->list[i].trial_us : 0;
    return o->warm_up && !o->corrupt && once * IN_A_ROW * o->repetitions < US_OF_SHORT_ONES
               ? IN_A_ROW
               : 1;
}

static void repeat(const struct bench_run *run, const struct bench_collective *row,
                   const struct bench_problem *problem, struct field *f)
{
    int order[f->n], row_of = calls_in_a_row(run->options, f), last = run->options->repetitions - 1;
    int uncounted = row_of > 1 ? UNCOUNTED : 0;
    double spent = 0;

    for (int k = 0; goes_on(run->options, k, spent); k += row_of - uncounted) {
        bench_progress("%s %zu bytes: repetition %d of %d", row->name, problem->bytes, k + 1,
                       run->options->repetitions);
        draw_order(order, f->n);
        for (int j = 0; j < f->n; j++) {
            struct bench_contender *c = &f->list[order[j]];
            int corrupt = run->options->corrupt && k == last;

            for (int i = 0; i < row_of && c->verdict == BENCH_RUNNING; i++) {
                double us = bench_call_once(run, row, problem, c, corrupt);

                spent += us;
                if (i >= uncounted && k + i - uncounted < most_of(run->options))
                    c->us[c->n++] = us;
            }
        }
    }
}

static void conclude(const struct bench_run *run, const struct field *f, struct bench_result *r)
{
    r->verified = run->options->verify;
    for (int i = 0; i < f->n; i++) {
        struct bench_contender *c = &f->list[i];
        struct bench_stats s = bench_stats_of(c->us, c->n);

        if (c->verdict == BENCH_WRONG)
            r->verified = 0;
        if (c->algorithm && c->algorithm->index < 0) {
            r->usual_from_trial = c->verdict == BENCH_PRUNED; /* its trial is all there is */
            r->usual = r->usual_from_trial ? bench_stats_of(&c->trial_us, 1) : s;
        }
        if (i == f->native)
            r->shim = s;
        if (i < f->native && c->n && r->n_each < BENCH_MOST_TIMED) {
            struct bench_timed *t = &r->each[r->n_each++];

            snprintf(t->name, sizeof(t->name), "%s", c->algorithm->name);
            t->us = s.median;
        }
        if (i < f->native && c->n && (!r->native.n || s.median < r->native.median)) {
            r->native = s;
            snprintf(r->native_name, sizeof(r->native_name), "%s", c->algorithm->name);
            snprintf(r->native_flag, sizeof(r->native_flag), "%s", c->algorithm->flag);
        }
        if (i == f->native && f->n > f->native)
            r->shim_first_us = c->first_us;
        r->shim_settling_us = c->settling_us;
    }
}

int bench_sweep_size(const struct bench_run *run, const struct bench_collective *row,
                     const struct bench_algorithms *algorithms, size_t bytes, int fresh,
                     struct bench_result *result)
{
    struct bench_problem problem;
    struct field f;
    int rc = bench_problem_make(row, run->shape, bytes, bench_sharers(run), &problem);

    memset(result, 0, sizeof(*result));
    if (!rc)
        rc = field_make(run, row, &problem, algorithms, &f);
    else
        memset(&f, 0, sizeof(f));
    run->native->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, run->control);
    if (!rc) {
        result->row = row;
        result->bytes = bytes;
        result->total_bytes = problem.total_bytes;
        if (run->rates)
            result->bound_us = bench_rates_bound_us(run->rates, row, &problem);
        if (fresh)
            warm_up(run, row, bytes, &f);
        try_out(run, row, &problem, &f);
        bench_progress_end();
        if (run->text)
            print_trials(run, row, bytes, &f);
        repeat(run, row, &problem, &f);
        bench_progress_end();
        conclude(run, &f, result);
    } else if (run->text) {
        fprintf(stderr, "collshim: bench: %s of %zu bytes per rank on %d ranks: %s\n", row->name,
                bytes, run->shape->ranks,
                rc == -EOVERFLOW ? "more than an int counts; choose fewer bytes"
                                 : "not enough memory; choose fewer bytes");
    }
    field_free(&f);
    bench_problem_free(&problem);
    return rc;
}
