/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/numbering.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "shim/mpi/api/inside.h"
#include "shim/mpi/api/process.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int held_off;
static int constructing; /* threads of the program in such a function */
static int claims;

static int numbers_one_at_a_time(void)
{
    return !strncmp(mpi_process.library_version, "Open MPI", strlen("Open MPI"));
}

int numbering_is_shared(void)
{
    int level;

    return numbers_one_at_a_time() && mpi.Query_thread(&level) == MPI_SUCCESS &&
           level == MPI_THREAD_MULTIPLE;
}

void numbering_hold_off(void)
{
    pthread_mutex_lock(&lock);
    held_off = numbers_one_at_a_time();
    pthread_mutex_unlock(&lock);
}

int numbering_claim(void)
{
    pthread_mutex_lock(&lock);
    int may = !held_off && !constructing;
    claims += may;
    pthread_mutex_unlock(&lock);
    return may;
}

void numbering_release(void)
{
    pthread_mutex_lock(&lock);
    if (!--claims)
        pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

/* A thread in one of our own calls has its claim already. */
static int begin(void)
{
    if (mpi_process.verdict || !numbering_is_shared() || mpi_is_inside())
        return 0;
    pthread_mutex_lock(&lock);
    while (claims)
        pthread_cond_wait(&released, &lock);
    constructing++;
    pthread_mutex_unlock(&lock);
    return 1;
}

static void end(int begun)
{
    pthread_mutex_lock(&lock);
    constructing -= begun;
    pthread_mutex_unlock(&lock);
}

#define CONSTRUCTOR(name, n)                                                                       \
    static int (*library_##name)(PARAMS_##n);                                                      \
    int mpi_wrap_##name(PARAMS_##n)                                                                \
    {                                                                                              \
        int begun = begin(), rc = library_##name(ARGS_##n);                                        \
                                                                                                   \
        end(begun);                                                                                \
        return rc;                                                                                 \
    }
#include "shim/preload/constructors.def"
#undef CONSTRUCTOR

void numbering_open(void *libmpi)
{
#define CONSTRUCTOR(name, n)                                                                       \
    void *found_##name = dlsym(libmpi, "PMPI_" #name);                                             \
    memcpy(&library_##name, &found_##name, sizeof found_##name);
#include "shim/preload/constructors.def"
#undef CONSTRUCTOR
}
