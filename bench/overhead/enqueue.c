/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-enqueue-nccl: the host's time for a rerouted ncclAllReduce whose schedule exists, in
 * nanoseconds, and the work that it puts on the stream. NCCL and the driver do nothing
 * (null_nccl.c, null_cuda.c), so the time is this project's own. A real NCCL adds its own time for
 * each group, kernel and copy counted here. The ranks are threads, placed by COLLSHIM_TOPOLOGY;
 * COLLSHIM_ALGORITHM names the schedule. One JSON line.
 */
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/overhead/null.h"

/* So many calls together that the next question to all ranks comes after the timed ones. */
enum { RANKS = 8, WARM = 1 << 14, BATCHES = 300, CALLS = 50 };

static ncclUniqueId id;
static ncclComm_t comm[RANKS];
static char byte;

static ncclResult_t call(int rank)
{
    return ncclAllReduce(&byte, &byte, 1 << 26, ncclInt8, ncclMax, comm[rank], NULL);
}

/* Until a call of its kind has been made ready by all ranks. */
static void *warm(void *data)
{
    int rank = (int)((ncclComm_t *)data - comm), bad = 0;

    bad |= ncclCommInitRank(&comm[rank], RANKS, id, rank) != ncclSuccess;
    for (int i = 0; i < WARM && !bad; i++)
        bad |= call(rank) != ncclSuccess;
    return bad ? &byte : NULL;
}

static double ns_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    static double ns[BATCHES];
    pthread_t thread[RANKS];
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *bad = NULL, *failed;
    const struct null_counts *launched = cuda ? dlsym(cuda, "null_cuda_counts") : NULL,
                             *sent = dlsym(RTLD_DEFAULT, "null_nccl_counts");
    struct null_counts before[2];

    if (!launched || !sent || ncclGetUniqueId(&id) != ncclSuccess) {
        fputs("collshim-enqueue-nccl: needs the libraries that do nothing: "
              "LD_LIBRARY_PATH=build/nullnccl\n",
              stderr);
        return 1;
    }
    for (int r = 0; r < RANKS; r++)
        pthread_create(&thread[r], NULL, warm, &comm[r]);
    for (int r = 0; r < RANKS; r++) {
        pthread_join(thread[r], &failed);
        bad = failed ? failed : bad;
    }
    if (bad)
        return 1;
    before[0] = *launched;
    before[1] = *sent;
    for (int i = 0; i < BATCHES; i++) {
        ns[i] = ns_now();
        for (int k = 0; k < CALLS; k++)
            call(0);
        ns[i] = (ns_now() - ns[i]) / CALLS;
    }
    qsort(ns, BATCHES, sizeof *ns, by_size);
    printf("{\"call\": \"allreduce, 64 MiB, rank 0 of %d\", \"own_ns\": %.0f, \"groups\": %lu, "
           "\"messages\": %lu, \"kernels\": %lu, \"copies\": %lu, \"events\": %lu}\n",
           RANKS, ns[BATCHES / 2], (sent->groups - before[1].groups) / (BATCHES * CALLS),
           (sent->messages - before[1].messages) / (BATCHES * CALLS),
           (launched->kernels - before[0].kernels) / (BATCHES * CALLS),
           (launched->copies - before[0].copies) / (BATCHES * CALLS),
           (launched->events - before[0].events) / (BATCHES * CALLS));
    return 0;
}
