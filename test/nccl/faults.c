/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's results for wrong programs: the same with the preload as without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/nccl/ranks.h"
#include "test/nccl/sums.h"

static __thread int lacks_memory;

/* The host's, for all libraries of the process: calls of a group are kept in it. */
__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes)
{
    static void *(*real)(void *, size_t);

    if (lacks_memory)
        return NULL;
    if (!real)
        real = (__typeof__(real))dlsym(RTLD_NEXT, "realloc");
    return real(p, bytes);
}

/* A group that cannot be kept is refused as NCCL refuses one: no call of it happens, on any rank.
 * A library that has set memory aside keeps it. */
static void test_without_memory(struct rank *r)
{
    struct sum s = sum_begin(r, r->comm, r->stream);
    ncclResult_t call, end;

    NCCL(ncclGroupStart());
    lacks_memory = 1;
    call = sum_call(&s);
    lacks_memory = 0;
    end = ncclGroupEnd();
    check(r, call == ncclSystemError || !call, "without memory: %d", call);
    check(r, end == call, "the end of a group without memory: %d", end);
    if (call)
        device_free(s.data);
    else
        sum_end(r, &s, "in a group");
    NCCL(ncclGroupStart());
    s = sum_begin(r, r->comm, r->stream);
    NCCL(sum_call(&s));
    NCCL(ncclGroupEnd());
    sum_end(r, &s, "in the next group");
}

/* Irregular groups: each rank's own cut of what is too much for one kernel may hang. Here they do
 * not fit if each message has many channels (run.sh), and are said to; a few channels carry them.
 */
static void test_group_too_large(struct rank *r)
{
    enum { ROUNDS = 6, BYTES = 128 << 10 };
    char *out = device_new(BYTES), *in = device_new(BYTES);
    ncclComm_t comm = ranks_comm(r);
    ncclResult_t state = ncclSuccess;
    unsigned seed = 1;

    for (int round = 0; round < ROUNDS && state == ncclSuccess; round++) {
        NCCL(ncclGroupStart());
        for (int a = 0; a < r->nranks; a++)
            for (int b = 0; b < r->nranks; b++) {
                seed = seed * 1103515245 + 12345;
                for (unsigned i = 0; a != b && i < (seed >> 16) % 4; i++)
                    if (r->rank == a)
                        NCCL(ncclSend(out, BYTES, ncclInt8, b, comm, r->stream));
                    else if (r->rank == b)
                        NCCL(ncclRecv(in, BYTES, ncclInt8, a, comm, r->stream));
            }
        NCCL(ncclGroupEnd());
        stream_wait(r->stream);
        NCCL(ncclCommGetAsyncError(comm, &state));
        ranks_meet(r);
    }
    check(r, state == ncclSuccess || state == ncclInternalError, "an irregular group");
    NCCL(ncclCommAbort(comm));
    device_free(out);
    device_free(in);
}

static void test_arguments(struct rank *r)
{
    size_t bytes = r->count * 4;
    char *p = device_new(bytes * (size_t)r->nranks);
    int n = r->nranks;
    ncclComm_t comm;

    check(r,
          ncclAllReduce(p, p, r->count, ncclFloat, ncclSum, NULL, r->stream) == ncclInvalidArgument,
          "no communicator");
    check(r,
          ncclAllReduce(p, p, r->count, (ncclDataType_t)99, ncclSum, r->comm, r->stream) ==
              ncclInvalidArgument,
          "no such type");
    check(r,
          ncclAllReduce(p, p, r->count, ncclFloat, (ncclRedOp_t)77, r->comm, r->stream) ==
              ncclInvalidArgument,
          "no such operation");
    check(r, ncclBroadcast(p, p, r->count, ncclFloat, n, r->comm, r->stream) == ncclInvalidArgument,
          "no such root");
    check(r,
          ncclReduce(p, p, r->count, ncclFloat, ncclSum, -1, r->comm, r->stream) ==
              ncclInvalidArgument,
          "a negative root");
    check(r, ncclSend(p, r->count, ncclFloat, n, r->comm, r->stream) == ncclInvalidArgument,
          "no such peer");
    check(r, ncclGroupEnd() == ncclInvalidUsage, "a group that has not begun");
    comm = ranks_comm(r);
    NCCL(ncclGroupStart());
    ncclSend(p, r->count, ncclFloat, r->rank, comm, r->stream);
    check(r, ncclGroupEnd() == ncclInvalidUsage, "a message to itself that it does not receive");
    NCCL(ncclCommAbort(comm));
    NCCL(ncclAllGather(p + (size_t)r->rank * bytes, p, r->count, ncclFloat, r->comm, r->stream));
    stream_wait(r->stream);
    device_free(p);
}

