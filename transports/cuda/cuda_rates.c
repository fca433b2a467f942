/* SPDX-License-Identifier: BSD-3-Clause */
/* Times come from the device's own events. Each is the best of a few, because a disturbance only
   makes one longer. */
#include "transports/cuda/cuda_rates.h"

#include <errno.h>

#include "transports/cuda/cuda_reduce.h"

enum { BYTES = 64 << 20, RUNS = 6 };

/* Memory used for measuring: the first device's, the next one's, and the host's. */
struct bed {
    const struct cuda_calls *cu;
    CUdevice device[2];
    CUcontext context[2];
    int devices;
    CUstream stream;
    CUevent from, to;
    CUdeviceptr a, b, far; /* 0: none */
    void *host;
    struct cuda_reducer *reducer; /* NULL: there are no kernels */
    CUresult result;              /* of the first call that failed */
};

/* Goes on only while all is well. */
#define TRY(bed, call)                                                                             \
    ((bed)->result = (bed)->result == CUDA_SUCCESS ? (bed)->cu->call : (bed)->result)

static void close_bed(struct bed *b)
{
    const struct cuda_calls *cu = b->cu;

    if (b->context[0])
        cu->CtxSetCurrent(b->context[0]);
    cuda_reducer_free(b->reducer);
    if (b->from)
        cu->EventDestroy(b->from);
    if (b->to)
        cu->EventDestroy(b->to);
    if (b->stream)
        cu->StreamDestroy(b->stream);
    if (b->a)
        cu->MemFree(b->a);
    if (b->b)
        cu->MemFree(b->b);
    if (b->host)
        cu->MemFreeHost(b->host);
    if (b->far && cu->CtxSetCurrent(b->context[1]) == CUDA_SUCCESS)
        cu->MemFree(b->far);
    cu->CtxSetCurrent(NULL);
    for (int i = 0; i < b->devices; i++)
        if (b->context[i])
            cu->DevicePrimaryCtxRelease(b->device[i]);
}

static void open_bed(struct bed *b)
{
    TRY(b, Init(0));
    TRY(b, DeviceGetCount(&b->devices));
    if (b->result == CUDA_SUCCESS && !b->devices)
        b->result = CUDA_ERROR_NO_DEVICE;
    b->devices = b->devices < 2 ? b->devices : 2;
    for (int i = 0; i < b->devices; i++) {
        TRY(b, DeviceGet(&b->device[i], i));
        TRY(b, DevicePrimaryCtxRetain(&b->context[i], b->device[i]));
    }
    if (b->devices > 1) {
        TRY(b, CtxSetCurrent(b->context[1]));
        TRY(b, MemAlloc(&b->far, BYTES));
    }
    TRY(b, CtxSetCurrent(b->context[0]));
    if (b->devices > 1 && b->result == CUDA_SUCCESS)
        b->cu->CtxEnablePeerAccess(b->context[1], 0); /* else copies go by the host */
    TRY(b, StreamCreateWithPriority(&b->stream, CU_STREAM_NON_BLOCKING, 0));
    TRY(b, EventCreate(&b->from, CU_EVENT_DEFAULT));
    TRY(b, EventCreate(&b->to, CU_EVENT_DEFAULT));
    TRY(b, MemAlloc(&b->a, BYTES));
    TRY(b, MemAlloc(&b->b, BYTES));
    TRY(b, MemHostAlloc(&b->host, BYTES, CU_MEMHOSTALLOC_PORTABLE));
    TRY(b, MemsetD8Async(b->a, 0, BYTES, b->stream));
    TRY(b, MemsetD8Async(b->b, 0, BYTES, b->stream));
    if (b->result == CUDA_SUCCESS && cuda_reducer_create(b->cu, &b->reducer) != 0)
        b->reducer = NULL;
}

static void down(struct bed *b)
{
    TRY(b, MemcpyDtoHAsync(b->host, b->a, BYTES, b->stream));
}

static void up(struct bed *b)
{
    TRY(b, MemcpyHtoDAsync(b->a, b->host, BYTES, b->stream));
}

static void across(struct bed *b)
{
    TRY(b, MemcpyPeerAsync(b->a, b->context[0], b->far, b->context[1], BYTES, b->stream));
}

static void combine(struct bed *b)
{
    struct cuda_reduce_args args = {.dst = (void *)b->a, /* NOLINT: the device's */
                                    .src = {(void *)b->a, (void *)b->b},
                                    .count = BYTES / sizeof(float),
                                    .sources = 2};

    if (b->result == CUDA_SUCCESS &&
        cuda_reduce(b->reducer, REDUCE_OP_sum, REDUCE_TYPE_f32, &args, b->stream))
        b->result = CUDA_ERROR_LAUNCH_FAILED;
}

static double rate_of(struct bed *b, void (*start)(struct bed *b))
{
    float best = 0, ms = 0;

    for (int i = 0; i < RUNS; i++) {
        TRY(b, EventRecord(b->from, b->stream));
        start(b);
        TRY(b, EventRecord(b->to, b->stream));
        TRY(b, EventSynchronize(b->to));
        TRY(b, EventElapsedTime(&ms, b->from, b->to));
        best = i == 0 || ms < best ? ms : best;
    }
    return b->result == CUDA_SUCCESS && best > 0 ? BYTES / (double)best * 1e3 : 0;
}

int cuda_rates_measure(struct cuda_rates *r, const char **why)
{
    struct bed b = {.cu = cuda_open(CUDA_LOAD)};
    struct cuda_rates measured = {0};

    *why = cuda_missing();
    if (!b.cu)
        return -ENODEV;
    open_bed(&b);
    double out = rate_of(&b, down), in = rate_of(&b, up);
    measured.bus = out < in ? out : in;
    if (b.devices > 1)
        measured.between = rate_of(&b, across);
    if (b.reducer)
        measured.combine = rate_of(&b, combine);
    *why = cuda_result_name(b.result);
    close_bed(&b);
    if (b.result != CUDA_SUCCESS)
        return -ENODEV;
    *r = measured;
    return 0;
}
