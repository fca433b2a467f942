/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-bench: native, rerouted and bound in one run. Built once per MPI library from these
 * files; an ordinary MPI program that knows nothing of the shim. The preload answers MPI_X while
 * the library object still answers PMPI_X. So one process calls both on the same buffers. Rejected:
 * two runs, one with and one without the preload, because on a shared machine they differ by more
 * than the measured difference.
 */
#include "algorithms.h"
#include "connect.h"
#include "demand.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "settle.h"
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct bench_options options;
    struct bench_mpi native, app;
    struct bench_shape shape;
    struct bench_rates rates;
    struct bench_run run;
    const char *preload;
    FILE *text, *json; /* json may be NULL; both NULL but on rank 0 */
    struct bench_result *results;
    int n_results, failed;
};

/* Before MPI_Init the launcher's environment is all there is to know one's rank from. */
static int is_first_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                            "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *rank = getenv(variables[i]);

        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

static int open_outputs(struct job *job)
{
    const char *path = job->options.json_path;
    int rc = 0;

    if (job->shape.rank == 0) {
        job->text = stdout;
        if (path && strcmp(path, "-") == 0) {
            job->text = stderr;
            job->json = stdout;
        } else if (path) {
            job->json = fopen(path, "w");
            rc = job->json ? 0 : -errno;
        }
        if (rc)
            fprintf(stderr, "collshim: bench: --json %s: %s; give a file that can be written\n",
                    path, strerror(-rc));
    }
    job->native.Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, job->run.control);
    return rc;
}

/* A rank that cannot read the file must not leave the others waiting. */
static int open_demand(struct job *job)
{
    char why[512] = "";
    int rc = bench_demand_open(job->options.demand_path, job->shape.ranks, why, sizeof(why)), all;

    job->native.Allreduce(&rc, &all, 1, MPI_INT, MPI_MIN, job->run.control);
    if (all && job->shape.rank == 0)
        fprintf(stderr, "collshim: bench: --demand: %s\n",
                rc ? why : "another rank cannot read it");
    return all;
}

static void measure_rates(struct job *job)
{
    struct bench_run *run = &job->run;
    int rc;

    if (!job->options.bound)
        return;
    bench_progress("measuring the rails");
    rc = bench_rates_measure(&job->native, run->control, &job->shape, job->options.rails,
                             &job->rates);
    bench_progress_end();
    if (!rc)
        run->rates = &job->rates;
    else if (rc != -ENOTSUP && job->shape.rank == 0)
        fprintf(stderr, "collshim: bench: no memory to measure the rails with: no bound\n");
}

static int is_preload(const char *alone)
{
    return alone && strcmp(alone, "collshim") == 0;
}

/* Every name in --native, or --alone, must be one of this collective's algorithms. */
static int check_names(const struct job *job, const struct bench_collective *row,
                       const struct bench_algorithms *set)
{
    const char *alone = job->options.alone, *at = alone ? alone : job->options.native;

    if (is_preload(alone) || strcmp(at, "best") == 0 || strcmp(at, "default") == 0)
        return 0;
    for (size_t length; *at; at += length + (at[length] == ',')) {
        int known = 0;

        length = strcspn(at, ",");
        for (int i = 0; i < set->n; i++)
            known |=
                strlen(set->list[i].name) == length && strncmp(set->list[i].name, at, length) == 0;
        if (known)
            continue;
        if (job->shape.rank == 0) {
            fprintf(stderr, "collshim: bench: --%s %.*s: %s has here:", alone ? "alone" : "native",
                    (int)length, at, row->name);
            for (int i = 0; i < set->n; i++)
                fprintf(stderr, " %s", set->list[i].name);
            fputc('\n', stderr);
        }
        return -EINVAL;
    }
    return 0;
}

static void keep(struct job *job, const struct bench_result *result)
{
    job->results[job->n_results++] = *result;
    if (job->options.verify && !result->verified)
        job->failed = 1;
    if (job->json && bench_report_json(job->json, &job->run, result, job->preload)) {
        fprintf(stderr, "collshim: bench: --json %s: cannot be written to; is the disk full?\n",
                job->options.json_path);
        job->failed = 1;
    }
}

static int sweep(struct job *job, const struct bench_collective *row)
{
    const struct bench_knob none = {.cvar = NULL};
    const char *alone = job->options.alone;
    int only_default = alone ? is_preload(alone) : strcmp(job->options.native, "default") == 0;
    struct bench_algorithms set;
    struct bench_result result;
    char notes[512];
    int rc, fresh = 1;

    rc = bench_algorithms_open(&job->native, job->run.control, job->shape.nodes,
                               only_default ? &none : row->knobs, &set, notes, sizeof(notes));
    if (rc)
        return rc;
    if (job->text && notes[0])
        fprintf(job->text, "\n%s: not all of the library's algorithms are compared: %s", row->name,
                notes);
    rc = check_names(job, row, &set);
    for (int i = 0; i < job->options.n_sizes && !rc; i++) {
        if (bench_sweep_size(&job->run, row, &set, job->options.sizes[i], fresh, &result)) {
            job->failed = 1;
            continue;
        }
        fresh = 0;
        keep(job, &result);
    }
    bench_algorithms_close(&job->native, &set);
    return rc;
}

