/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program may load CUDA at any time, after MPI_Init say, and its next collective may name device
 * memory. Asking the loader in each call costs as much as a small message. But the loader keeps its
 * libraries in a list in the order of loading. The last one that MPI_Init loads is kept open. As
 * long as no entry follows it, nothing has been loaded since, which is one load to see.
 *
 * A library of the program's is not kept open: the program may close it and open it again, and its
 * state must then be new. Once one follows, the loader's count of changes is compared.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "config/base/loaded.h"
#include "transports/cuda/cuda_driver.h"
#include "transports/cuda/cuda_memory.h"

static const struct cuda_calls *known;
static struct link_map *last;   /* kept open; NULL: none */
static unsigned long long seen; /* loaded_changes() at the last look; 0: none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct cuda_libraries {
    char last[PATH_MAX];        /* the name of the last one */
    unsigned long long changes; /* as loaded_changes() */
    int cuda;                   /* one of them is the driver, of any version */
};

/* The loader holds its lock meanwhile. */
static int note_name(struct dl_phdr_info *info, size_t size, void *libraries)
{
    struct cuda_libraries *l = libraries;

    loaded_note_changes(info, size, &l->changes);
    snprintf(l->last, sizeof l->last, "%s", info->dlpi_name);
    l->cuda |= strstr(l->last, "libcuda.so") != NULL;
    return 0;
}

/* Nothing was loaded since the last look. */
static int is_seen(void)
{
    const struct link_map *end = __atomic_load_n(&last, __ATOMIC_ACQUIRE);

    if (end && !__atomic_load_n(&end->l_next, __ATOMIC_RELAXED))
        return 1;
    return loaded_changes() == __atomic_load_n(&seen, __ATOMIC_ACQUIRE);
}

/* A query by name for a missing library makes the loader search the disk: 0.2 ms in each rank. */
static void look(struct cuda_libraries *l)
{
    l->last[0] = 0;
    l->cuda = 0;
    dl_iterate_phdr(note_name, l);
    if (l->cuda)
        __atomic_store_n(&known, cuda_open(CUDA_IF_LOADED), __ATOMIC_RELEASE);
    __atomic_store_n(&seen, l->changes, __ATOMIC_RELEASE);
}

void cuda_keep_last(int keep)
{
    struct link_map *before = last, *end = NULL;
    struct cuda_libraries l;

    pthread_mutex_lock(&lock);
    if (keep)
        look(&l);
    if (keep && l.last[0])
        end = dlopen(l.last, RTLD_LAZY | RTLD_NOLOAD);
    __atomic_store_n(&last, end, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    if (before)
        dlclose(before);
}

const struct cuda_calls *cuda_if_loaded(void)
{
    const struct cuda_calls *cu = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    struct cuda_libraries l; /* not cleared: most calls do not get that far */

    if (cu || is_seen())
        return cu ? cu : __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&lock);
    if (!known && !is_seen())
        look(&l);
    cu = known;
    pthread_mutex_unlock(&lock);
    return cu;
}

int cuda_present(void)
{
    return cuda_if_loaded() != NULL;
}
