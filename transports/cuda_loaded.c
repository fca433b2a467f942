/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program may load CUDA at any time, after MPI_Init say, and its next collective may name device
 * memory. Asking the loader in each call costs as much as a small message. But the loader keeps its
 * libraries in a list in the order of loading. The last entry is noted when the driver is looked
 * for. As long as no entry follows it, the driver cannot have been loaded since. That last library
 * is kept open, so that its entry stays valid for other threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "transports/cuda_driver.h"
#include "transports/cuda_memory.h"

static const struct cuda_calls *known;
static struct link_map *last; /* kept open; NULL: look again */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct libraries {
    char last[PATH_MAX]; /* the name of the last one */
    int cuda;            /* one of them is the driver, of any version */
};

/* The loader holds its lock meanwhile. */
static int note_name(struct dl_phdr_info *info, size_t size, void *libraries)
{
    struct libraries *l = libraries;

    (void)size;
    snprintf(l->last, sizeof l->last, "%s", info->dlpi_name);
    l->cuda |= strstr(l->last, "libcuda.so") != NULL;
    return 0;
}

/* Libraries loaded since the list's end was noted are behind it: first the end, then the driver. */
static void look(void)
{
    struct libraries l = {0};
    struct link_map *end;

    dl_iterate_phdr(note_name, &l);
    end = l.last[0] ? dlopen(l.last, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    /* A query by name for a missing library makes the loader search the disk: 0.2 ms in each rank.
     */
    if (l.cuda)
        __atomic_store_n(&known, cuda_open(CUDA_IF_LOADED), __ATOMIC_RELEASE);
    __atomic_store_n(&last, end, __ATOMIC_RELEASE);
}

const struct cuda_calls *cuda_if_loaded(void)
{
    const struct cuda_calls *cu = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    const struct link_map *end = __atomic_load_n(&last, __ATOMIC_ACQUIRE);

    if (cu || (end && !__atomic_load_n(&end->l_next, __ATOMIC_RELAXED)))
        return cu;
    pthread_mutex_lock(&lock);
    if (!known)
        look();
    cu = known;
    pthread_mutex_unlock(&lock);
    return cu;
}

int cuda_present(void)
{
    return cuda_if_loaded() != NULL;
}
