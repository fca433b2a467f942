/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-persistent: a persistent Allreduce from its start to its completion, beside the blocking
 * call and a nonblocking one, in turn. A persistent call saves the planning, agreeing and guarding
 * of a blocking one.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { MOST_REPETITIONS = 100000, WARM = 10 };

/* The function is looked up, since mpi.h lacks it before MPI 4.0. */
typedef int (*allreduce_init)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                              MPI_Request *);

static double took[3][MOST_REPETITIONS];

static double once(int form, const int *in, int *out, int n, MPI_Request *made)
{
    MPI_Request q;
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (form == 0) {
        MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (form == 1) {
        MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    } else {
        MPI_Start(made);
        MPI_Wait(made, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    int n = (argc > 1 ? atoi(argv[1]) : 65536) / (int)sizeof(int), rank;
    int repetitions = argc > 2 ? atoi(argv[2]) : 1000;
    int *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);
    void *symbol = dlsym(RTLD_DEFAULT, "MPI_Allreduce_init");
    allreduce_init make;
    MPI_Request made;

    if (n < 1 || repetitions < 1 || repetitions > MOST_REPETITIONS || !in || !out || !symbol) {
        fprintf(stderr,
                "Usage: %s [BYTES [REPETITIONS]]\n"
                "Times MPI_Allreduce, MPI_Iallreduce and a persistent one, each to its "
                "completion.\nNeeds MPI_Allreduce_init, of the library or the preload.\n",
                argv[0]);
        return 2;
    }
    memcpy(&make, &symbol, sizeof make);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < WARM; i++)
        once(0, in, out, n, NULL);
    if (make(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &made) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = -WARM; i < repetitions; i++)
        for (int form = 0; form < 3; form++) {
            double own = once(form, in, out, n, &made), most;

            MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            took[form][i < 0 ? 0 : i] = most;
        }
    MPI_Request_free(&made);
    if (rank == 0) {
        double blocking = bench_stats_of(took[0], repetitions).median * 1e6;
        double started = bench_stats_of(took[1], repetitions).median * 1e6;
        double persistent = bench_stats_of(took[2], repetitions).median * 1e6;

        printf(
            "Allreduce of %d bytes, us: blocking %.1f, nonblocking %.1f, persistent %.1f (%.3f of "
            "blocking), medians of %d\n",
            n * (int)sizeof(int), blocking, started, persistent, persistent / blocking,
            repetitions);
    }
    MPI_Finalize();
    return 0;
}
