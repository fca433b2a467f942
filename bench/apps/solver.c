/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solver N TIMES: hypre's conjugate gradients with algebraic multigrid on the 27-point stencil over
 * N^3 points, as HPCG has it, TIMES times from zero, with one set-up.
 *
 * Prints the seconds of set-up and solves of the slowest rank, the iterations of a solve, and the
 * sum of the solution.
 */
#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <stdio.h>
#include <stdlib.h>

static void fill(HYPRE_IJMatrix a, HYPRE_BigInt first, HYPRE_BigInt last, int n)
{
    for (HYPRE_BigInt row = first; row <= last; row++) {
        int x = (int)(row % n), y = (int)(row / n % n), z = (int)(row / n / n), k = 0;
        HYPRE_BigInt column[27];
        HYPRE_Complex value[27];

        for (int w = z - 1; w <= z + 1; w++)
            for (int v = y - 1; v <= y + 1; v++)
                for (int u = x - 1; u <= x + 1; u++) {
                    if (u < 0 || v < 0 || w < 0 || u >= n || v >= n || w >= n)
                        continue;
                    column[k] = ((HYPRE_BigInt)w * n + v) * n + u;
                    value[k] = column[k] == row ? 26 : -1;
                    k++;
                }
        HYPRE_IJMatrixSetValues(a, 1, &k, &row, column, value);
    }
}

static HYPRE_IJVector vector(HYPRE_BigInt first, HYPRE_BigInt last)
{
    HYPRE_IJVector v;

    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &v);
    HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(v);
    return v;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc == 3 ? atoi(argv[1]) : 0, times = argc == 3 ? atoi(argv[2]) : 0;

    if (n < 2 || n > 512 || times < 1) {
        fprintf(stderr, "usage: solver N TIMES: N of 2 to 512, 1 or more times\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    HYPRE_Init();
    HYPRE_BigInt points = (HYPRE_BigInt)n * n * n;
    HYPRE_BigInt first = (HYPRE_BigInt)((long long)points * rank / size);
    HYPRE_BigInt last = (HYPRE_BigInt)((long long)points * (rank + 1) / size) - 1;
    HYPRE_IJMatrix a;
    HYPRE_ParCSRMatrix matrix;
    HYPRE_ParVector right, solution;
    HYPRE_Solver cg, amg;

    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &a);
    HYPRE_IJMatrixSetObjectType(a, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(a);
    fill(a, first, last, n);
    HYPRE_IJMatrixAssemble(a);
    HYPRE_IJMatrixGetObject(a, (void **)&matrix);
    HYPRE_IJVector b = vector(first, last), x = vector(first, last);
    HYPRE_IJVectorGetObject(b, (void **)&right);
    HYPRE_IJVectorGetObject(x, (void **)&solution);
    HYPRE_ParVectorSetConstantValues(right, 1);

    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
    HYPRE_PCGSetTol(cg, 1e-9);
    HYPRE_PCGSetMaxIter(cg, 200);
    HYPRE_PCGSetTwoNorm(cg, 1);
    HYPRE_BoomerAMGCreate(&amg);
    HYPRE_BoomerAMGSetPrintLevel(amg, 0);
    HYPRE_BoomerAMGSetTol(amg, 0);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_PCGSetPrecond(cg, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                        (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);

    MPI_Barrier(MPI_COMM_WORLD);
    double since = MPI_Wtime(), taken, slowest, sum;
    HYPRE_Int iterations = 0;

    HYPRE_ParCSRPCGSetup(cg, matrix, right, solution);
    for (int i = 0; i < times; i++) {
        HYPRE_ParVectorSetConstantValues(solution, 0);
        HYPRE_ParCSRPCGSolve(cg, matrix, right, solution);
    }
    taken = MPI_Wtime() - since;
    HYPRE_PCGGetNumIterations(cg, &iterations);
    HYPRE_ParVectorInnerProd(solution, right, &sum);
    MPI_Reduce(&taken, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("seconds %.6f\niterations %d\nsum %.12g\n", slowest, (int)iterations, sum);
    HYPRE_BoomerAMGDestroy(amg);
    HYPRE_ParCSRPCGDestroy(cg);
    HYPRE_IJMatrixDestroy(a);
    HYPRE_IJVectorDestroy(b);
    HYPRE_IJVectorDestroy(x);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
