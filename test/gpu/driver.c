/* SPDX-License-Identifier: BSD-3-Clause */
/* The behaviour of memory, streams, events, and of values that streams write and wait for, on which
   the code relies. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/gpu/gpu.h"

#define N (1u << 20)

static void fill(unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)gpu_random();
}

static uint64_t buffer_id(CUdeviceptr p)
{
    unsigned long long id = 0;

    MUST(PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    return id;
}

static void check_attributes(CUdeviceptr device, void *pinned, void *plain)
{
    unsigned type = 77, managed = 77, capable = 77;
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void *out[] = {&type, &managed, &capable};

    MUST(PointerGetAttributes(3, what, out, device + 5));
    gpu_check(type == CU_MEMORYTYPE_DEVICE && !managed && capable,
              "cuMemAlloc memory is device memory and IPC-capable: %u %u %u", type, managed,
              capable);
    MUST(PointerGetAttributes(3, what, out, (CUdeviceptr)pinned));
    gpu_check(type == CU_MEMORYTYPE_HOST && !managed, "pinned memory is host memory: %u", type);
    MUST(PointerGetAttributes(3, what, out, (CUdeviceptr)plain));
    gpu_check(type == 0 && !managed && !capable, "plain memory is none of the driver's: %u", type);
    gpu_check(cu->PointerGetAttribute(&type, what[0], (CUdeviceptr)plain) ==
                  CUDA_ERROR_INVALID_VALUE,
              "one attribute of plain memory is an invalid value");
}

static void check_pool(CUstream s)
{
    unsigned capable = 77;
    CUdeviceptr p;

    if (cu->MemAllocAsync(&p, N, s) != CUDA_SUCCESS) {
        gpu_skip("pool memory", "cuMemAllocAsync refuses");
        return;
    }
    MUST(PointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    gpu_check(capable == 0, "pool memory is not IPC-capable");
    MUST(MemFreeAsync(p, s));
    MUST(StreamSynchronize(s));
}

void gpu_test_memory(void)
{
    unsigned char *in = gpu_pinned(N), *out = gpu_pinned(N), *plain = malloc(N);
    CUdeviceptr a = gpu_alloc(N), b = gpu_alloc(N), base = 0;
    CUstream s = gpu_stream();
    size_t bytes = 0;
    uint64_t id;

    fill(in, N);
    MUST(MemcpyHtoDAsync(a + 3, in, N - 3, s));
    MUST(MemcpyDtoDAsync(b, a + 3, N - 3, s));
    MUST(MemcpyDtoHAsync(out, b, N - 3, s));
    MUST(StreamSynchronize(s));
    gpu_check(!memcmp(in, out, N - 3), "bytes survive host, device, device, host");
    memset(out, 0, N);
    MUST(MemcpyAsync((CUdeviceptr)out, b, N - 3, s));
    MUST(StreamSynchronize(s));
    gpu_check(!memcmp(in, out, N - 3), "cuMemcpyAsync finds out what the pointers are");
    MUST(MemcpyDtoHAsync(plain, b, N - 3, s));
    MUST(StreamSynchronize(s));
    gpu_check(!memcmp(in, plain, N - 3), "a copy to memory that is not pinned");
    MUST(MemGetAddressRange(&base, &bytes, a + N / 2));
    gpu_check(base == a && bytes == N, "an allocation's base and size from a pointer into it");
    gpu_check(a % 256 == 0, "allocations are aligned to 256 bytes");
    check_attributes(a, in, plain);
    check_pool(s);
    id = buffer_id(a);
    gpu_check(id != buffer_id(b) && id == buffer_id(a + 1), "one id per allocation");
    MUST(MemFree(a));
    a = gpu_alloc(N);
    gpu_check(buffer_id(a) != id, "ids are not used again, though addresses are");
    MUST(MemHostRegister(plain, N, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    gpu_check(cu->MemHostRegister(plain, N, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              "memory is registered once");
    MUST(MemHostGetDevicePointer(&base, plain, 0));
    gpu_check(base != 0, "registered memory has an address on the device");
    MUST(MemHostUnregister(plain));
    MUST(MemFree(a));
    MUST(MemFree(b));
    MUST(MemFreeHost(in));
    MUST(MemFreeHost(out));
    MUST(StreamDestroy(s));
    free(plain);
}

static void slow(void *flag)
{
    const struct timespec pause = {0, 20000000};

    nanosleep(&pause, NULL);
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

static void note(void *flag)
{
    int *f = flag;

    f[1] = __atomic_load_n(&f[0], __ATOMIC_ACQUIRE);
}

/* One stream is held by a host function until the host lets it go. */
static void hold(void *gate)
{
    const struct timespec pause = {0, 100000};

    while (!__atomic_load_n((int *)gate, __ATOMIC_ACQUIRE))
        nanosleep(&pause, NULL);
}

