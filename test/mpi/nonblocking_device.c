/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking sums and gathers of buffers that lie on a device, on some ranks, in turns:
 * nonblocking_device [SEED [CALLS [nonblocking|persistent]]]. Persistent ones are started several
 * times, with new data. For the preload: a library that takes no device memory fails.
 */
#include "test/mpi/driver.h"
#include "test/mpi/harness.h"
#include "test/mpi/persistent_calls.h"

enum { N = 6000, MOST_RANKS = 8, AT_ONCE = 4, STARTS = 3 };

struct call {
    MPI_Request request;
    int gathers, key;
    int on_device[2]; /* input, output */
    int *host[2];
    size_t bytes[2];
    address device[2];
};

static int persistent;

static int value(int key, int rank, int i)
{
    return (key * 7919 + rank * 104729 + i) % 1000003;
}

static void *buffer(const struct call *c, int side)
{
    return c->on_device[side] ? (void *)(uintptr_t)c->device[side] : c->host[side];
}

static void make(struct call *c, int number, MPI_Comm comm)
{
    memset(c, 0, sizeof *c);
    c->gathers = number % 2;
    c->bytes[0] = N * sizeof(int);
    c->bytes[1] = (size_t)N * (size_t)world_size * sizeof(int);
    for (int side = 0; side < 2; side++) {
        c->on_device[side] = (number / 2 + world_rank + side * (number % 3)) % 2;
        c->host[side] = malloc(c->bytes[side]);
        if (!c->host[side])
            abort();
        NEED(MemAlloc(&c->device[side], c->bytes[side]));
    }
    if (persistent && c->gathers)
        MPI_Allgather_init(buffer(c, 0), N, MPI_INT, buffer(c, 1), N, MPI_INT, comm, MPI_INFO_NULL,
                           &c->request);
    else if (persistent)
        MPI_Allreduce_init(buffer(c, 0), buffer(c, 1), N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                           &c->request);
}

static void start(struct call *c, int key, MPI_Comm comm)
{
    c->key = key;
    memset(c->host[1], -1, c->bytes[1]);
    for (int i = 0; i < N; i++)
        c->host[0][i] = value(key, world_rank, i);
    for (int side = 0; side < 2; side++)
        if (c->on_device[side])
            NEED(MemcpyHtoD(c->device[side], c->host[side], c->bytes[side]));
    if (persistent)
        MPI_Start(&c->request);
    else if (c->gathers)
        MPI_Iallgather(buffer(c, 0), N, MPI_INT, buffer(c, 1), N, MPI_INT, comm, &c->request);
    else
        MPI_Iallreduce(buffer(c, 0), buffer(c, 1), N, MPI_INT, MPI_SUM, comm, &c->request);
}

static void finish(struct call *c)
{
    int n = c->gathers ? N * world_size : N;

    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    if (c->on_device[1])
        NEED(MemcpyDtoH(c->host[1], c->device[1], (size_t)n * sizeof(int)));
    for (int i = 0; i < n; i++) {
        int wanted = c->gathers ? value(c->key, i / N, i % N) : 0;

        for (int r = 0; r < world_size && !c->gathers; r++)
            wanted += value(c->key, r, i);
        if (c->host[1][i] != wanted) {
            fail("%s, input on the %s, output on the %s: element %d is %d, expected %d",
                 c->gathers ? "gather" : "sum", c->on_device[0] ? "device" : "host",
                 c->on_device[1] ? "device" : "host", i, c->host[1][i], wanted);
            break;
        }
    }
}

static void drop(struct call *c)
{
    if (persistent)
        MPI_Request_free(&c->request);
    for (int side = 0; side < 2; side++) {
        NEED(MemFree(c->device[side]));
        free(c->host[side]);
    }
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 8, starts, one = 1, sum, code;

    persistent = argc > 3 && !strcmp(argv[3], "persistent");
    starts = persistent ? STARTS : 1;
    MPI_Init(&argc, &argv);
    test_began("nonblocking_device", argc, argv);
    load_cuda();
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the ranks meet */
    for (int i = 0; i < calls; i++) {
        struct call call[AT_ONCE];

        for (int k = 0; k < AT_ONCE; k++)
            make(&call[k], AT_ONCE * i + k, MPI_COMM_WORLD);
        for (int again = 0; again < starts; again++) {
            for (int k = 0; k < AT_ONCE; k++)
                start(&call[k], starts * (AT_ONCE * i + k) + again, MPI_COMM_WORLD);
            for (int k = AT_ONCE - 1; k >= 0; k--)
                finish(&call[k]);
        }
        for (int k = 0; k < AT_ONCE; k++)
            drop(&call[k]);
    }
    if (!world_rank)
        printf("nonblocking_device: to start: nonblocking=%d\n",
               calls * AT_ONCE * starts * world_size);
    check_violations();
    code = test_ended();
    MPI_Finalize();
    return code | is_left_over();
}
