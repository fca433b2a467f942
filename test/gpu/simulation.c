/* SPDX-License-Identifier: BSD-3-Clause */
/* That the simulated driver catches what it is there to catch, and that modelled time adds up. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/gpu/gpu.h"

enum { USABLE = 42, TOUCHED }; /* exit statuses of the child that should not get that far */
#define N 5500000u             /* 100 us over a 55 GB/s link */

static int (*violations)(void);
static int (*fail)(const char *, long, int);

static void test_faults(void)
{
    static const char *const needed[] = {"ModuleLoadData", "ModuleGetFunction", "CtxGetDevice",
                                         "DeviceGetAttribute",
                                         "OccupancyMaxActiveBlocksPerMultiprocessor"};
    struct cuda_reducer *r;
    CUdeviceptr p;

    fail("MemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
    MUST(MemFree(gpu_alloc(1)));
    gpu_check(cu->MemAlloc(&p, 1) == CUDA_ERROR_OUT_OF_MEMORY, "the call asked for fails");
    MUST(MemFree(gpu_alloc(1)));
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        fail(needed[i], 1, CUDA_ERROR_UNKNOWN);
        gpu_check(cuda_reducer_create(cu, &r) < 0, "no reducer when cu%s fails", needed[i]);
    }
    fail(NULL, 0, 0);
}

static void slow(void *unused)
{
    const struct timespec pause = {0, 20000000};

    (void)unused;
    nanosleep(&pause, NULL);
}

static void calls_driver(void *unused)
{
    CUcontext c;

    (void)unused;
    cu->CtxGetCurrent(&c);
}

static void test_violations(void)
{
    CUstream s = gpu_stream();
    CUdeviceptr a = gpu_alloc(N), b = gpu_alloc(N);
    int before = violations(), status = 0;
    pid_t pid;

    MUST(LaunchHostFunc(s, slow, NULL));
    MUST(MemcpyDtoDAsync(a, b, N, s));
    MUST(MemFree(a));
    gpu_check(violations() == before + 1, "memory freed while a copy is queued is seen");
    gpu_check(cu->MemcpyDtoDAsync(a, b, N, s) != CUDA_SUCCESS && violations() == before + 2,
              "a copy to freed memory is seen");
    MUST(LaunchHostFunc(s, calls_driver, NULL));
    MUST(StreamSynchronize(s));
    gpu_check(violations() == before + 3, "a driver call in a host function is seen");
    pid = fork();
    if (pid == 0) {
        if (cu->MemFree(b) != CUDA_ERROR_NOT_INITIALIZED)
            _exit(USABLE);
        signal(SIGSEGV, SIG_DFL); /* no sanitizer's affair */
        (void)*(volatile char *)b;
        _exit(TOUCHED);
    }
    waitpid(pid, &status, 0);
    gpu_check(!WIFEXITED(status) || WEXITSTATUS(status) != USABLE,
              "the driver is not usable after fork");
    gpu_check(!WIFEXITED(status) || WEXITSTATUS(status) != TOUCHED,
              "the host cannot touch device memory");
    MUST(MemFree(b));
    MUST(StreamDestroy(s));
}

