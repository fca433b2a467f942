/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rejected: shorter receives, whose messages are then cut. Open MPI 4.1.4 writes beyond such a
 * receive.
 */
#define _GNU_SOURCE
#include "transports/engine/sink.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BITS = 8 * sizeof(size_t), LEAST_BITS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *sinks[BITS]; /* owned: sinks[i] has 1 << i bytes */

char *sink_get(size_t bytes)
{
    int i = LEAST_BITS, k;
    char *sink;

    while (i < BITS - 1 && (size_t)1 << i < bytes)
        i++;
    pthread_mutex_lock(&lock);
    for (k = i; k < BITS - 1 && !sinks[k]; k++)
        ;
    sink = sinks[k];
    if (!sink) {
        sink = mmap(NULL, (size_t)1 << i, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        sink = sinks[i] = sink == MAP_FAILED ? malloc((size_t)1 << i) : sink;
    }
    pthread_mutex_unlock(&lock);
    return sink;
}
