/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture, and what a graph does at each launch. */
#include <pthread.h>
#include <string.h>

#include "test/gpu/gpu.h"

enum { N = 4096 };

static CUgraphExec end(CUstream s)
{
    CUgraphExec exec;
    CUgraph graph;

    MUST(StreamEndCapture(s, &graph));
    MUST(GraphInstantiateWithFlags(&exec, graph, 0));
    MUST(GraphDestroy(graph));
    return exec;
}

static int all_are(CUdeviceptr p, unsigned char value)
{
    unsigned char host[N];
    int same = 1;

    MUST(MemcpyDtoH(host, p, N));
    for (int i = 0; i < N; i++)
        same &= host[i] == value;
    return same;
}

/* Captured work does not run, and runs at each launch, with the data of that time. */
static void launches(CUstream s, CUstream other)
{
    CUdeviceptr from = gpu_alloc(N), to = gpu_alloc(N), aside = gpu_alloc(N);
    CUevent fork = gpu_event(CU_EVENT_DISABLE_TIMING), back = gpu_event(CU_EVENT_DISABLE_TIMING);
    CUstreamCaptureStatus status;
    CUgraphExec exec;

    MUST(MemsetD8Async(to, 9, N, s));
    MUST(StreamSynchronize(s));
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MUST(MemcpyDtoDAsync(to, from, N, s));
    MUST(EventRecord(fork, s));
    MUST(StreamWaitEvent(other, fork, 0));
    MUST(StreamIsCapturing(other, &status));
    gpu_check(status == CU_STREAM_CAPTURE_STATUS_ACTIVE,
              "a stream that waits for it is in capture");
    MUST(MemcpyDtoDAsync(aside, to, N, other));
    MUST(EventRecord(back, other));
    MUST(StreamWaitEvent(s, back, 0));
    exec = end(s);
    MUST(StreamIsCapturing(other, &status));
    gpu_check(status == CU_STREAM_CAPTURE_STATUS_NONE, "a capture ends for all its streams");
    gpu_check(all_are(to, 9), "captured work does not run");
    for (unsigned char i = 1; i < 4; i++) {
        MUST(MemsetD8Async(from, i, N, other));
        MUST(StreamSynchronize(other));
        MUST(GraphLaunch(exec, other)); /* on any stream */
        MUST(StreamSynchronize(other));
        gpu_check(all_are(to, i) && all_are(aside, i), "launch %d works on what is there", i);
    }
    MUST(GraphExecDestroy(exec));
    MUST(EventDestroy(fork));
    MUST(EventDestroy(back));
    MUST(MemFree(from));
    MUST(MemFree(to));
    MUST(MemFree(aside));
}

