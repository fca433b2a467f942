/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-overhead: the time that a preload adds to a call that it does not reroute, in
 * nanoseconds. The cheapest collectives, one int on MPI_COMM_SELF, are called in short batches, in
 * turn natively and as an application would. The figure is the median over the pairs of the
 * difference between neighbours. Rejected: timing all of one and then all of the other, because the
 * clock of a shared core drifts by more than the few nanoseconds to be measured.
 *
 * With several ranks it is the time of a call of 1 KiB on MPI_COMM_WORLD, of the rank that takes
 * longest.
 *
 * A program of its own, apart from collshim-bench: no data worth verifying, and figures a thousand
 * times smaller than the other's.
 */
#define _GNU_SOURCE
#include "mpi_table.h"
#include "report.h"
#include "stats.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 2000, CALLS = 500, RANKS_MOST = 64, SMALL = 256 };

/* Its calls are of n ints, on comm. */
struct probe {
    const char *name;
    int small; /* with several ranks, of SMALL ints; else on one, of one int */
    /* Call it CALLS times over. */
    void (*batch)(const struct bench_mpi *mpi, int n, MPI_Comm comm);
};

static int in[SMALL], out[SMALL * RANKS_MOST];

static void allreduce(const struct bench_mpi *mpi, int n, MPI_Comm comm)
{
    for (int i = 0; i < CALLS; i++)
        mpi->Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
}

static void allgather(const struct bench_mpi *mpi, int n, MPI_Comm comm)
{
    for (int i = 0; i < CALLS; i++)
        mpi->Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
}

static void bcast(const struct bench_mpi *mpi, int n, MPI_Comm comm)
{
    for (int i = 0; i < CALLS; i++)
        mpi->Bcast(in, n, MPI_INT, 0, comm);
}

/* With the wait, which is the library's own. */
static void iallreduce(const struct bench_mpi *mpi, int n, MPI_Comm comm)
{
    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;

        mpi->Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &request);
        mpi->Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void ialltoallv(const struct bench_mpi *mpi, int n, MPI_Comm comm)
{
    int displ = 0;

    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;

        mpi->Ialltoallv(in, &n, &displ, MPI_INT, out, &n, &displ, MPI_INT, comm, &request);
        mpi->Wait(&request, MPI_STATUS_IGNORE);
    }
}

static const struct probe probes[] = {
    {"allreduce", 0, allreduce},   {"allgather", 0, allgather}, {"iallreduce", 0, iallreduce},
    {"ialltoallv", 0, ialltoallv}, {"allreduce", 1, allreduce}, {"allgather", 1, allgather},
    {"bcast", 1, bcast},
};

static double ns_per_call(const struct probe *probe, const struct bench_mpi *mpi)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    probe->batch(mpi, probe->small ? SMALL : 1, probe->small ? MPI_COMM_WORLD : MPI_COMM_SELF);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

static void tell(const struct probe *probe, double of_native[], double of_app[], double added[],
                 int ranks, const char *preload, FILE *json)
{
    const char *mode = getenv("COLLSHIM_MODE");
    struct bench_stats n = bench_stats_of(of_native, BATCHES);
    struct bench_stats a = bench_stats_of(of_app, BATCHES);
    struct bench_stats d = bench_stats_of(added, BATCHES);
    struct json j;

    fprintf(json == stdout ? stderr : stdout,
            "%s of %s: native %.1f ns, as called %.1f ns, added %.1f ns "
            "(%s, COLLSHIM_MODE=%s, median of %d pairs of %d calls)\n",
            probe->name, probe->small ? "1 KiB on MPI_COMM_WORLD" : "one int on MPI_COMM_SELF",
            n.median, a.median, d.median, preload ? "preloaded" : "no preload", mode ? mode : "",
            BATCHES, CALLS);
    if (!json)
        return;
    j = bench_report_line(json);
    json_string(&j, "benchmark", "overhead");
    json_string(&j, "collective", probe->name);
    json_int(&j, "ranks", ranks);
    json_string(&j, "mode", mode);
    json_rounded(&j, "native_ns", 6, n.median);
    json_rounded(&j, "called_ns", 6, a.median);
    json_rounded(&j, "added_ns", 6, d.median);
    json_int(&j, "pairs", BATCHES);
    json_string(&j, "preload", preload);
    bench_report_line_end(&j);
}

static void measure(const struct probe *probe, const struct bench_mpi *native,
                    const struct bench_mpi *app, int ranks, FILE *json)
{
    static double of_native[BATCHES], of_app[BATCHES], added[BATCHES];
    int rank;

    for (int i = -BATCHES / 10; i < BATCHES; i++) { /* the negative ones warm up */
        int k = i < 0 ? 0 : i, native_first = i & 1;

        if (native_first)
            of_native[k] = ns_per_call(probe, native);
        of_app[k] = ns_per_call(probe, app);
        if (!native_first)
            of_native[k] = ns_per_call(probe, native);
    }
    native->Allreduce(MPI_IN_PLACE, of_native, BATCHES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    native->Allreduce(MPI_IN_PLACE, of_app, BATCHES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int k = 0; k < BATCHES; k++)
        added[k] = of_app[k] - of_native[k];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        tell(probe, of_native, of_app, added, ranks, bench_mpi_preload(app, native), json);
}

int main(int argc, char **argv)
{
    struct bench_mpi native, app;
    FILE *json = NULL;
    char why[256];
    int ranks;

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        printf("Usage: %s [--json FILE]\n\n"
               "Times one-int collectives on MPI_COMM_SELF in one process, natively and as an\n"
               "application calls them, and prints the difference: what a preload costs a call\n"
               "that it passes on. Several ranks, 64 at most: collectives of 1 KiB per rank on\n"
               "MPI_COMM_WORLD. Set LD_PRELOAD and COLLSHIM_MODE (off, on) before; without a\n"
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
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > RANKS_MOST) {
        fprintf(stderr, "collshim: overhead: %d ranks; expected 1 to %d\n", ranks, RANKS_MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
        if (probes[i].small == (ranks > 1))
            measure(&probes[i], &native, &app, ranks, json);
    MPI_Finalize();
    return 0;
}
