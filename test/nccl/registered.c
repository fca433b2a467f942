/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that NCCL knows of: registered by each rank for itself at any time, or by all of them as
 * a window. Calls in them are right after and before any others.
 */
#include <stdlib.h>
#include <unistd.h>

#include "test/nccl/sums.h"

/* A sum in a buffer that lies elsewhere: what is there before and behind is the sum's. */
static void sum_in(struct rank *r, ncclComm_t comm, void *buffer, const char *what)
{
    struct sum s = sum_begin(r, comm, r->stream);
    size_t bytes = s.count * sizeof *s.data;

    CUDA(MemcpyDtoDAsync((CUdeviceptr)buffer, (CUdeviceptr)s.data, bytes, r->stream));
    NCCL(ncclAllReduce(buffer, buffer, s.count, ncclFloat, ncclSum, comm, r->stream));
    CUDA(MemcpyDtoDAsync((CUdeviceptr)s.data, (CUdeviceptr)buffer, bytes, r->stream));
    sum_end(r, &s, what);
}

static void *buffer_new(const struct rank *r)
{
    void *buffer;

    NCCL(ncclMemAlloc(&buffer, r->count * sizeof(float)));
    return buffer;
}

static void *registered(const struct rank *r, ncclComm_t comm, void *buffer)
{
    void *handle;

    NCCL(ncclCommRegister(comm, buffer, r->count * sizeof(float), &handle));
    return handle;
}

static void test_registered(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    void *buffer = buffer_new(r), *handle = registered(r, r->comm, s.data);

    NCCL(sum_call(&s));
    stream_wait(r->stream);
    NCCL(ncclCommDeregister(r->comm, handle));
    sum_end(r, &s, "registered");
    handle = registered(r, r->comm, buffer);
    sum_in(r, r->comm, buffer, "memory of NCCL's own, registered");
    NCCL(ncclCommDeregister(r->comm, handle));
    NCCL(ncclMemFree(buffer));
}

/* A message from one buffer to the next rank's other, both of which NCCL knows. */
static void send_on(struct rank *r, ncclComm_t comm, float *from, float *to)
{
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
    float host = (float)r->rank;

    device_write(from, &host, sizeof host);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(from, 1, ncclFloat, next, comm, r->stream));
    NCCL(ncclRecv(to, 1, ncclFloat, before, comm, r->stream));
    NCCL(ncclGroupEnd());
    stream_wait(r->stream);
    device_read(&host, to, sizeof host);
    check(r, host == (float)before, "a message in registered buffers: %g", (double)host);
}

/* After calls without. All registrations are made in the end, for the library's own calls. */
static void test_registered_late(struct rank *r)
{
    void *buffer = buffer_new(r), *other = buffer_new(r), *last = buffer_new(r), *handle;
    ncclComm_t comm = ranks_comm(r);

    for (int i = 0; i < 5; i++)
        sum_all(r, comm, r->stream, "before one is registered");
    NCCL(ncclCommDeregister(comm, registered(r, comm, other)));
    handle = registered(r, comm, other);
    registered(r, comm, buffer);
    for (int i = 0; i < 6; i++) {
        sum_in(r, comm, buffer, "registered late");
        sum_in(r, comm, other, "registered late, the other");
    }
    NCCL(ncclCommDeregister(comm, handle));
    sum_in(r, comm, other, "no longer registered");
    registered(r, comm, last);
    send_on(r, comm, buffer, last);
    NCCL(ncclCommDestroy(comm));
    NCCL(ncclMemFree(buffer));
    NCCL(ncclMemFree(other));
    NCCL(ncclMemFree(last));
}

/* By one rank alone, the hosts of the others being ahead with their calls. */
static void test_registered_by_one(struct rank *r)
{
    enum { CALLS = 20 };
    void *buffer[CALLS], *handle = NULL;
    ncclComm_t comm = ranks_comm(r);
    float ranks = (float)r->nranks, host;

    for (int i = 0; i < CALLS; i++)
        buffer[i] = buffer_new(r);
    for (int i = 0; i < CALLS; i++) {
        host = (float)(r->rank + i);
        device_write(buffer[i], &host, sizeof host);
    }
    for (int i = 0; i < CALLS; i++) {
        if (r->rank == 0 && i % 5 == 4) {
            usleep(20000);
            handle = registered(r, comm, buffer[i]);
        }
        NCCL(ncclAllReduce(buffer[i], buffer[i], r->count, ncclFloat, ncclSum, comm, r->stream));
        if (r->rank == 0 && i % 5 == 4 && i < 10) {
            stream_wait(r->stream);
            NCCL(ncclCommDeregister(comm, handle));
        }
    }
    stream_wait(r->stream);
    for (int i = 0; i < CALLS; i++) {
        device_read(&host, buffer[i], sizeof host);
        check(r, host == ranks * (ranks - 1) / 2 + ranks * (float)i, "registered by one, %d: %g", i,
              (double)host);
    }
    NCCL(ncclCommDestroy(comm));
    for (int i = 0; i < CALLS; i++)
        NCCL(ncclMemFree(buffer[i]));
}

