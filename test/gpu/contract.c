/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_contract [--rates] [--without-kernels | --collectives]
 * Exit status 0 all held, 1 some did not, 77 no driver or no device.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/gpu/gpu.h"

const struct cuda_calls *cu;
static int passed, failed;
static uint64_t state = 0x9e3779b97f4a7c15u;

int gpu_check(int ok, const char *format, ...)
{
    va_list list;

    passed += ok;
    failed += !ok;
    if (ok)
        return 1;
    printf("not ok ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    return 0;
}

void gpu_must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("not ok %s: %s\n%d passed, %d failed\n", what, cuda_result_name(result), passed,
           failed + 1);
    exit(1);
}

void gpu_skip(const char *group, const char *format, ...)
{
    va_list list;

    printf("skip %s: ", group);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

CUstream gpu_stream(void)
{
    CUstream s;

    MUST(StreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0));
    return s;
}

CUevent gpu_event(unsigned flags)
{
    CUevent e;

    MUST(EventCreate(&e, flags));
    return e;
}

CUdeviceptr gpu_alloc(size_t bytes)
{
    CUdeviceptr p;

    MUST(MemAlloc(&p, bytes));
    return p;
}

void *gpu_pinned(size_t bytes)
{
    void *p;

    MUST(MemHostAlloc(&p, bytes, CU_MEMHOSTALLOC_PORTABLE));
    return p;
}

uint64_t gpu_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

void *gpu_simulated(const char *symbol)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    return library ? dlsym(library, symbol) : NULL;
}

void gpu_start(int device)
{
    CUcontext context;
    CUdevice d;

    cu = cuda_open(CUDA_LOAD);
    if (!cu) {
        printf("skip: %s\n0 passed, 0 failed\n", cuda_missing());
        exit(77);
    }
    if (cu->Init(0) == CUDA_ERROR_NO_DEVICE) {
        puts("skip: no device\n0 passed, 0 failed");
        exit(77);
    }
    MUST(Init(0));
    MUST(DeviceGet(&d, device));
    MUST(DevicePrimaryCtxRetain(&context, d));
    MUST(CtxSetCurrent(context));
}

static int given(char **argv, const char *option)
{
    while (*++argv)
        if (!strcmp(*argv, option))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int (*violations)(void);

    (void)argc;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!cuda_open(CUDA_LOAD))
        gpu_start(0); /* says so, and ends; cuInit comes after the forks */
    gpu_test_ipc();
    if (!given(argv, "--without-kernels"))
        gpu_test_collectives();
    if (given(argv, "--collectives")) {
        printf("%d passed, %d failed\n", passed, failed);
        return failed ? 1 : 0;
    }
    gpu_start(0);
    violations = (int (*)(void))gpu_simulated("gpusim_violations");
    gpu_test_memory();
    gpu_test_mapped();
    gpu_test_places();
    gpu_test_streams();
    gpu_test_graphs();
    gpu_test_events();
    gpu_test_values();
    gpu_test_peers();
    if (!given(argv, "--without-kernels")) {
        gpu_test_kernels();
        gpu_test_lengths();
    }
    if (violations && !given(argv, "--without-kernels"))
        gpu_test_faults();
    if (violations)
        gpu_check(violations() == 0, "the simulated driver saw %d violations", violations());
    if (given(argv, "--rates"))
        gpu_print_rates();
    if (violations)
        gpu_test_simulation();
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
