/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions shared by the multi-rank programs. They are unmodified MPI programs: nothing here names
 * collshim, and all of them must also pass without it. Each computes the values it expects itself,
 * because the library it could compare with has bugs of its own. A header and not a library, so
 * that every program is one file for one mpi.h.
 */
#ifndef COLLSHIM_TEST_MPI_HARNESS_H
#define COLLSHIM_TEST_MPI_HARNESS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNUSED __attribute__((unused))

enum { EXIT_SKIP = 77, MOST_SHOWN = 5 };

static const char *test_name;
static uint64_t test_seed;
static int world_rank, world_size;
static int failures; /* of this rank; atomic, threads fail too */

/* Calls that should be rerouted if every call that can be is: what run.sh compares the report with.
 */
static long expected_allgather, expected_allgatherv;

/* A random number generator whose state is its seed: cheap to make one per call and rank. */
struct draw {
    uint64_t state;
};

static uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15ull;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
    return h ^ (h >> 32);
}

static UNUSED struct draw draw_from(uint64_t a, uint64_t b)
{
    return (struct draw){mix(mix(test_seed + 1) + a * 0x10001 + b)};
}

/* 0 .. n-1 */
static UNUSED int draw_below(struct draw *d, int n)
{
    d->state += 0x9e3779b97f4a7c15ull;
    return (int)(mix(d->state) % (uint64_t)n);
}

/* Note a failure of this rank and go on, so that the others are not left waiting. */
__attribute__((format(printf, 1, 2))) static UNUSED void fail(const char *format, ...)
{
    char line[512];
    va_list args;

    if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) > MOST_SHOWN)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "%s: rank %d: %s\n", test_name, world_rank, line);
}

/* argv[1]: the seed; 0 or none: one from the clock, the same on all ranks. */
static UNUSED void test_began(const char *name, int argc, char **argv)
{
    test_name = name;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    test_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    if (!test_seed)
        test_seed = 1 + (uint64_t)time(NULL) % 1000000;
    MPI_Bcast(&test_seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

/* An intercommunicator between the ranks below the middle and the others, of which there are two at
   least. */
static UNUSED MPI_Comm between_halves(void)
{
    int middle = (world_size + 1) / 2, low = world_rank < middle;
    MPI_Comm half, inter;

    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? middle : 0, 5, &inter);
    MPI_Comm_free(&half);
    return inter;
}

/* Sum up over the ranks and print one line on rank 0. Returns the exit code. */
static UNUSED int test_ended(void)
{
    long mine[3] = {failures, expected_allgather, expected_allgatherv}, all[3];

    MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(all, 3, MPI_LONG, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("%s: %s on %d ranks, seed %llu, to reroute: allgather=%ld allgatherv=%ld\n",
               test_name, all[0] ? "WRONG" : "right", world_size, (unsigned long long)test_seed,
               all[1], all[2]);
    fflush(stdout);
    return all[0] != 0;
}

#endif