/* Where streams may not wait for a value, by the documentation. */
static void test_values(void)
{
    static uint32_t plain[1024];
    int before = violations();
    CUdeviceptr managed, seen;
    CUstream s = gpu_stream();

    MUST(MemAllocManaged(&managed, N, CU_MEM_ATTACH_GLOBAL));
    gpu_check(cu->StreamWaitValue32(s, managed, 0, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS &&
                  violations() == before + 1,
              "a value in managed memory is seen");
    MUST(MemHostRegister(plain, sizeof plain, CU_MEMHOSTREGISTER_PORTABLE));
    gpu_check(cu->MemHostGetDevicePointer(&seen, plain, 0) != CUDA_SUCCESS,
              "memory that is not mapped for devices has no address there");
    gpu_check(cu->StreamWriteValue32(s, (CUdeviceptr)plain, 1, 0) != CUDA_SUCCESS &&
                  violations() == before + 2,
              "nor may a stream write a value there");
    MUST(MemHostUnregister(plain));
    gpu_check(cu->MemHostRegister(plain, sizeof plain, ~0u) != CUDA_SUCCESS,
              "flags that do not exist are refused");
    MUST(MemFree(managed));
    MUST(StreamDestroy(s));
}

/* Both copies begin at once; the host's modelled clock tells when both are done. */
static uint64_t both(CUstream a, CUstream b, int same_way, void *host, CUdeviceptr p)
{
    uint64_t (*now)(void) = (uint64_t(*)(void))gpu_simulated("gpusim_now_ns");
    uint64_t begun = now();

    MUST(MemcpyHtoDAsync(p, host, N, a));
    if (same_way)
        MUST(MemcpyHtoDAsync(p + N, host, N, b));
    else
        MUST(MemcpyDtoHAsync((char *)host + N, p + N, N, b));
    MUST(StreamSynchronize(a));
    MUST(StreamSynchronize(b));
    return now() - begun;
}

/* The second of two passes reads what the first one writes. */
static void test_passes(void)
{
    int before = violations();
    CUstream s = gpu_stream();
    char *p = (char *)gpu_alloc(16);
    struct cuda_reduce_args pass[2] = {
        {.dst = p, .src = {p, p + 4}, .count = 4, .sources = 2},
        {.dst = p + 8, .src = {p + 2, p + 12}, .count = 4, .sources = 2}};
    struct cuda_reducer *r;

    if (cuda_reducer_create(cu, &r) < 0)
        return; /* a build without kernels: said elsewhere */
    cuda_reduce_several(r, REDUCE_OP_sum, REDUCE_TYPE_u8, pass, 2, s);
    gpu_check(violations() > before, "passes of one launch that touch the same bytes are seen");
    before = violations();
    pass[1].src[0] = p + 8;
    cuda_reduce_several(r, REDUCE_OP_sum, REDUCE_TYPE_u8, pass, 2, s);
    gpu_check(violations() == before, "and those that do not are no violation");
    MUST(StreamSynchronize(s));
    cuda_reducer_free(r);
    MUST(MemFree((CUdeviceptr)p));
    MUST(StreamDestroy(s));
}

static void test_links(void)
{
    CUstream a = gpu_stream(), b = gpu_stream();
    CUdeviceptr p = gpu_alloc(2 * (size_t)N);
    void *host = gpu_pinned(2 * (size_t)N);
    uint64_t apart = both(a, b, 0, host, p), together = both(a, b, 1, host, p);

    gpu_check(apart >= 100000 && apart < 110000, "two directions overlap: %lu ns",
              (unsigned long)apart);
    gpu_check(together >= 200000 && together < 210000, "one direction is shared: %lu ns",
              (unsigned long)together);
    MUST(MemFree(p));
    MUST(MemFreeHost(host));
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}

/* A stream that is later than its event must still see the event's time. */
static void test_event_time(void)
{
    CUstream a = gpu_stream(), b = gpu_stream();
    CUevent e = gpu_event(CU_EVENT_DEFAULT), end = gpu_event(CU_EVENT_DEFAULT),
            start = gpu_event(CU_EVENT_DEFAULT);
    CUdeviceptr p = gpu_alloc(N);
    void *host = gpu_pinned(N);
    float ms = 0;

    MUST(EventRecord(start, a));
    MUST(MemcpyHtoDAsync(p, host, N, a));
    MUST(EventRecord(e, a));
    MUST(StreamWaitEvent(b, e, 0));
    MUST(MemcpyHtoDAsync(p, host, N, b));
    MUST(EventRecord(end, b));
    MUST(EventSynchronize(end));
    MUST(EventElapsedTime(&ms, start, end));
    gpu_check(ms > 0.2f && ms < 0.22f, "modelled time crosses streams with an event: %g ms",
              (double)ms);
    MUST(MemFree(p));
    MUST(MemFreeHost(host));
    MUST(EventDestroy(e));
    MUST(EventDestroy(start));
    MUST(EventDestroy(end));
    MUST(StreamDestroy(a));
    MUST(StreamDestroy(b));
}

/* Last: what it does to the context cannot be undone. */
static void test_poison(void)
{
    int before = violations();
    CUdeviceptr p = gpu_alloc(100);
    CUstream s = gpu_stream();

    gpu_check(cu->MemsetD8Async(p + 50, 0, 51, s) == CUDA_ERROR_ILLEGAL_ADDRESS &&
                  violations() == before + 1,
              "a range past its allocation is seen");
    gpu_check(cu->StreamSynchronize(s) == CUDA_ERROR_ILLEGAL_ADDRESS,
              "and every later call in the context fails");
}

void gpu_test_simulation(void)
{
    violations = (int (*)(void))gpu_simulated("gpusim_violations");
    fail = (int (*)(const char *, long, int))gpu_simulated("gpusim_fail");
    test_faults();
    test_violations();
    test_passes();
    test_values();
    test_links();
    test_event_time();
    test_poison();
}
