/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft N PAIRS: 3-D transforms of N^3 complex numbers by FFTW, forward and back, PAIRS times. Each
 * transform has one transposition over all ranks: an MPI_Alltoall where the ranks divide N, else an
 * MPI_Alltoallv.
 *
 * Prints the seconds in transforms of the slowest rank, a weighed sum over the last spectrum, and
 * the largest difference from the numbers at the beginning. The weights differ by place, so blocks
 * that change places are seen.
 */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double number(uint64_t at)
{
    at *= UINT64_C(0xbf58476d1ce4e5b9);
    at = (at ^ (at >> 31)) * UINT64_C(0x94d049bb133111eb);
    return (double)(at >> 40) / (double)(1 << 24) - 0.5;
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ptrdiff_t n = argc == 3 ? atol(argv[1]) : 0;
    int pairs = argc == 3 ? atoi(argv[2]) : 0;

    if (n < 2 || n > 1024 || pairs < 1) {
        fprintf(stderr, "usage: fft N PAIRS: N of 2 to 1024, 1 or more pairs\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fftw_mpi_init();
    ptrdiff_t planes, first, rows, first_row;
    ptrdiff_t room = fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &planes, &first,
                                                       &rows, &first_row);
    fftw_complex *x = fftw_alloc_complex((size_t)room);
    if (!x) {
        fprintf(stderr, "fft: out of memory; a smaller N would do\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fftw_plan forward = fftw_mpi_plan_dft_3d(n, n, n, x, x, MPI_COMM_WORLD, FFTW_FORWARD,
                                             FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan back = fftw_mpi_plan_dft_3d(n, n, n, x, x, MPI_COMM_WORLD, FFTW_BACKWARD,
                                          FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
    uint64_t in = (uint64_t)(first * n * n), out = (uint64_t)(first_row * n * n);
    ptrdiff_t have = planes * n * n;

    for (ptrdiff_t i = 0; i < have; i++)
        x[i] = number(2 * (in + (uint64_t)i)) + I * number(2 * (in + (uint64_t)i) + 1);
    double taken = 0, sum = 0, error = 0, all_taken, all_sum, all_error,
           scale = 1 / pow((double)n, 3);

    MPI_Barrier(MPI_COMM_WORLD);
    for (int pair = 0; pair < pairs; pair++) {
        double since = MPI_Wtime();

        fftw_execute(forward);
        if (pair == pairs - 1) { /* outside the time */
            taken += MPI_Wtime() - since;
            for (ptrdiff_t i = 0; i < rows * n * n; i++)
                sum += number(out + (uint64_t)i) * (creal(x[i]) + cimag(x[i]));
            since = MPI_Wtime();
        }
        fftw_execute(back);
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
    fftw_destroy_plan(forward);
    fftw_destroy_plan(back);
    fftw_free(x);
    MPI_Finalize();
    return 0;
}
