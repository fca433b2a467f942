/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks in floating-point modes of their own: floats [SEED [CALLS]], 40 calls of each kind
 *
 * Rank r rounds upwards, downwards, to zero or to nearest. Every third rank flushes small numbers
 * to zero, and every second one traps what a correct program can avoid. A rank keeps its mode and
 * its flags in every call. Exchanges are right although each rank rounds in its own way. Sums are
 * rounded as the program says: in a second part all ranks round upwards, also in calls that were
 * started, and in an error handler.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fenv.h>

#include "test/mpi/harness.h"

/* MPICH's UCX computes with real numbers itself, and its builds may check no arguments. */
#if defined(OPEN_MPI)
enum { HAS_CHECKS = 1 };
enum { TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_INEXACT, FLAGS = FE_ALL_EXCEPT };
#else
enum { HAS_CHECKS = 0 };
enum { TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW, FLAGS = TRAPS };
#endif
enum { MOST = 8, BLOCK = 3001, SUMS = 16411 };

/* As <xmmintrin.h> has it; elsewhere a mode of <fenv.h> is all there is. */
static unsigned control(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu;
#else
    return (unsigned)fegetround();
#endif
}

static void flush_to_zero(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

static unsigned wanted;

static void check_mode(const char *where, int k)
{
    if (control() != wanted)
        fail("%s, call %d: the mode is %#x, not %#x", where, k, control(), wanted);
    if (fegetexcept() != (world_rank % 2 ? TRAPS : 0))
        fail("%s, call %d: other traps", where, k);
}

/* Nothing in a call without real numbers raises a flag. */
static void check_flags(const char *where, int k)
{
    if (fetestexcept(FLAGS))
        fail("%s, call %d: flags %#x are raised", where, k, fetestexcept(FLAGS));
}

static int size_of(int from, int to, int k)
{
    return BLOCK * (1 + (from * 5 + to * 3 + k) % 7) * (from == to % world_size ? 4 : 1);
}

static void exchange(int k)
{
    int sends[MOST], at[MOST], receives[MOST], to[MOST], sent = 0, received = 0;

    for (int i = 0; i < world_size; i++) {
        at[i] = sent;
        to[i] = received;
        sent += sends[i] = size_of(world_rank, i, k);
        received += receives[i] = size_of(i, world_rank, k);
    }
    int *a = malloc(sizeof *a * (size_t)sent), *b = malloc(sizeof *b * (size_t)received);
    for (int i = 0; i < world_size; i++)
        for (int j = 0; j < sends[i]; j++)
            a[at[i] + j] = world_rank * 1000003 + i * 1009 + j + k;
    if (MPI_Alltoallv(a, sends, at, MPI_INT, b, receives, to, MPI_INT, MPI_COMM_WORLD))
        fail("exchange %d: an error", k);
    for (int i = 0; i < world_size; i++)
        for (int j = 0; j < receives[i]; j++)
            if (b[to[i] + j] != i * 1000003 + world_rank * 1009 + j + k) {
                fail("exchange %d: element %d of rank %d is %d", k, j, i, b[to[i] + j]);
                break;
            }
    free(a);
    free(b);
}

/* Sums of integers, and what surrounds them. */
static void integers(int k)
{
    static int a[SUMS], b[SUMS];

    for (int i = 0; i < SUMS; i++)
        a[i] = world_rank + i % 11 + k;
    MPI_Allreduce(a, b, SUMS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < SUMS; i++)
        if (b[i] != world_size * (world_size - 1) / 2 + world_size * (i % 11 + k)) {
            fail("integers, call %d: element %d is %d", k, i, b[i]);
            break;
        }
}

/* 1 + 2^-60 + ..., which rounds to 1 in all modes but one. */
static void check_upwards(const double *b, int n, const char *what, int k)
{
    for (int i = 0; i < n; i++)
        if (!(b[i] > 1) || b[i] > 1 + 1e-12) {
            fail("%s, call %d: element %d is %.17g", what, k, i, b[i]);
            return;
        }
}

static void sums(int k)
{
    static double a[SUMS], b[SUMS];
    MPI_Request request;

    for (int i = 0; i < SUMS; i++) {
        a[i] = world_rank ? 0x1p-60 : 1;
        b[i] = 0;
    }
    MPI_Allreduce(a, b, SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_upwards(b, SUMS, "Allreduce", k);
    /* While it is under way, calls of ours plan and wait. */
    memset(b, 0, sizeof b);
    MPI_Iallreduce(a, b, SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    integers(k);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_upwards(b, SUMS, "Iallreduce", k);
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
    check_mode("the error handler", handled);
}

/* An error that the library raises, and one on a communicator's own handler. */
static void errors(void)
{
    MPI_Errhandler mine;
    int one = 1, sum;

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Allreduce(&one, &sum, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
    if (!handled)
        fail("the error handler was not called");
}

int main(int argc, char **argv)
{
    static const int rounding[] = {FE_UPWARD, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD};

    MPI_Init(&argc, &argv);
    test_began("floats", argc, argv);
    int calls = argc > 2 ? atoi(argv[2]) : 40;
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fesetround(rounding[world_rank % 4]);
    if (world_rank % 3 == 0)
        flush_to_zero();
    feclearexcept(FE_ALL_EXCEPT);
    if (world_rank % 2)
        feenableexcept(TRAPS);
    wanted = control();
    for (int k = 0; k < calls; k++) {
        exchange(k);
        check_mode("exchange", k);
        check_flags("exchange", k);
        integers(k);
        check_mode("integers", k);
        check_flags("integers", k);
    }
    if (HAS_CHECKS)
        errors();
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    for (int k = 0; k < calls; k++)
        sums(k);
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    int code = test_ended();
    feenableexcept(TRAPS); /* the report that rank 0 writes is not the program's arithmetic */
    MPI_Finalize();
    return code;
}
