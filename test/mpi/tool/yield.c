/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH's ranks give up the core where they wait, as Open MPI's do with mpi_yield_when_idle; MPICH
 * 4.0.2 has no setting for that. On two cores three of its ranks take some 8 ms for a collective
 * without this. Preloaded by tests; stands in front of UCX, which MPICH asks for progress.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *); /* the same for all threads, at any writer */
    unsigned made;

    if (!progress)
        *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    made = progress(worker);
    if (!made)
        sched_yield();
    return made;
}
