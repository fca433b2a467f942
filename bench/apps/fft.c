/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft N PAIRS: 3-D transforms of N^3 complex numbers, forward and back, PAIRS times. Each rank has
 * planes of them, which FFTW transforms. Each transform has one transposition over all ranks: an
 * MPI_Alltoall where the ranks divide N, else an MPI_Alltoallv. (FFTW's own transposition would
 * send point to point.)
 *
 * Prints the seconds in transforms of the slowest rank, a weighed sum over the last spectrum, and
 * the largest difference from the numbers at the beginning. The weights differ by place, so blocks
 * that change places are seen.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(uint64_t at)
{
    at *= UINT64_C(0xbf58476d1ce4e5b9);
    at = (at ^ (at >> 31)) * UINT64_C(0x94d049bb133111eb);
    return (double)(at >> 40) / (double)(1 << 24) - 0.5;
}

/* The first of N things that are rank's, of ranks. */
static ptrdiff_t begin(ptrdiff_t n, int rank, int ranks)
{
    return n * rank / ranks;
}

/* Planes with rows of all ranks, and between the buffers the blocks of each. */
static void pack(fftw_complex *planes, fftw_complex *blocks, ptrdiff_t n, ptrdiff_t mine, int ranks,
                 int back)
{
    for (int r = 0; r < ranks; r++) {
        ptrdiff_t first = begin(n, r, ranks), rows = begin(n, r + 1, ranks) - first;

        for (ptrdiff_t i = 0; i < mine; i++) {
            fftw_complex *plane = planes + (i * n + first) * n;
            fftw_complex *block = blocks + (first * mine + i * rows) * n;

            memcpy(back ? plane : block, back ? block : plane, (size_t)(rows * n) * sizeof *plane);
        }
    }
}

/* Block r of from goes to rank r. Both sides have mine of n rows with each of n planes. */
static void transpose(fftw_complex *from, fftw_complex *to, ptrdiff_t n, ptrdiff_t mine, int ranks)
{
    int count[ranks], at[ranks];

    for (int r = 0; r < ranks; r++) {
        at[r] = (int)(2 * begin(n, r, ranks) * mine * n);
        count[r] = (int)(2 * begin(n, r + 1, ranks) * mine * n) - at[r];
    }
    if (n % ranks)
        MPI_Alltoallv(from, count, at, MPI_DOUBLE, to, count, at, MPI_DOUBLE, MPI_COMM_WORLD);
    else
        MPI_Alltoall(from, count[0], MPI_DOUBLE, to, count[0], MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ptrdiff_t n = argc == 3 ? atol(argv[1]) : 0;
    int pairs = argc == 3 ? atoi(argv[2]) : 0;

    if (n < 2 || n > 1024 || pairs < 1) {
        fprintf(stderr, "usage: fft N PAIRS: N of 2 to 1024, 1 or more pairs\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    ptrdiff_t first = begin(n, rank, ranks), mine = begin(n, rank + 1, ranks) - first;
    ptrdiff_t have = mine * n * n;
    fftw_complex *x = fftw_alloc_complex((size_t)have + 1),
                 *y = fftw_alloc_complex((size_t)have + 1);
    if (!x || !y) {
        fprintf(stderr, "fft: out of memory; a smaller N would do\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int side = (int)n, sides[] = {side, side}, columns = (int)(mine * n);
    fftw_plan plans[2][2]; /* forward and back: planes in x, then columns across them in x */
    for (int back = 0; back < 2; back++) {
        int sign = back ? FFTW_BACKWARD : FFTW_FORWARD;

        plans[back][0] = fftw_plan_many_dft(2, sides, (int)mine, x, NULL, 1, side * side, x, NULL,
                                            1, side * side, sign, FFTW_ESTIMATE);
        plans[back][1] = fftw_plan_many_dft(1, sides, columns, x, NULL, columns, 1, x, NULL,
                                            columns, 1, sign, FFTW_ESTIMATE);
    }
    uint64_t in = (uint64_t)(first * n * n);

    for (ptrdiff_t i = 0; i < have; i++)
        x[i] = number(2 * (in + (uint64_t)i)) + I * number(2 * (in + (uint64_t)i) + 1);
    double taken = 0, sum = 0, error = 0, all_taken, all_sum, all_error,
           scale = 1 / pow((double)n, 3);

    MPI_Barrier(MPI_COMM_WORLD);
    for (int pair = 0; pair < pairs; pair++) {
        double since = MPI_Wtime();

        fftw_execute(plans[0][0]);
        pack(x, y, n, mine, ranks, 0);
        transpose(y, x, n, mine, ranks);
        fftw_execute(plans[0][1]);
        if (pair == pairs - 1) { /* outside the time */
            taken += MPI_Wtime() - since;
            for (ptrdiff_t i = 0; i < have; i++) {
                ptrdiff_t at = i / columns * n * n + first * n + i % columns;

                sum += number((uint64_t)at) * (creal(x[i]) + cimag(x[i]));
            }
            since = MPI_Wtime();
        }
        fftw_execute(plans[1][1]);
        transpose(x, y, n, mine, ranks);
        pack(x, y, n, mine, ranks, 1);
        fftw_execute(plans[1][0]);
        for (ptrdiff_t i = 0; i < have; i++)
            x[i] *= scale;
        taken += MPI_Wtime() - since;
    }
    for (ptrdiff_t i = 0; i < have; i++) {
        double re = number(2 * (in + (uint64_t)i)), im = number(2 * (in + (uint64_t)i) + 1);

        error = fmax(error, cabs(x[i] - (re + I * im)));
    }
    MPI_Reduce(&taken, &all_taken, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &all_sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&error, &all_error, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("seconds %.6f\nspectrum %.15g\nerror %s (%.3g)\n", all_taken, all_sum,
               all_error < 1e-12 ? "small" : "large", all_error);
    for (int i = 0; i < 4; i++)
        fftw_destroy_plan(plans[i / 2][i % 2]);
    fftw_free(x);
    fftw_free(y);
    MPI_Finalize();
    return 0;
}
