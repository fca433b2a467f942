/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/mpi/run/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

#include "config/base/cpulist.h"
#include "shim/mpi/api/process.h"
#include "transports/base/workers.h"
#include "transports/cuda/cuda_memory.h"
#include "transports/shm/shm.h"

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static struct workers *workers; /* owned; NULL: there are none (yet) */
static int tried;

/* The rank's processors near its GPU; all of its processors, if none is near or if that is unknown.
 */
static cpu_set_t choose_cpus(void)
{
    int64_t address = cuda_current_address();
    uint64_t gpu = (uint64_t)address;
    cpu_set_t own, near;
    char path[128];

    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/local_cpulist",
             (unsigned)(gpu >> 16), (unsigned)(gpu >> 8 & 0xff), (unsigned)(gpu >> 3 & 0x1f),
             (unsigned)(gpu & 7));
    if (address < 0 || cpulist_read(path, &near))
        return own;
    CPU_AND(&near, &near, &own);
    return CPU_COUNT(&near) ? near : own;
}

/* No more threads than processors to run on. */
static void make(void)
{
    cpu_set_t cpus = choose_cpus();
    int n = settings.cfg.test_host_threads, most = CPU_COUNT(&cpus);

    tried = 1;
    n = n < most ? n : most;
    if (n > 1 && workers_open(n - 1, &cpus, sizeof cpus, &workers) < 0)
        workers = NULL;
    say(CFG_LEVEL_INFO,
        "two paths: %d thread%s of %d (COLLSHIM_TEST_HOST_THREADS) on %d processors",
        workers ? n : 1, workers ? "s" : "", settings.cfg.test_host_threads, most);
}

int threads_hire(struct xport *shm)
{
    if (settings.cfg.test_host_threads < 2 || !shm->state || pthread_mutex_trylock(&in_use))
        return 0;
    if (!tried)
        make();
    if (!workers || xport_shm_use_workers(shm, workers) < 0) {
        pthread_mutex_unlock(&in_use);
        return 0;
    }
    workers_wake(workers);
    return 1;
}

void threads_rest(struct xport *shm)
{
    workers_rest(workers);
    xport_shm_use_workers(shm, NULL);
    pthread_mutex_unlock(&in_use);
}

void threads_close(void)
{
    workers_close(workers);
    workers = NULL;
    tried = 0;
}