static void open_gate(uint32_t *gate)
{
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

/* Waits and records that are external to a graph: each launch binds them anew. */
static void external(CUstream s, CUstream other)
{
    CUevent turn = gpu_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr p = gpu_alloc(N), gate_at, copy = gpu_alloc(N);
    uint32_t *gate = gpu_pinned(sizeof *gate);
    CUgraphExec exec;

    MUST(MemHostGetDevicePointer(&gate_at, gate, 0));
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MUST(StreamWaitEvent(s, turn, CU_EVENT_WAIT_EXTERNAL));
    MUST(MemsetD8Async(p, 7, N, s));
    MUST(EventRecordWithFlags(turn, s, CU_EVENT_RECORD_EXTERNAL));
    exec = end(s);
    for (int i = 0; i < 3; i++) {
        __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
        MUST(StreamWaitValue32(other, gate_at, 1, CU_STREAM_WAIT_VALUE_EQ));
        MUST(MemsetD8Async(p, 5, N, other));
        MUST(EventRecord(turn, other));
        MUST(GraphLaunch(exec, s));
        MUST(StreamWaitEvent(other, turn, 0));
        MUST(MemcpyDtoDAsync(copy, p, N, other));
        gpu_check(cu->StreamQuery(s) == CUDA_ERROR_NOT_READY, "a launch waits for the last record");
        open_gate(gate);
        MUST(StreamSynchronize(other));
        gpu_check(all_are(copy, 7), "a launch records: waiting for the event waits for it");
        MUST(StreamSynchronize(s));
    }
    MUST(GraphExecDestroy(exec));
    MUST(EventDestroy(turn));
    MUST(MemFree(p));
    MUST(MemFree(copy));
    MUST(MemFreeHost(gate));
}

/* Calls that do not belong into a capture spoil it. */
static void spoilt(CUstream s, CUstream other)
{
    CUevent outside = gpu_event(CU_EVENT_DISABLE_TIMING),
            inside = gpu_event(CU_EVENT_DISABLE_TIMING);
    CUdeviceptr p;
    CUgraph graph;

    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    gpu_check(cu->MemAlloc(&p, N) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "no allocation");
    gpu_check(cu->StreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "an allocation spoils a capture");
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    gpu_check(cu->StreamSynchronize(s) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "no waiting");
    gpu_check(cu->StreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "waiting for its stream spoils a capture");
    MUST(EventRecord(outside, other));
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    gpu_check(cu->StreamWaitEvent(s, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
              "no event of outside");
    gpu_check(cu->StreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "an event of outside spoils a capture");
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(EventRecord(inside, s));
    gpu_check(cu->EventQuery(inside) == CUDA_ERROR_CAPTURED_EVENT, "a captured event is not asked");
    cu->StreamEndCapture(s, &graph);
    if (graph)
        MUST(GraphDestroy(graph));
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(MemAlloc(&p, N));
    MUST(StreamEndCapture(s, &graph));
    MUST(GraphDestroy(graph));
    MUST(MemFree(p));
    MUST(EventDestroy(outside));
    MUST(EventDestroy(inside));
}

/* Calls that another thread may make while this one captures: by its mode, and for itself. */
static void *beside(void *context)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUevent old = NULL;
    CUdeviceptr p = 0;

    MUST(CtxSetCurrent(context));
    MUST(EventCreate(&old, CU_EVENT_DISABLE_TIMING));
    MUST(ThreadExchangeStreamCaptureMode(&mode));
    gpu_check(mode == CU_STREAM_CAPTURE_MODE_GLOBAL, "a thread begins in the global mode");
    MUST(EventQuery(old));
    MUST(MemAlloc(&p, N));
    MUST(MemFree(p));
    MUST(ThreadExchangeStreamCaptureMode(&mode));
    gpu_check(mode == CU_STREAM_CAPTURE_MODE_RELAXED, "a thread has its mode until it changes it");
    MUST(EventDestroy(old));
    return NULL;
}

static void *beside_strictly(void *context)
{
    CUdeviceptr p;

    MUST(CtxSetCurrent(context));
    gpu_check(cu->MemAlloc(&p, N) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              "no allocation while another thread captures");
    return NULL;
}

static CUresult captured_beside(CUstream s, void *(*other)(void *), CUgraph *graph)
{
    CUcontext context;
    pthread_t thread;

    MUST(CtxGetCurrent(&context));
    MUST(StreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    if (pthread_create(&thread, NULL, other, context) == 0)
        pthread_join(thread, NULL);
    return cu->StreamEndCapture(s, graph);
}

static void threads(CUstream s)
{
    CUgraph graph = NULL;

    gpu_check(captured_beside(s, beside, &graph) == CUDA_SUCCESS,
              "a relaxed thread does not spoil another's capture");
    MUST(GraphDestroy(graph));
    if (captured_beside(s, beside_strictly, &graph) == CUDA_SUCCESS)
        MUST(GraphDestroy(graph));
}

void gpu_test_graphs(void)
{
    CUstream a = gpu_stream(), b = gpu_stream();

    launches(a, b);
    external(a, b);
    spoilt(a, b);
    threads(a);
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}
