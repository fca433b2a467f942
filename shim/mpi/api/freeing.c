/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table for all threads, as thread-local memory is scarce in a preload. An entry whose frame is
 * below the asking function's was left by a jump: the stack grows downwards.
 */
#include "shim/mpi/api/freeing.h"

#include <pthread.h>

enum { MOST = 32 }; /* at once, of all threads; more are not seen */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct {
    MPI_Comm comm;
    pthread_t thread;
    const char *frame;
} entry[MOST];
static int entries; /* read without the lock */

/* Under the lock. Drop this thread's entries with frames below that one, and all of comm. */
static void drop(const char *frame, MPI_Comm comm)
{
    int kept = 0;

    for (int i = 0; i < entries; i++)
        if (entry[i].comm != comm &&
            (!pthread_equal(entry[i].thread, pthread_self()) || entry[i].frame >= frame))
            entry[kept++] = entry[i];
    __atomic_store_n(&entries, kept, __ATOMIC_RELAXED);
}

void freeing_begin(MPI_Comm comm, const char *frame)
{
    pthread_mutex_lock(&lock);
    drop(frame, comm); /* an earlier try may have been left by a jump, in any frame */
    if (entries < MOST) {
        entry[entries].comm = comm;
        entry[entries].thread = pthread_self();
        entry[entries].frame = frame;
        __atomic_store_n(&entries, entries + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}

void freeing_end(const char *frame)
{
    pthread_mutex_lock(&lock);
    drop(frame + 1, MPI_COMM_NULL);
    pthread_mutex_unlock(&lock);
}

static int find(MPI_Comm comm)
{
    int found = 0;

    pthread_mutex_lock(&lock);
    drop(__builtin_frame_address(0), MPI_COMM_NULL);
    for (int i = 0; i < entries; i++)
        found |= entry[i].comm == comm && pthread_equal(entry[i].thread, pthread_self());
    pthread_mutex_unlock(&lock);
    return found;
}

int freeing_is(MPI_Comm comm)
{
    return __atomic_load_n(&entries, __ATOMIC_RELAXED) && find(comm);
}
