/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An unmodified MPI program for the preload's tests: checks the results of three collectives
 * and prints one line on rank 0. Built once per MPI, as a program and (-DPLUGIN) as a shared
 * object that a program without MPI opens.
 */
#include <mpi.h>
#include <stdio.h>

#define RANKS_MAX 64

static int wrong_values(int rank, int ranks)
{
    int got[RANKS_MAX];
    int counts[RANKS_MAX];
    int offsets[RANKS_MAX];
    int wrong = 0;

    int mine = 7 * rank + 1;
    MPI_Allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        wrong += got[r] != 7 * r + 1;

    for (int r = 0; r < ranks; r++) {
        counts[r] = 1;
        offsets[r] = ranks - 1 - r;
    }
    MPI_Allgatherv(&mine, 1, MPI_INT, got, counts, offsets, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        wrong += got[ranks - 1 - r] != 7 * r + 1;

    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return wrong + (sum != ranks * (ranks - 1) / 2);
}

#ifdef PLUGIN
int app_main(int argc, char **argv);
int app_main(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
    int rank;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int wrong = ranks <= RANKS_MAX ? wrong_values(rank, ranks) : 1;
    int total = 0;
    MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("app: %s on %d\n", total ? "wrong" : "right", ranks);
    MPI_Finalize();
    return total != 0;
}
