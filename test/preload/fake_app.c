/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for fake_mpi.c. Prints the code of every call. fake_app MODE:
 *   calls    Init, Allgather, Allgatherv, Alltoallw, each with its pattern; twice, because the
 *            second time is through a bound slot
 *   chdir    like calls, from another current directory
 *   threads  16 threads make their first call at once; prints how many failed
 *   late L.. Allgather with no MPI loaded; then opens the libraries L, and again
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define A(i) ((uintptr_t)0x1111111111111111 * (uintptr_t)(i))
#define THREADS 16

typedef uintptr_t word;

/* Weak, so that the program starts where nothing defines them. */
extern int MPI_Init(word, word) __attribute__((weak));
extern int MPI_Allgather(word, word, word, word, word, word, word) __attribute__((weak));
extern int MPI_Allgatherv(word, word, word, word, word, word, word, word) __attribute__((weak));
extern int MPI_Alltoallw(word, word, word, word, word, word, word, word, word)
    __attribute__((weak));

static pthread_barrier_t barrier;

static int allgather(void)
{
    return MPI_Allgather(A(1), A(2), A(3), A(4), A(5), A(6), A(7));
}

static void calls(void)
{
    printf("Init=%d", MPI_Init(0, 0));
    for (int round = 0; round < 2; round++) {
        printf(" Allgather=%d", allgather());
        if (MPI_Allgatherv)
            printf(" Allgatherv=%d",
                   MPI_Allgatherv(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8)));
        if (MPI_Alltoallw)
            printf(" Alltoallw=%d",
                   MPI_Alltoallw(A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9)));
    }
    printf("\n");
}

static void *thread_main(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    return (void *)(intptr_t)(allgather() != 0);
}

static void threads(void)
{
    pthread_t thread[THREADS];
    int failed = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, thread_main, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        failed += result != NULL;
    }
    printf("failed=%d\n", failed);
}

static void late(char **paths)
{
    printf("before=%d", allgather());
    for (; *paths; paths++)
        if (!dlopen(*paths, RTLD_NOW | RTLD_LOCAL))
            printf(" %s", dlerror());
    printf(" after=%d\n", allgather());
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "chdir") == 0 && chdir("/") != 0)
        return 2;
    if (strcmp(mode, "calls") == 0 || strcmp(mode, "chdir") == 0)
        calls();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "late") == 0)
        late(argv + 2);
    else
        return 2;
    return 0;
}
