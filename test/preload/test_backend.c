/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend that counts and forwards. It needs no mpi.h, so the one file serves as the backend of
 * every family. It names four functions and leaves the others to the preload. TEST_BACKEND names
 * its actions while it opens:
 *   none     wants no call, as with COLLSHIM_MODE=off
 *   refuse   cannot serve this process
 *   reenter  calls MPI, which a backend must not
 *   unknown  offers a function that the preload has no row for
 *   slow     takes 50 ms, so that racing threads meet
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/preload/backend.h"

typedef uintptr_t word;

static int (*real_init)(word, word);
static int (*real_allgather)(word, word, word, word, word, word, word);
static int (*real_allgatherv)(word, word, word, word, word, word, word, word);
static int (*real_allreduce)(word, word, word, word, word, word);

static int calls_init, calls_allgather, calls_allgatherv, calls_allreduce, opened;

/*
 * The object of MPI_COMM_WORLD in Open MPI; weak, so that other families need not have it. A
 * program may hold a copy of it, and then that copy's address is the handle.
 */
extern char ompi_mpi_comm_world __attribute__((weak));
static int calls_world;

static int init(word argc, word argv)
{
    __atomic_add_fetch(&calls_init, 1, __ATOMIC_RELAXED);
    return real_init(argc, argv);
}

static int allgather(word a, word b, word c, word d, word e, word f, word g)
{
    __atomic_add_fetch(&calls_allgather, 1, __ATOMIC_RELAXED);
    return real_allgather(a, b, c, d, e, f, g);
}

static int allgatherv(word a, word b, word c, word d, word e, word f, word g, word h)
{
    __atomic_add_fetch(&calls_allgatherv, 1, __ATOMIC_RELAXED);
    return real_allgatherv(a, b, c, d, e, f, g, h);
}

static int allreduce(word a, word b, word c, word d, word e, word f)
{
    __atomic_add_fetch(&calls_allreduce, 1, __ATOMIC_RELAXED);
    if (&ompi_mpi_comm_world && f == (word)&ompi_mpi_comm_world)
        __atomic_add_fetch(&calls_world, 1, __ATOMIC_RELAXED);
    return real_allreduce(a, b, c, d, e, f);
}

/* The last row ends the table, unless TEST_BACKEND=unknown fills it. */
static struct backend_entry entries[] = {
    {"Init", (void *)init},
    {"Allgather", (void *)allgather},
    {"Allgatherv", (void *)allgatherv},
    {"Allreduce", (void *)allreduce},
    {NULL, NULL},
    {NULL, NULL},
};

/* Bound to the preload's stub when this file is opened; absent from a process without it. */
extern int MPI_Allgather(word, word, word, word, word, word, word) __attribute__((weak));

const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size);
const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size)
{
    const char *how = getenv("TEST_BACKEND");
    how = how ? how : "";
    opened++;
    real_init = (int (*)(word, word))dlsym(host->library, "PMPI_Init");
    *(void **)&real_allgather = dlsym(host->library, "PMPI_Allgather");
    *(void **)&real_allgatherv = dlsym(host->library, "PMPI_Allgatherv");
    *(void **)&real_allreduce = dlsym(host->library, "PMPI_Allreduce");
    if (host->abi != BACKEND_ABI || strcmp(how, "refuse") == 0) {
        snprintf(why, size, "the test backend refuses %s", host->family);
        return NULL;
    }
    if (strcmp(how, "none") == 0)
        return entries + sizeof(entries) / sizeof(*entries) - 1;
    if (strcmp(how, "reenter") == 0)
        fprintf(stderr, "backend: inner=%d\n", MPI_Allgather(1, 2, 3, 4, 5, 6, 7));
    if (strcmp(how, "unknown") == 0)
        entries[sizeof(entries) / sizeof(*entries) - 2] =
            (struct backend_entry){"Frobnicate", (void *)init};
    if (strcmp(how, "slow") == 0)
        usleep(50000);
    return entries;
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "backend: opened=%d Init=%d Allgather=%d Allgatherv=%d Allreduce=%d\n", opened,
            calls_init, calls_allgather, calls_allgatherv, calls_allreduce);
    if (&ompi_mpi_comm_world)
        fprintf(stderr, "world: Allreduce=%d\n", calls_world);
}
