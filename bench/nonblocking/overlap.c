/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-overlap: what a nonblocking collective costs that is waited for at once, and how much of
 * it hides behind computing, natively and as an application calls it, in one run and in turn.
 * Overlap is as OSU's benchmarks define it: computing takes as long as the call that is waited for
 * at once, and overlap is the part of that time that the call does not add. With --tests N,
 * MPI_Test is called N times meanwhile.
 */
#include "mpi_table.h"
#include "report.h"
#include "stats.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REPETITIONS = 1000 };

struct buffers {
    char *in, *out;
    int n; /* ints of the vector, or of all blocks */
    int ranks;
};

static int repetitions = 20, tests;
static int rank, ranks;

static void block_allreduce(const struct bench_mpi *m, const struct buffers *b)
{
    m->Allreduce(b->in, b->out, b->n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void start_allreduce(const struct bench_mpi *m, const struct buffers *b, MPI_Request *q)
{
    m->Iallreduce(b->in, b->out, b->n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, q);
}

static void block_allgather(const struct bench_mpi *m, const struct buffers *b)
{
    m->Allgather(b->in, b->n / b->ranks, MPI_INT, b->out, b->n / b->ranks, MPI_INT, MPI_COMM_WORLD);
}

static void start_allgather(const struct bench_mpi *m, const struct buffers *b, MPI_Request *q)
{
    m->Iallgather(b->in, b->n / b->ranks, MPI_INT, b->out, b->n / b->ranks, MPI_INT, MPI_COMM_WORLD,
                  q);
}

static void block_alltoall(const struct bench_mpi *m, const struct buffers *b)
{
    m->Alltoall(b->in, b->n / b->ranks, MPI_INT, b->out, b->n / b->ranks, MPI_INT, MPI_COMM_WORLD);
}

static void start_alltoall(const struct bench_mpi *m, const struct buffers *b, MPI_Request *q)
{
    m->Ialltoall(b->in, b->n / b->ranks, MPI_INT, b->out, b->n / b->ranks, MPI_INT, MPI_COMM_WORLD,
                 q);
}

static void block_bcast(const struct bench_mpi *m, const struct buffers *b)
{
    m->Bcast(b->out, b->n, MPI_INT, 0, MPI_COMM_WORLD);
}

static void start_bcast(const struct bench_mpi *m, const struct buffers *b, MPI_Request *q)
{
    m->Ibcast(b->out, b->n, MPI_INT, 0, MPI_COMM_WORLD, q);
}

static const struct form {
    const char *name;
    void (*block)(const struct bench_mpi *m, const struct buffers *b);
    void (*start)(const struct bench_mpi *m, const struct buffers *b, MPI_Request *q);
} forms[] = {{"allreduce", block_allreduce, start_allreduce},
             {"allgather", block_allgather, start_allgather},
             {"alltoall", block_alltoall, start_alltoall},
             {"bcast", block_bcast, start_bcast}};

/* Compute for so many seconds; with tests, in as many pieces. */
static void compute(double seconds, MPI_Request *q)
{
    double start = MPI_Wtime(), now = start;
    int done = 0, called = 0;

    while (now - start < seconds) {
        if (tests && !done && now - start >= seconds * (called + 1) / (tests + 1)) {
            MPI_Test(q, &done, MPI_STATUS_IGNORE);
            called++;
        }
        now = MPI_Wtime();
    }
}

/* The slowest rank's time of one call. computes < 0: the blocking one. */
static double once(const struct bench_mpi *native, const struct bench_mpi *m, const struct form *f,
                   const struct buffers *b, double computes)
{
    MPI_Request q;
    double start, took;

    native->Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (computes < 0) {
        f->block(m, b);
    } else {
        f->start(m, b, &q);
        if (computes > 0)
            compute(computes, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    took = MPI_Wtime() - start;
    native->Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

static void measure(const struct bench_mpi *native, const struct bench_mpi *app,
                    const struct form *f, const struct buffers *b)
{
    static double blocking[2][MOST_REPETITIONS], pure[2][MOST_REPETITIONS],
        total[2][MOST_REPETITIONS];
    const struct bench_mpi *way[2] = {native, app};
    double overlap[2], median[2][3], computes[2];

    for (int i = -2; i < repetitions; i++)
        for (int w = 0; w < 2; w++) {
            int k = i < 0 ? 0 : i;

            blocking[w][k] = once(native, way[w], f, b, -1);
            pure[w][k] = once(native, way[w], f, b, 0);
        }
    for (int w = 0; w < 2; w++)
        computes[w] = bench_stats_of(pure[w], repetitions).median;
    for (int i = 0; i < repetitions; i++)
        for (int w = 0; w < 2; w++)
            total[w][i] = once(native, way[w], f, b, computes[w]);
    for (int w = 0; w < 2; w++) {
        median[w][0] = bench_stats_of(blocking[w], repetitions).median * 1e6;
        median[w][1] = computes[w] * 1e6;
        median[w][2] = bench_stats_of(total[w], repetitions).median * 1e6;
        overlap[w] = 100 * (1 - (median[w][2] - median[w][1]) / median[w][1]);
        overlap[w] = overlap[w] < 0 ? 0 : overlap[w];
    }
    if (rank == 0)
        printf("%-10s %9d  %9.0f %9.0f %5.0f %%  %9.0f %9.0f %5.0f %%  %5.2f %5.2f\n", f->name,
               b->n * (int)sizeof(int), median[0][0], median[0][1], overlap[0], median[1][0],
               median[1][1], overlap[1], median[1][1] / median[1][0], median[1][1] / median[0][1]);
    fflush(stdout);
}

static int usage(const char *program)
{
    fprintf(
        stderr,
        "Usage: %s [--tests N] [--repetitions N] [BYTES...]\n\n"
        "Times collectives natively and as an application calls them: blocking, nonblocking and\n"
        "waited for at once, and with computing in between (overlap, with N calls of MPI_Test).\n"
        "Set LD_PRELOAD and COLLSHIM_CHOOSE=always. BYTES: of the vector, or of all blocks; 1 MiB "
        "and 4 MiB by default.\n",
        program);
    return 2;
}

int main(int argc, char **argv)
{
    int sizes[16] = {1 << 20, 1 << 22}, nsizes = 2, given = 0;
    struct bench_mpi native, app;
    char why[256];

    for (int i = 1; i < argc; i++) {
        int *to = !strcmp(argv[i], "--tests")         ? &tests
                  : !strcmp(argv[i], "--repetitions") ? &repetitions
                                                      : NULL;

        if (to && i + 1 < argc)
            *to = atoi(argv[++i]);
        else if (argv[i][0] == '-' || given == 16 || atoi(argv[i]) < 64)
            return usage(argv[0]);
        else
            sizes[given++] = atoi(argv[i]);
    }
    if (repetitions < 1 || repetitions > MOST_REPETITIONS || tests < 0)
        return usage(argv[0]);
    nsizes = given ? given : nsizes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (bench_mpi_native(&native, why, sizeof why)) {
        fprintf(stderr, "collshim: overlap: native calls cannot be found: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bench_mpi_application(&app);
    if (rank == 0)
        printf("%d ranks, times in us, %d calls of MPI_Test, medians of %d\n"
               "                          native                         collshim%s\n"
               "collective     bytes   blocking   at once  hidden   blocking   at once  hidden  "
               "/blocking /native\n",
               ranks, tests, repetitions,
               bench_mpi_preload(&app, &native) ? "" : " (not preloaded)");
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int i = 0; i < nsizes; i++) {
            struct buffers b = {.n = sizes[i] / (int)sizeof(int), .ranks = ranks};

            b.in = calloc((size_t)b.n, sizeof(int));
            b.out = calloc((size_t)b.n, sizeof(int));
            if (!b.in || !b.out)
                MPI_Abort(MPI_COMM_WORLD, 1);
            measure(&native, &app, &forms[f], &b);
            free(b.in);
            free(b.out);
        }
    MPI_Finalize();
    return 0;
}
