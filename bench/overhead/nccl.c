/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-overhead-nccl: what the preload adds to an NCCL call that it does not reroute, in
 * nanoseconds, against an NCCL that does nothing (null_nccl.c). As overhead.c does it: short
 * batches of ncclX and pncclX in turn, the median over pairs of the difference. One JSON line each.
 */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 2000, CALLS = 500 };

/* The library's own, which the header declares too. */
static ncclComm_t comm;
static char byte;

#define PROBE(name, statement, own)                                                                \
    static void name(int native)                                                                   \
    {                                                                                              \
        for (int i = 0; i < CALLS; i++)                                                            \
            if (native)                                                                            \
                own;                                                                               \
            else                                                                                   \
                statement;                                                                         \
    }

PROBE(allreduce_small, ncclAllReduce(&byte, &byte, 1, ncclInt8, ncclSum, comm, NULL),
      pncclAllReduce(&byte, &byte, 1, ncclInt8, ncclSum, comm, NULL))
PROBE(allreduce_large, ncclAllReduce(&byte, &byte, 1 << 24, ncclInt8, ncclSum, comm, NULL),
      pncclAllReduce(&byte, &byte, 1 << 24, ncclInt8, ncclSum, comm, NULL))
PROBE(allgather_small, ncclAllGather(&byte, &byte, 1, ncclInt8, comm, NULL),
      pncclAllGather(&byte, &byte, 1, ncclInt8, comm, NULL))
PROBE(send, ncclSend(&byte, 1, ncclInt8, 0, comm, NULL),
      pncclSend(&byte, 1, ncclInt8, 0, comm, NULL))
PROBE(group, (ncclGroupStart(), ncclGroupEnd()), (pncclGroupStart(), pncclGroupEnd()))

static const struct {
    const char *name;
    void (*batch)(int native);
} probes[] = {{"allreduce, small", allreduce_small},
              {"allreduce, large", allreduce_large},
              {"allgather, small", allgather_small},
              {"send", send},
              {"group", group}};

static double ns_per_call(void (*batch)(int), int native)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    batch(native);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    static double native[BATCHES], added[BATCHES];
    ncclUniqueId id;

    if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 8, id, 0)) {
        fputs("collshim-overhead-nccl: needs the NCCL that does nothing: "
              "LD_LIBRARY_PATH=build/nullnccl\n",
              stderr);
        return 1;
    }
    for (size_t p = 0; p < sizeof probes / sizeof *probes; p++) {
        for (int i = 0; i < BATCHES; i++) {
            native[i] = ns_per_call(probes[p].batch, 1);
            added[i] = ns_per_call(probes[p].batch, 0) - native[i];
        }
        qsort(native, BATCHES, sizeof *native, by_size);
        qsort(added, BATCHES, sizeof *added, by_size);
        printf("{\"call\": \"%s\", \"native_ns\": %.1f, \"added_ns\": %.1f}\n", probes[p].name,
               native[BATCHES / 2], added[BATCHES / 2]);
    }
    return 0;
}
