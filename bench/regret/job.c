/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job of bench/regret/live: 60 calls each of an Allgather, an Allreduce and a Bcast.
 *
 *     job ALLGATHER_BYTES ALLREDUCE_BYTES BCAST_BYTES CALLS
 *
 * Bytes are the collective's total. A line for each: its name, and the median over the second half
 * of the calls, in microseconds, of what the slowest rank took.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_CALLS = 100000 };

static char *in, *out;
static int bytes[3], ranks, rank;

static void call(int which)
{
    int block = bytes[0] / ranks;

    if (which == 0)
        MPI_Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
    else if (which == 1)
        MPI_Allreduce(in, out, bytes[1] / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Bcast(out, bytes[2], MPI_BYTE, 0, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"allgather", "allreduce", "bcast"};
    static double us[MOST_CALLS], slowest[MOST_CALLS];
    int calls = argc == 5 ? atoi(argv[4]) : 0, most = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3 && argc == 5; i++) {
        bytes[i] = atoi(argv[1 + i]);
        most = bytes[i] > most ? bytes[i] : most;
    }
    in = calloc(1, (size_t)most + 1);
    out = calloc(1, (size_t)most + 1);
    if (calls < 2 || calls > MOST_CALLS || bytes[0] < ranks || bytes[1] < 4 || bytes[2] < 1 ||
        !in || !out) {
        if (!rank)
            fputs("usage: job ALLGATHER_BYTES ALLREDUCE_BYTES BCAST_BYTES CALLS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int which = 0; which < 3; which++) {
        int half = calls / 2;

        for (int k = 0; k < calls; k++) {
            PMPI_Barrier(MPI_COMM_WORLD);
            us[k] = -MPI_Wtime() * 1e6;
            call(which);
            us[k] += MPI_Wtime() * 1e6;
        }
        PMPI_Reduce(us, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        qsort(slowest + half, (size_t)(calls - half), sizeof *slowest, ascending);
        if (!rank)
            printf("%s %.1f\n", names[which], slowest[half + (calls - half) / 2]);
    }
    MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
