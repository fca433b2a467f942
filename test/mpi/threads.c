/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: threads [SEED [ROUNDS [steady]]]
 *
 * Every thread has a communicator of its own. In each round all threads at once make another
 * one from it, so that the first calls on several communicators race with their making and
 * with collectives on others; and free it again. With `steady` no communicators are made
 * while threads run. Exit code 77: the library does not provide the level.
 */
#include <pthread.h>

#include "test/mpi/harness.h"

enum { THREADS = 4, CALLS = 6, MOST = 64, LARGE = 400 };

static int rounds = 30, steady;
static pthread_barrier_t barrier;

struct thread {
    int number;
    MPI_Comm comm;
    pthread_t id;
};

static void gather(MPI_Comm comm, struct draw *d, int thread)
{
    int mine[2 * LARGE], *all, counts[MOST], displs[MOST];
    int rank, size, next = 0, vector = draw_below(d, 2);
    int n = 1 + draw_below(d, draw_below(d, 3) ? 20 : LARGE), mark = draw_below(d, 1000);

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++) {
        counts[r] = vector ? (n + r * thread) % (n + 1) : n;
        displs[r] = next;
        next += counts[r];
    }
    all = malloc((size_t)(next + 1) * sizeof *all);
    if (!all)
        abort();
    memset(all, 0xff, (size_t)next * sizeof *all);
    for (int i = 0; i < counts[rank]; i++)
        mine[i] = mark + rank * 1000000 + i * 1000;
    if (vector)
        MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, displs, MPI_INT, comm);
    else
        MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            if (all[displs[r] + i] != mark + r * 1000000 + i * 1000) {
                fail("thread %d: element %d of rank %d is wrong", thread, i, r);
                r = size - 1;
                break;
            }
    free(all);
    if (size > 1 && next)
        __atomic_add_fetch(vector ? &expected_allgatherv : &expected_allgather, 1,
                           __ATOMIC_RELAXED);
}

static void round_of(struct thread *t, int round)
{
    struct draw d = draw_from((uint64_t)t->number + 1, (uint64_t)round); /* equal on all ranks */
    MPI_Comm fresh = MPI_COMM_NULL;

    if (!steady && draw_below(&d, 2))
        MPI_Comm_dup(t->comm, &fresh);
    else if (!steady)
        MPI_Comm_split(t->comm, world_rank % 2, -world_rank, &fresh);
    for (int i = 0; i < CALLS; i++) {
        gather(t->comm, &d, t->number);
        if (!steady)
            gather(fresh, &d, t->number);
    }
    if (!steady)
        MPI_Comm_free(&fresh);
}

static void *run(void *argument)
{
    struct thread *t = argument;

    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&barrier);
        round_of(t, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct thread thread[THREADS];
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    test_began("threads", argc, argv);
    if (argc > 2)
        rounds = atoi(argv[2]);
    steady = argc > 3 && !strcmp(argv[3], "steady");
    if (provided < MPI_THREAD_MULTIPLE) {
        if (!world_rank)
            printf("threads: the library provides thread level %d only\n", provided);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        thread[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &thread[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i].id, NULL, run, &thread[i]))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i].id, NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&thread[i].comm);
    pthread_barrier_destroy(&barrier);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
