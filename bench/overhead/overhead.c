/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-overhead: the time that a preload adds to a call that it does not reroute, in
 * nanoseconds. The cheapest collectives, one int on MPI_COMM_SELF, are called in short batches, in
 * turn natively and as an application would. The figure is the median over the pairs of the
 * difference between neighbours. Rejected: timing all of one and then all of the other, because the
 * clock of a shared core drifts by more than the few nanoseconds to be measured.
 *
 * A program of its own, apart from collshim-bench: one rank, no data worth verifying, and figures
 * a thousand times smaller than the other's.
 */
#define _GNU_SOURCE
#include "mpi_table.h"
#include "report.h"
#include "stats.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 2000, CALLS = 500 };

struct probe {
    const char *name;
    /* Call it CALLS times over. */
    void (*batch)(const struct bench_mpi *mpi);
};

static void allreduce(const struct bench_mpi *mpi)
{
    int in = 1, out;

    for (int i = 0; i < CALLS; i++)
        mpi->Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void allgather(const struct bench_mpi *mpi)
{
    int in = 1, out;

    for (int i = 0; i < CALLS; i++)
        mpi->Allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_SELF);
}

/* With the wait, which is the library's own. */
static void iallreduce(const struct bench_mpi *mpi)
{
    int in = 1, out;

    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;

        mpi->Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
        mpi->Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void ialltoallv(const struct bench_mpi *mpi)
{
    int in = 1, out, count = 1, displ = 0;

    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;

        mpi->Ialltoallv(&in, &count, &displ, MPI_INT, &out, &count, &displ, MPI_INT, MPI_COMM_SELF,
                        &request);
        mpi->Wait(&request, MPI_STATUS_IGNORE);
    }
}

static const struct probe probes[] = {
    {"allreduce", allreduce},
    {"allgather", allgather},
    {"iallreduce", iallreduce},
    {"ialltoallv", ialltoallv},
};

static double ns_per_call(const struct probe *probe, const struct bench_mpi *mpi)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    probe->batch(mpi);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

static void measure(const struct probe *probe, const struct bench_mpi *native,
                    const struct bench_mpi *app, const char *preload, FILE *json)
{
    static double of_native[BATCHES], of_app[BATCHES], added[BATCHES];
    const char *mode = getenv("COLLSHIM_MODE");
    struct bench_stats n, a, d;
    struct json j;

    for (int i = -BATCHES / 10; i < BATCHES; i++) { /* the negative ones warm up */
        int k = i < 0 ? 0 : i, native_first = i & 1;

        if (native_first)
            of_native[k] = ns_per_call(probe, native);
        of_app[k] = ns_per_call(probe, app);
        if (!native_first)
            of_native[k] = ns_per_call(probe, native);
        added[k] = of_app[k] - of_native[k];
    }
    n = bench_stats_of(of_native, BATCHES);
    a = bench_stats_of(of_app, BATCHES);
    d = bench_stats_of(added, BATCHES);
    fprintf(json == stdout ? stderr : stdout,
            "%s of one int on MPI_COMM_SELF: native %.1f ns, as called %.1f ns, added %.1f ns "
            "(%s, COLLSHIM_MODE=%s, median of %d pairs of %d calls)\n",
            probe->name, n.median, a.median, d.median, preload ? "preloaded" : "no preload",
            mode ? mode : "", BATCHES, CALLS);
    if (!json)
        return;
    j = bench_report_line(json);
    json_string(&j, "benchmark", "overhead");
    json_string(&j, "collective", probe->name);
    json_string(&j, "mode", mode);
    json_rounded(&j, "native_ns", 6, n.median);
    json_rounded(&j, "called_ns", 6, a.median);
    json_rounded(&j, "added_ns", 6, d.median);
    json_int(&j, "pairs", BATCHES);
    json_string(&j, "preload", preload);
    bench_report_line_end(&j);
}

int main(int argc, char **argv)
{
    struct bench_mpi native, app;
    FILE *json = NULL;
    char why[256];

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        printf("Usage: %s [--json FILE]\n\n"
               "Times one-int collectives on MPI_COMM_SELF in one process, natively and as an\n"
               "application calls them, and prints the difference: what a preload costs a call\n"
               "that it passes on. Set LD_PRELOAD and COLLSHIM_MODE (off, on) before; without a\n"
               "preload the difference is the noise of the measurement. FILE may be '-'.\n",
               argv[0]);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--json") == 0)
        json = strcmp(argv[2], "-") ? fopen(argv[2], "w") : stdout;
    if (argc != 1 && !json) {
        fprintf(stderr, "collshim: overhead: wrong options or FILE not writable; see %s --help\n",
                argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    if (bench_mpi_native(&native, why, sizeof(why))) {
        fprintf(stderr, "collshim: overhead: native calls cannot be found: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bench_mpi_application(&app);
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
        measure(&probes[i], &native, &app, bench_mpi_preload(&app, &native), json);
    MPI_Finalize();
    return 0;
}