/* Given up between the communicator's two ends. */
static void test_registered_to_the_end(struct rank *r)
{
    void *buffer = buffer_new(r), *handle;
    ncclComm_t comm = ranks_comm(r);

    for (int i = 0; i < 3; i++)
        sum_all(r, comm, r->stream, "before one is registered");
    handle = registered(r, comm, buffer);
    NCCL(ncclCommFinalize(comm));
    NCCL(ncclCommDeregister(comm, handle));
    NCCL(ncclCommDestroy(comm));
    NCCL(ncclMemFree(buffer));
}

/* An exchange in registered buffers behind others: messages of both ends. */
static void test_registered_exchange(struct rank *r)
{
    size_t n = r->count, all = n * (size_t)r->nranks * sizeof(float);
    void *from, *to, *handle[2];
    ncclComm_t comm = ranks_comm(r);
    float *host = malloc(all);

    if (!host)
        abort();
    NCCL(ncclMemAlloc(&from, all));
    NCCL(ncclMemAlloc(&to, all));
    for (int round = 0; round < 4; round++) {
        size_t wrong = 0;

        if (round == 2) {
            NCCL(ncclCommRegister(comm, from, all, &handle[0]));
            NCCL(ncclCommRegister(comm, to, all, &handle[1]));
        }
        for (size_t i = 0; i < n * (size_t)r->nranks; i++)
            host[i] = (float)(r->rank + round);
        device_write(from, host, all);
        NCCL(ncclGroupStart());
        for (int peer = 0; peer < r->nranks; peer++) {
            size_t at = (size_t)peer * n;

            NCCL(ncclSend((float *)from + at, n, ncclFloat, peer, comm, r->stream));
            NCCL(ncclRecv((float *)to + at, n, ncclFloat, peer, comm, r->stream));
        }
        NCCL(ncclGroupEnd());
        stream_wait(r->stream);
        device_read(host, to, all);
        for (size_t i = 0; i < n * (size_t)r->nranks; i++)
            wrong += host[i] != (float)(i / n) + (float)round;
        check(r, !wrong, "an exchange, round %d: %zu elements are wrong", round, wrong);
    }
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommDeregister(comm, handle[i]));
    NCCL(ncclCommDestroy(comm));
    NCCL(ncclMemFree(from));
    NCCL(ncclMemFree(to));
    free(host);
}

/* Memory of NCCL's own, known to the communicator as a window: before any call, or after some. */
static void in_window(struct rank *r, int calls)
{
    ncclComm_t comm = ranks_comm(r);
    void *buffer = buffer_new(r);
    ncclWindow_t window;

    for (int i = 0; i < calls; i++)
        sum_all(r, comm, r->stream, "before a window");
    NCCL(ncclCommWindowRegister(comm, buffer, r->count * sizeof(float), &window,
                                NCCL_WIN_COLL_SYMMETRIC));
    for (int i = 0; i < 3; i++)
        sum_in(r, comm, buffer, "in a window");
    NCCL(ncclCommWindowDeregister(comm, window));
    sum_all(r, comm, r->stream, "after a window");
    NCCL(ncclCommDestroy(comm));
    NCCL(ncclMemFree(buffer));
}

static void test_windows(struct rank *r)
{
    in_window(r, 0);
    in_window(r, 3);
}

/* For a communicator that is called in the same group: the library runs both. */
static void test_window_in_group(struct rank *r)
{
    ncclComm_t comm = ranks_comm(r);
    void *buffer = buffer_new(r);
    struct sum s;
    ncclWindow_t window;

    for (int i = 0; i < 3; i++)
        sum_all(r, comm, r->stream, "before a window in a group");
    s = sum_begin(r, comm, r->stream);
    NCCL(ncclGroupStart());
    NCCL(sum_call(&s));
    NCCL(ncclCommWindowRegister(comm, buffer, r->count * sizeof(float), &window,
                                NCCL_WIN_COLL_SYMMETRIC));
    NCCL(ncclGroupEnd());
    sum_end(r, &s, "beside a window in a group");
    sum_in(r, comm, buffer, "in a window of a group");
    NCCL(ncclCommWindowDeregister(comm, window));
    NCCL(ncclCommDestroy(comm));
    NCCL(ncclMemFree(buffer));
}

const struct test_case cases_registered[] = {
    {"registered", test_registered},
    {"registered_late", test_registered_late},
    {"registered_by_one", test_registered_by_one},
    {"registered_to_the_end", test_registered_to_the_end},
    {"registered_exchange", test_registered_exchange},
    {"windows", test_windows},
    {"window_in_group", test_window_in_group},
    {NULL, NULL},
};
