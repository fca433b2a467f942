/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's memory: what rerouted calls take of it, and that it comes back. */
#include <stdlib.h>

#include "test/nccl/ranks.h"
#include "test/nccl/sums.h"

static size_t left(void)
{
    size_t bytes = 0, all;

    CUDA(MemGetInfo(&bytes, &all));
    return bytes;
}

/* Averages of a reduce-scatter need a copy of the input, as long as the communicator is there. */
static void average(struct rank *r, ncclComm_t comm)
{
    size_t all = r->count * (size_t)r->nranks;
    float *data = device_new(all * sizeof *data), *host = malloc(all * sizeof *host);
    int wrong = 0;

    if (!host)
        abort();
    for (size_t i = 0; i < all; i++)
        host[i] = (float)(i / r->count);
    device_write(data, host, all * sizeof *host);
    for (int i = 0; i < 20; i++) {
        NCCL(ncclReduceScatter(data, data + (size_t)r->rank * r->count, r->count, ncclFloat,
                               ncclAvg, comm, r->stream));
        stream_wait(r->stream);
    }
    device_read(host, data, all * sizeof *host);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[(size_t)r->rank * r->count + i] != (float)r->rank;
    check(r, !wrong, "an average of ones' own");
    free(host);
    device_free(data);
}

/* Much of it is taken on the way, and all of it is there again behind the communicator. */
static void test_memory(struct rank *r)
{
    ncclComm_t comm = ranks_comm(r);
    size_t before = left();

    average(r, comm);
    NCCL(ncclCommDestroy(comm));
    ranks_meet(r);
    check(r, left() == before, "%zu bytes of the device are lost", before - left());
}

/* A program whose own allocations come later: most of the memory is left to it. */
static void test_memory_for_others(struct rank *r)
{
    ncclComm_t comm = ranks_comm(r);
    size_t before = left();

    average(r, comm);
    check(r, left() >= before - before / 4, "%zu of %zu bytes are gone", before - left(), before);
    NCCL(ncclCommDestroy(comm));
}

/* Little of it is left: calls are right, and what the program takes of that it gets. One percent,
 * and on a real device 2 GiB per rank: NCCL's first call on a communicator connects, loads kernels,
 * and fails without. */
static void test_full_device(struct rank *r)
{
    enum { PIECES = 1 << 10 };
    const size_t large = (size_t)8 << 30, library = (size_t)2 << 30;
    static void *piece[PIECES];
    ncclComm_t comm = ranks_comm(r);
    size_t some, all = 0, rest;
    int n = 0;

    CUDA(MemGetInfo(&some, &all));
    rest = all > large ? library * (size_t)r->nranks : all / 100;
    while (n < PIECES && left() > rest + all / PIECES)
        piece[n++] = device_new(all / PIECES);
    average(r, comm);
    sum_all(r, comm, r->stream, "on a full device");
    device_free(device_new(left() / 2 / (size_t)r->nranks));
    NCCL(ncclCommDestroy(comm));
    while (n > 0)
        device_free(piece[--n]);
}

const struct test_case cases_memory[] = {{"memory", test_memory},
                                         {"memory_for_others", test_memory_for_others},
                                         {"full_device", test_full_device},
                                         {NULL, NULL}};
