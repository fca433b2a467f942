/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA driver that does nothing, as fast as can be, beside null_nccl.c: every function that the
 * shim knows is there and succeeds. Work put on streams is counted.
 */
#include <stdint.h>
#include <string.h>

#include "bench/overhead/null.h"

__attribute__((visibility("default"))) struct null_counts null_cuda_counts;

static int nothing(void)
{
    return 0;
}

static int give_handle(void **out)
{
    *out = (void *)64;
    return 0;
}

static int give_number(int *out)
{
    *out = 1;
    return 0;
}

static int count_kernel(void)
{
    null_cuda_counts.kernels++;
    return 0;
}

static int count_copy(void)
{
    null_cuda_counts.copies++;
    return 0;
}

static int count_event(void)
{
    null_cuda_counts.events++;
    return 0;
}

static const struct row {
    const char *name;
    void *function;
} rows[] = {{"cuDeviceGetCount", (void *)give_number},
            {"cuDeviceGetAttribute", (void *)give_number},
            {"cuCtxGetDevice", (void *)give_number},
            {"cuOccupancyMaxActiveBlocksPerMultiprocessor", (void *)give_number},
            {"cuDeviceGet", (void *)give_number},
            {"cuDevicePrimaryCtxRetain", (void *)give_handle},
            {"cuCtxGetCurrent", (void *)give_handle},
            {"cuEventCreate", (void *)give_handle},
            {"cuModuleLoadData", (void *)give_handle},
            {"cuModuleGetFunction", (void *)give_handle},
            {"cuMemAlloc", (void *)give_handle},
            {"cuLaunchKernel", (void *)count_kernel},
            {"cuMemcpyDtoDAsync", (void *)count_copy},
            {"cuEventRecord", (void *)count_event},
            {"cuStreamWaitEvent", (void *)count_event}};

__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags, (void)status;
    *function = (void *)nothing;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(name, rows[i].name))
            *function = rows[i].function;
    return 0;
}
