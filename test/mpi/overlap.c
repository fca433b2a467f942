/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE on communicators that share some of their ranks: overlap [SEED [CALLS]]
 *
 * Each thread has a communicator with other members than the others', makes calls of every
 * collective on it without waiting for any other thread, and now and then replaces it by a
 * duplicate. Exit code 77: the library does not provide the level.
 */
#include <pthread.h>

#include "test/mpi/random_call.h"

enum { THREADS = 4, MOST = 600, AGAIN = 8 };

static int calls = 60;
static long expected[COLLECTIVES];

struct thread {
    int number;
    struct place at;
    pthread_t id;
};

#define FUNCTION static void make(struct call *c)
#define CALL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

static void one_call(const struct thread *t, int number)
{
    struct draw d = draw_from((uint64_t)t->number + 1, (uint64_t)number); /* equal on all ranks */
    struct call c;
    char how[32];

    call_draw(&c, &t->at, 1, draw_below(&d, 3) ? 20 : MOST, &d);
    c.key = (uint64_t)draw_below(&d, 1 << 30) << 24;
    call_fill(&c);
    make(&c);
    snprintf(how, sizeof how, "by thread %d", t->number);
    call_check(&c, how);
    if (c.n && c.at->size > 1)
        __atomic_add_fetch(&expected[c.what], 1, __ATOMIC_RELAXED);
    call_free_types(&c);
    call_free(&c);
}

static void *run(void *argument)
{
    struct thread *t = argument;

    for (int i = 0; i < calls; i++) {
        one_call(t, i);
        if (i % AGAIN == AGAIN - 1) {
            MPI_Comm fresh;

            MPI_Comm_dup(t->at.comm, &fresh);
            MPI_Comm_free(&t->at.comm);
            t->at.comm = fresh;
        }
    }
    return NULL;
}

/* All ranks; all but the last; all but the first; those of even and of odd number. */
static void make_communicators(struct thread *thread)
{
    int color[THREADS] = {0, world_rank == world_size - 1, world_rank == 0, world_rank % 2};

    for (int i = 0; i < THREADS; i++) {
        thread[i].number = i;
        MPI_Comm_split(MPI_COMM_WORLD, color[i], i % 2 ? -world_rank : world_rank,
                       &thread[i].at.comm);
        place_measure(&thread[i].at);
    }
}

/* Calls that can be rerouted, of all ranks; the harness makes two more of bcast and of reduce.
   Reports count Alltoallw as alltoallv. */
static void say_expected(void)
{
    long all[COLLECTIVES];

    expected[ALLTOALLV] += expected[ALLTOALLW];
    MPI_Reduce(expected, all, COLLECTIVES, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank)
        return;
    printf("overlap: to reroute:");
    for (int i = 0; i < ALLTOALLW; i++)
        printf(" %s=%ld", kinds[i].name, all[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct thread thread[THREADS];
    int provided, code;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    test_began("overlap", argc, argv);
    calls = argc > 2 ? atoi(argv[2]) : calls;
    if (provided < MPI_THREAD_MULTIPLE || world_size > MOST_RANKS) {
        if (!world_rank)
            printf("overlap: the library provides thread level %d only\n", provided);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    make_communicators(thread);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i].id, NULL, run, &thread[i]))
            abort();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i].id, NULL);
        MPI_Comm_free(&thread[i].at.comm);
    }
    say_expected();
    code = test_ended();
    MPI_Finalize();
    return code;
}
