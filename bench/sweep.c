/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contender is a way to run the call: a forced native algorithm, or the application's own
 * symbol with a preload behind it. Trial calls serve to drop the hopeless ones, for on a slow
 * network a bad algorithm takes seconds per call and would eat the time of the repetitions; what
 * was dropped still has its trial time printed, so that nothing is left out silently.
 */
#include "sweep.h"
#include "pattern.h"
#include "progress.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A preload that tries both ways first gets so many calls more: the repetitions are about what it
   settles on, and what settling cost is printed beside them. */
enum { TRIALS = 2, SETTLING = 11, WARM_UP_BYTES = 1024 };

enum verdict { RUNNING, PRUNED, REFUSED, WRONG, DEADLY };

struct contender {
    const struct bench_mpi *mpi;
    const struct bench_algorithm *algorithm; /* NULL: the preload */
    MPI_Comm comm;
    enum verdict verdict;
    double first_us, trial_us; /* first call at this size; best of the trial calls */
    double settling_us;        /* all calls before the repetitions */
    double *us;                /* [repetitions] owned by the field */
    int n;
};

struct field {
    int n, native; /* the preload, if any, comes after the native ones */
    struct contender *list;
    double *us;
};

static uint64_t generation; /* of data: never repeats, the same on all ranks */

static const char *name_of(const struct contender *c)
{
    return c->algorithm ? c->algorithm->name : "collshim";
}

/* The last rank that receives anything at all: of a Reduce that is the root. */
static int last_receiver(const struct bench_run *run, const struct bench_problem *problem)
{
    int last = problem->recv_bytes ? run->shape->rank : -1;

    run->native->Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, run->control);
    return last;
}

/* One call of one contender. Returns microseconds, the maximum over ranks; sets its verdict. */
static double call_once(const struct bench_run *run, const struct bench_collective *row,
                        const struct bench_problem *problem, struct contender *c, int corrupt)
{
    double outcome[3] = {0, 0, 0}; /* microseconds, refused, wrong */
    double start;
    int rc;

    generation++;
    row->fill(problem, generation);
    bench_pattern_poison(problem->recv, problem->recv_bytes);
    if (c->algorithm)
        bench_algorithm_force(c->algorithm);
    run->native->Barrier(run->control);
    start = MPI_Wtime();
    rc = row->call(problem, c->mpi, c->comm);
    outcome[0] = (MPI_Wtime() - start) * 1e6;
    /* Checking is hard work: on few cores, ranks that are through would take them from the rest. */
    run->native->Barrier(run->control);
    if (c->algorithm)
        bench_algorithm_release(c->algorithm);
    if (corrupt && last_receiver(run, problem) == run->shape->rank)
        problem->recv[problem->recv_bytes / 2] ^= 0x10;
    outcome[1] = rc != MPI_SUCCESS;
    if (!outcome[1] && run->options->verify) {
        size_t at = row->check(problem, generation);

        outcome[2] = at != BENCH_PATTERN_RIGHT;
        if (outcome[2] != 0)
            fprintf(stderr,
                    "collshim: bench: %s, %zu bytes per rank, %s: rank %d received a wrong byte at "
                    "offset %zu of %zu\n",
                    row->name, problem->bytes, name_of(c), run->shape->rank, at,
                    problem->recv_bytes);
    }
    run->native->Allreduce(MPI_IN_PLACE, outcome, 3, MPI_DOUBLE, MPI_MAX, run->control);
    if (outcome[1] != 0)
        c->verdict = REFUSED;
    else if (outcome[2] != 0)
        c->verdict = WRONG;
    return outcome[0];
}

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

static int wanted(const char *native, const struct bench_algorithm *a)
{
    return a->index < 0 || strcmp(native, "best") == 0 || listed(native, a->name);
}

static int field_make(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_problem *problem,
                      const struct bench_algorithms *algorithms, struct field *f)
{
    size_t most = (size_t)algorithms->n + 1, each = (size_t)run->options->repetitions;

    memset(f, 0, sizeof(*f));
    f->list = calloc(most, sizeof(*f->list));
    f->us = calloc(most * each, sizeof(double));
    if (!f->list || !f->us)
        return -ENOMEM;
    for (int i = 0; i < algorithms->n; i++) {
        const struct bench_algorithm *a = &algorithms->list[i];
        int deadly = row->ends_job && row->ends_job(problem, a->name);

        if (wanted(run->options->native, a))
            f->list[f->n++] = (struct contender){.mpi = run->native,
                                                 .algorithm = a,
                                                 .comm = a->comm,
                                                 .verdict = deadly ? DEADLY : RUNNING};
    }
    f->native = f->n;
    if (run->app)
        f->list[f->n++] = (struct contender){.mpi = run->app, .comm = MPI_COMM_WORLD};
    for (int i = 0; i < f->n; i++)
        f->list[i].us = f->us + each * (size_t)i;
    return 0;
}

static void field_free(struct field *f)
{
    free(f->list);
    free(f->us);
}