/* One size of settle(). */
static int settle_size(struct job *job, const struct bench_collective *row,
                       const struct bench_algorithm *own, MPI_Comm comm, size_t bytes, int first)
{
    struct bench_settled result;
    int rc = bench_settle_size(&job->run, row, own, comm, bytes, &result);

    if (rc)
        return rc;
    job->failed |= job->options.verify && !result.verified;
    if (job->text)
        bench_settle_print(job->text, &result, first);
    return job->json ? bench_settle_json(job->json, &job->run, &result) : 0;
}

static int settle_alone(struct job *job, const struct bench_collective *row,
                        const struct bench_algorithm *own, MPI_Comm comm, size_t bytes, int first)
{
    struct bench_lone result;
    int rc = bench_settle_lone(&job->run, row, is_preload(job->options.alone) ? NULL : own, comm,
                               bytes, &result);

    if (rc)
        return rc;
    job->failed |= job->options.verify && !result.verified;
    if (job->text)
        bench_settle_lone_print(job->text, &result, first);
    return job->json ? bench_settle_lone_json(job->json, &job->run, &result) : 0;
}

/* The same sizes, as a program meets them: see settle.h. */
static int settle(struct job *job, const struct bench_collective *row, int first)
{
    const struct bench_knob none = {.cvar = NULL};
    struct bench_algorithms set;
    char notes[512];
    MPI_Comm comm;
    int rc = bench_algorithms_open(&job->native, job->run.control, job->shape.nodes, &none, &set,
                                   notes, sizeof(notes));

    if (rc)
        return rc;
    job->native.Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < job->options.n_sizes; i++) {
        if ((job->options.alone ? settle_alone : settle_size)(
                job, row, &set.list[0], comm, job->options.sizes[i], first && i == 0))
            job->failed = 1;
        else
            job->n_results++;
    }
    job->native.Comm_free(&comm);
    bench_algorithms_close(&job->native, &set);
    return 0;
}

/* A preload on some ranks only would have them call different things, and wait for ever. */
static int check_preload(const struct job *job)
{
    int with[2] = {job->preload != NULL, job->preload == NULL};

    job->native.Allreduce(MPI_IN_PLACE, with, 2, MPI_INT, MPI_SUM, job->run.control);
    if (((job->options.settle && !job->options.alone) || is_preload(job->options.alone)) &&
        !with[0]) {
        if (job->shape.rank == 0)
            fprintf(stderr, "collshim: bench: --%s: there is no preload to time; set LD_PRELOAD\n",
                    job->options.alone ? "alone collshim" : "settle");
        return -EINVAL;
    }
    if (!with[0] || !with[1])
        return 0;
    if (job->shape.rank == 0)
        fprintf(stderr,
                "collshim: bench: %d ranks have the preload and %d have not; pass LD_PRELOAD to "
                "all (mpirun -x LD_PRELOAD, or -genv)\n",
                with[0], with[1]);
    return -EINVAL;
}

static int run_job(struct job *job)
{
    size_t most = (size_t)(job->options.n_sizes * job->options.n_collectives);
    int rc;

    job->results = calloc(most, sizeof(*job->results));
    rc = job->results ? bench_shape_make(&job->native, job->run.control, &job->shape) : -ENOMEM;
    if (!rc)
        rc = bench_connect(&job->native, job->run.control);
    if (rc) {
        fprintf(stderr, "collshim: bench: not enough memory to begin with\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (check_preload(job))
        return 2;
    if (open_demand(job))
        return 2;
    if (open_outputs(job))
        return 1;
    if (job->shape.rank == 0)
        bench_progress_begin();
    measure_rates(job);
    job->run.text = job->text;
    if (job->text)
        bench_report_conditions(job->text, &job->run, job->preload);
    for (int i = 0; i < job->options.n_collectives && !rc; i++)
        rc = job->options.settle ? settle(job, job->options.collectives[i], i == 0)
                                 : sweep(job, job->options.collectives[i]);
    if (job->text && job->n_results && !job->options.settle)
        bench_report_table(job->text, &job->run, job->results, job->n_results);
    if (job->json && job->json != stdout)
        fclose(job->json);
    bench_rates_free(&job->rates);
    bench_demand_close();
    bench_shape_free(&job->shape);
    free(job->results);
    if (rc)
        return rc == -EINVAL ? 2 : 1;
    return job->failed || !job->n_results;
}

int main(int argc, char **argv)
{
    static struct job job;
    int status = bench_options_parse(argc, argv, is_first_rank(), &job.options);
    char why[256];

    if (status != BENCH_RUN)
        return status;
    if (!job.options.settle || !job.options.alone) /* else nothing differs from other programs */
        bench_algorithms_prepare();
    MPI_Init(&argc, &argv);
    bench_algorithms_begin();
    if (bench_mpi_native(&job.native, why, sizeof(why))) {
        fprintf(stderr, "collshim: bench: native calls cannot be told from rerouted ones: %s\n",
                why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bench_mpi_application(&job.app);
    job.preload = bench_mpi_preload(&job.app, &job.native);
    job.run = (struct bench_run){
        .options = &job.options,
        .native = &job.native,
        .app = job.preload ? &job.app : NULL,
        .shape = &job.shape,
    };
    job.native.Comm_dup(MPI_COMM_WORLD, &job.run.control);
    status = run_job(&job);
    job.native.Comm_free(&job.run.control);
    bench_algorithms_end();
    MPI_Finalize();
    return status;
}