void gpu_test_streams(void)
{
    CUstream a = gpu_stream(), b = gpu_stream();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUcontext mine, its;
    int order[2] = {0, 0}, gate = 0;
    CUdeviceptr p = gpu_alloc(N);

    MUST(LaunchHostFunc(a, slow, order));
    MUST(LaunchHostFunc(a, note, order));
    MUST(StreamSynchronize(a));
    gpu_check(order[1] == 1, "work in a stream runs in order");
    MUST(LaunchHostFunc(a, hold, &gate));
    gpu_check(cu->StreamQuery(a) == CUDA_ERROR_NOT_READY, "a stream under way is not ready");
    MUST(MemsetD8Async(p, 1, N, b)); /* no host function: CUDA may run those one after another */
    MUST(StreamSynchronize(b));
    gpu_check(cu->StreamQuery(b) == CUDA_SUCCESS, "streams do not wait for each other");
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    MUST(StreamSynchronize(a));
    MUST(StreamIsCapturing(a, &status));
    gpu_check(status == CU_STREAM_CAPTURE_STATUS_NONE, "a stream is not in capture");
    MUST(StreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(StreamIsCapturing(a, &status));
    gpu_check(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "a stream in capture says so");
    CUgraph graph = NULL;
    MUST(StreamEndCapture(a, &graph));
    MUST(GraphDestroy(graph));
    MUST(CtxGetCurrent(&mine));
    MUST(StreamGetCtx(a, &its));
    gpu_check(mine == its, "a stream knows its context");
    MUST(MemFree(p));
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}

void gpu_test_events(void)
{
    CUstream a = gpu_stream(), b = gpu_stream();
    CUevent e = gpu_event(CU_EVENT_DISABLE_TIMING), from = gpu_event(CU_EVENT_DEFAULT),
            to = gpu_event(CU_EVENT_DEFAULT);
    int order[2] = {0, 0}, gate = 0;
    CUdeviceptr p = gpu_alloc(N);
    float ms = -1;

    gpu_check(cu->EventQuery(e) == CUDA_SUCCESS, "an event never recorded is complete");
    MUST(StreamWaitEvent(b, e, 0));
    MUST(StreamSynchronize(b));
    MUST(LaunchHostFunc(a, slow, order));
    MUST(EventRecord(e, a));
    MUST(StreamWaitEvent(b, e, 0));
    MUST(LaunchHostFunc(b, note, order));
    MUST(StreamSynchronize(b));
    gpu_check(order[1] == 1, "a stream waits for another's event");
    MUST(EventRecord(e, a));
    MUST(StreamWaitEvent(b, e, 0)); /* bound to this record ... */
    MUST(LaunchHostFunc(a, hold, &gate));
    MUST(EventRecord(e, a)); /* ... not to this one */
    MUST(StreamSynchronize(b));
    gpu_check(cu->EventQuery(e) == CUDA_ERROR_NOT_READY, "a wait binds to the record before it");
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    MUST(EventSynchronize(e));
    MUST(EventRecord(from, a));
    MUST(MemsetD8Async(p, 1, N, a));
    MUST(EventRecord(to, a));
    MUST(EventSynchronize(to));
    MUST(EventElapsedTime(&ms, from, to));
    gpu_check(ms > 0, "two events tell the time between them: %g ms", (double)ms);
    MUST(MemFree(p));
    MUST(EventDestroy(e));
    MUST(EventDestroy(from));
    MUST(EventDestroy(to));
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}

static void try_values(CUdeviceptr at, const char *where)
{
    CUstream a = gpu_stream(), b = gpu_stream();
    int order[2] = {0, 0};

    MUST(MemsetD8Async(at, 0, 4, a));
    MUST(StreamSynchronize(a));
    MUST(StreamWaitValue32(b, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
    MUST(LaunchHostFunc(b, note, order));
    MUST(StreamWriteValue32(a, at, 4, 0));
    MUST(StreamSynchronize(a));
    gpu_check(cu->StreamQuery(b) == CUDA_ERROR_NOT_READY, "%s: 4 is not enough for 5", where);
    MUST(LaunchHostFunc(a, slow, order));
    MUST(StreamWriteValue32(a, at, 6, 0));
    MUST(StreamSynchronize(b));
    gpu_check(order[1] == 1, "%s: a stream waits for a value, and for what came before it", where);
    MUST(StreamSynchronize(a));
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}

void gpu_test_values(void)
{
    uint32_t *host = gpu_pinned(4096);
    CUdeviceptr p = gpu_alloc(4096);
    CUstream s = gpu_stream();

    try_values(p + 8, "device memory");
    try_values((CUdeviceptr)(host + 2), "pinned memory");
    __atomic_store_n(host, 0, __ATOMIC_RELEASE);
    MUST(StreamWaitValue32(s, (CUdeviceptr)host, 1, CU_STREAM_WAIT_VALUE_EQ));
    __atomic_store_n(host, 1, __ATOMIC_RELEASE);
    MUST(StreamSynchronize(s));
    gpu_check(1, "the host lets a stream go by a value");
    MUST(StreamDestroy(s));
    MUST(MemFree(p));
    MUST(MemFreeHost(host));
}

void gpu_test_peers(void)
{
    CUcontext first, second;
    CUdeviceptr a, b;
    CUresult result;
    int devices = 0, can = 0;
    unsigned char out[64] = {0};
    CUstream s;

    MUST(DeviceGetCount(&devices));
    if (devices > 1)
        MUST(DeviceCanAccessPeer(&can, 0, 1));
    if (!can) {
        gpu_skip("peers", "%d device(s)%s", devices, devices > 1 ? " without peer access" : "");
        return;
    }
    MUST(CtxGetCurrent(&first));
    a = gpu_alloc(N);
    MUST(DevicePrimaryCtxRetain(&second, 1));
    MUST(CtxPushCurrent(second));
    b = gpu_alloc(N);
    MUST(MemsetD8Async(b, 0x3d, N, NULL));
    MUST(CtxSynchronize());
    MUST(CtxPopCurrent(NULL));
    MUST(CtxEnablePeerAccess(second, 0));
    result = cu->CtxEnablePeerAccess(second, 0);
    gpu_check(result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled once: %s",
              cuda_result_name(result));
    s = gpu_stream();
    MUST(MemcpyPeerAsync(a, first, b, second, N, s));
    MUST(StreamSynchronize(s));
    MUST(MemcpyDtoH(out, a + N - sizeof out, sizeof out));
    gpu_check(out[0] == 0x3d && out[63] == 0x3d, "bytes come from another device");
    MUST(StreamDestroy(s));
    MUST(MemFree(a));
    MUST(CtxPushCurrent(second));
    MUST(MemFree(b));
    MUST(CtxPopCurrent(NULL));
}