/* Least time of the traffic, node by node and of all nodes' rails together. */
static double bound_us(const struct bench_run *run, const struct bench_collective *row,
                       const struct bench_problem *problem)
{
    double us = bench_rates_bound_us(run->rates, row, problem), in = 0, out = 0;

    for (int n = 0; n < run->rates->nodes; n++) {
        in += run->rates->in[n];
        out += run->rates->out[n];
    }
    return row->together ? fmax(us, row->together(problem) / fmin(in, out) * 1e6) : us;
}

/* Ranks with buffers in this machine's memory: an emulated cluster's nodes are all one machine. */
static int sharers(const struct bench_run *run)
{
    const struct bench_shape *s = run->shape;

    return run->options->emulated ? s->ranks : s->on_node[s->node_of[s->rank]];
}

/* What an algorithm sets up at its first call on a communicator, a small call of each pays for. */
static void warm_up(const struct bench_run *run, const struct bench_collective *row, size_t bytes,
                    struct field *f)
{
    struct bench_problem small;
    int rc = bench_problem_make(row, run->shape, bytes < WARM_UP_BYTES ? bytes : WARM_UP_BYTES,
                                sharers(run), &small);

    run->native->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, run->control);
    for (int i = 0; i < f->n && !rc; i++) {
        if (f->list[i].verdict == RUNNING)
            call_once(run, row, &small, &f->list[i], 0);
    }
    bench_problem_free(&small);
}

/* The second round is only for what the first did not show to be hopeless. */
static void try_out(const struct bench_run *run, const struct bench_collective *row,
                    const struct bench_problem *problem, struct field *f)
{
    double prune = run->options->prune, best = INFINITY;

    for (int round = 0; round < TRIALS; round++) {
        for (int i = 0; i < f->n; i++) {
            struct contender *c = &f->list[i];
            double us;

            if (c->verdict != RUNNING || (i < f->native && c->trial_us > prune * prune * best))
                continue;
            bench_progress("%s %zu bytes: trying %s", row->name, problem->bytes, name_of(c));
            us = call_once(run, row, problem, c, 0);
            c->first_us = round ? c->first_us : us;
            c->settling_us += us;
            c->trial_us = round ? fmin(c->trial_us, us) : us;
        }
        for (int i = 0; i < f->native; i++) {
            if (f->list[i].verdict == RUNNING)
                best = fmin(best, f->list[i].trial_us);
        }
    }
    for (int i = 0; i < f->native; i++) {
        if (f->list[i].verdict == RUNNING && f->list[i].trial_us > prune * best)
            f->list[i].verdict = PRUNED;
    }
    for (int i = f->native; i < f->n; i++)
        for (int call = 0; call < SETTLING && f->list[i].verdict == RUNNING; call++) {
            bench_progress("%s %zu bytes: %s settles", row->name, problem->bytes,
                           name_of(&f->list[i]));
            f->list[i].settling_us += call_once(run, row, problem, &f->list[i], 0);
        }
}

static void print_trials(const struct bench_run *run, const struct bench_collective *row,
                         size_t bytes, const struct field *f)
{
    static const char *const words[] = {
        [RUNNING] = "timed",    [PRUNED] = "dropped",           [REFUSED] = "not for this shape",
        [WRONG] = "WRONG DATA", [DEADLY] = "would end the job",
    };
    char size[32], time[32];

    fprintf(run->text,
            "\n%s, %s per rank: the library's own algorithms, best of up to %d trial calls\n",
            row->name, bench_units_bytes(bytes, size, sizeof(size)), TRIALS);
    for (int i = 0; i < f->native; i++) {
        const struct contender *c = &f->list[i];
        const char *ms = c->verdict == REFUSED || c->verdict == DEADLY
                             ? "-"
                             : bench_units_ms(c->trial_us, time, sizeof(time));

        fprintf(run->text, "  %12s ms  %-18s  %-18s  %s\n", ms, words[c->verdict],
                c->algorithm->name, c->algorithm->flag);
    }
    fflush(run->text);
}

static void repeat(const struct bench_run *run, const struct bench_collective *row,
                   const struct bench_problem *problem, struct field *f)
{
    for (int k = 0; k < run->options->repetitions; k++) {
        bench_progress("%s %zu bytes: repetition %d of %d", row->name, problem->bytes, k + 1,
                       run->options->repetitions);
        for (int j = 0; j < f->n; j++) {
            struct contender *c = &f->list[(j + k) % f->n];
            int corrupt = run->options->corrupt && k == run->options->repetitions - 1;

            if (c->verdict != RUNNING)
                continue;
            c->us[c->n++] = call_once(run, row, problem, c, corrupt);
        }
    }
}

static void conclude(const struct bench_run *run, const struct field *f, struct bench_result *r)
{
    r->verified = run->options->verify;
    for (int i = 0; i < f->n; i++) {
        struct contender *c = &f->list[i];
        struct bench_stats s = bench_stats_of(c->us, c->n);

        if (c->verdict == WRONG)
            r->verified = 0;
        if (i == 0 && c->verdict == PRUNED) /* its trial is all there is */
            s = bench_stats_of(&c->trial_us, 1);
        if (i == 0) {
            r->usual = s;
            r->usual_from_trial = c->verdict == PRUNED;
        }
        if (i == f->native)
            r->shim = s;
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
    int rc = bench_problem_make(row, run->shape, bytes, sharers(run), &problem);

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
            result->bound_us = bound_us(run, row, &problem);
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