/* All ranks get an error; no rank hangs. */
static void expect_failure(struct rank *r, ncclComm_t comm, const char *what)
{
    ncclResult_t state = ncclSuccess;

    stream_wait(r->stream);
    for (int i = 0; i < 1000 && state == ncclSuccess; i++) {
        NCCL(ncclCommGetAsyncError(comm, &state));
        usleep(1000);
    }
    check(r, state == ncclInvalidUsage, "%s: %d", what, state);
}

static void test_different_counts(struct rank *r)
{
    char *p = device_new(1000);

    if (r->nranks == 1)
        return;
    ncclAllReduce(p, p, r->rank ? 100 : 101, ncclInt8, ncclSum, r->comm, r->stream);
    expect_failure(r, r->comm, "different counts");
    device_free(p);
}

static void test_different_messages(struct rank *r)
{
    char *p = device_new(1000);

    if (r->nranks == 1)
        return;
    ncclGroupStart();
    if (r->rank == 0)
        ncclSend(p, 10, ncclInt8, 1, r->comm, r->stream);
    if (r->rank == 1)
        ncclRecv(p, 11, ncclInt8, 0, r->comm, r->stream);
    ncclGroupEnd();
    if (r->rank < 2)
        expect_failure(r, r->comm, "a message of another length");
    ranks_meet(r);
    device_free(p);
}

static void test_different_order(struct rank *r)
{
    ncclComm_t other = ranks_comm(r);
    CUstream stream = stream_new();
    char *p = device_new(1000);
    ncclResult_t a = ncclSuccess, b = ncclSuccess;

    if (r->nranks == 1)
        return;
    for (int i = 0; i < 2; i++)
        if ((r->rank == 0) == (i == 0))
            ncclAllReduce(p, p, 100, ncclInt8, ncclSum, r->comm, r->stream);
        else
            ncclAllReduce(p + 500, p + 500, 100, ncclInt8, ncclSum, other, stream);
    stream_wait(stream);
    stream_wait(r->stream);
    NCCL(ncclCommGetAsyncError(r->comm, &a));
    NCCL(ncclCommGetAsyncError(other, &b));
    check(r, a == ncclInvalidUsage || b == ncclInvalidUsage, "another order: %d %d", a, b);
    ranks_meet(r);
    NCCL(ncclCommDestroy(other));
    CUDA(StreamDestroy(stream));
    device_free(p);
}

static void test_after_destroy(struct rank *r)
{
    char *p = device_new(r->count);

    NCCL(ncclCommDestroy(r->comm));
    check(r,
          ncclAllReduce(p, p, r->count, ncclInt8, ncclSum, r->comm, r->stream) ==
              ncclInvalidArgument,
          "a communicator that has ended");
    r->comm = NULL;
    device_free(p);
}

/* A stream of a device that the communicator is not of. */
static void test_foreign_stream(struct rank *r)
{
    char *p = device_new(r->count);
    CUstream stream;
    CUcontext other;
    int devices;

    CUDA(DeviceGetCount(&devices));
    if (devices > 1) {
        CUDA(DevicePrimaryCtxRetain(&other, (r->device + 1) % devices));
        CUDA(CtxPushCurrent(other));
        stream = stream_new();
        check(r, ncclAllReduce(p, p, r->count, ncclInt8, ncclSum, r->comm, stream) != ncclSuccess,
              "a stream of another device");
        CUDA(StreamSynchronize(stream));
        CUDA(StreamDestroy(stream));
        CUDA(CtxPopCurrent(NULL));
    }
    ranks_meet(r);
    NCCL(ncclCommAbort(r->comm));
    r->comm = NULL;
    device_free(p);
}

const struct test_case cases_faults[] = {
    {"arguments", test_arguments},
    {"group_too_large", test_group_too_large},
    {"different_counts", test_different_counts},
    {"different_messages", test_different_messages},
    {"different_order", test_different_order},
    {"after_destroy", test_after_destroy},
    {"foreign_stream", test_foreign_stream},
    {"without_memory", test_without_memory},
    {NULL, NULL},
};
