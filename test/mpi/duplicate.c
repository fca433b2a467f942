/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * duplicate SEED [threads]: communicators whose first collectives are called while another one is
 * being made.
 *
 * By MPI_Comm_idup: first on another communicator, whose ranks do not all take part in the
 * duplication yet. One of them begins it when it is told to, behind those collectives. Then on the
 * communicator that is being duplicated, where ranks come at different times.
 *
 * By another thread: rank 0 duplicates in one thread, and makes collectives in another. The other
 * ranks duplicate behind these. Then all make collectives on a communicator while none is made.
 */
#include <pthread.h>
#include <unistd.h>

#include "test/mpi/sums.h"

enum { N = 4096, TIMES = 20 };

static void beside_another(void)
{
    MPI_Comm pair, copy;
    MPI_Request request;
    int last = world_size - 1, go = 0;

    MPI_Comm_split(MPI_COMM_WORLD, world_rank == last, 0, &pair);
    if (world_rank == last)
        MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    for (int i = 0; i < 3; i++)
        sums_call(pair, N, i);
    if (!world_rank)
        MPI_Send(&go, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sums_call(copy, N, 3);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&pair);
}

static void beside_its_own(void)
{
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm, copy;
        MPI_Request request;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (world_rank == i % world_size)
            usleep(2000);
        MPI_Comm_idup(comm, &copy, &request);
        if (world_rank == (i + 1) % world_size)
            usleep(2000);
        for (int call = 0; call < 2; call++)
            sums_call(comm, N, call);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sums_call(copy, N, 2);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
    }
}

static MPI_Comm original, copied;

static void *duplicate(void *unused)
{
    MPI_Comm_dup(original, &copied);
    return unused;
}

static void beside_a_thread(void)
{
    MPI_Comm comm, quiet;
    pthread_t thread;

    MPI_Comm_dup(MPI_COMM_WORLD, &original);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    if (!world_rank) {
        pthread_create(&thread, NULL, duplicate, NULL);
        usleep(200000); /* it is there, most likely */
    }
    for (int i = 0; i < 3; i++)
        sums_call(comm, N, i);
    if (world_rank)
        duplicate(NULL);
    else
        pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) {
        sums_call(copied, N, i);
        sums_call(quiet, N, i);
    }
    MPI_Comm_free(&copied);
    MPI_Comm_free(&original);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&quiet);
}

int main(int argc, char **argv)
{
    int code, provided, threads = argc > 2;

    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    test_began("duplicate", argc, argv);
    if (threads && provided < MPI_THREAD_MULTIPLE)
        return EXIT_SKIP;
    if (threads) {
        beside_a_thread();
    } else {
        beside_another();
        beside_its_own();
    }
    code = test_ended();
    MPI_Finalize();
    return code;
}
