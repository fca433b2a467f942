/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/cuda/cuda_describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transports/cuda/cuda_driver.h"
#include "transports/cuda/cuda_reduce.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

struct cuda_text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct cuda_text *t, const char *format, ...)
{
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(t->at, t->left, format, list);
    va_end(list);
    if (n < 0)
        return;
    if ((size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

static int describe_device(struct cuda_text *t, const struct cuda_calls *cu, int number)
{
    char name[128] = "", bus[32] = "";
    int major = 0, minor = 0;
    size_t bytes = 0;
    CUdevice d;

    if (cu->DeviceGet(&d, number) != CUDA_SUCCESS)
        return 0;
    cu->DeviceGetName(name, sizeof name, d);
    cu->DeviceGetPCIBusId(bus, sizeof bus, d);
    cu->DeviceTotalMem(&bytes, d);
    cu->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
    cu->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
    add(t, "\ndevice %d: %s, sm_%d%d, %.0f GiB, %s, %s", number, name, major, minor,
        (double)bytes / GIB, bus, cuda_has_mps(cu, d) ? "MPS" : "no MPS");
    return 1;
}

int cuda_describe(char *text, size_t size)
{
    const struct cuda_calls *cu = cuda_open(CUDA_LOAD);
    struct cuda_text t = {text, size};
    int version = 0, n = 0, usable = 0;
    CUresult started;

    add(&t, "built with CUDA %d.%d, %s; ", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
        cuda_kernels_built());
    if (!cu) {
        add(&t, "driver: %s", cuda_missing());
        return 0;
    }
    started = cu->Init(0);
    cu->DriverGetVersion(&version);
    add(&t, "driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (started == CUDA_SUCCESS)
        started = cu->DeviceGetCount(&n);
    if (started != CUDA_SUCCESS) {
        add(&t, " (%s)", cuda_result_name(started));
        return 0;
    }
    for (int i = 0; i < n; i++)
        usable += describe_device(&t, cu, i);
    return usable;
}

int cuda_list(struct cuda_device *device, int most)
{
    const struct cuda_calls *cu = cuda_open(CUDA_LOAD);
    int n = 0;

    if (!cu || cu->Init(0) != CUDA_SUCCESS || cu->DeviceGetCount(&n) != CUDA_SUCCESS)
        return 0;
    for (int i = 0; i < n && i < most; i++) {
        CUdevice d;

        device[i] = (struct cuda_device){0};
        if (cu->DeviceGet(&d, i) != CUDA_SUCCESS)
            continue;
        cu->DeviceGetPCIBusId(device[i].address, sizeof device[i].address, d);
        cu->DeviceGetName(device[i].name, sizeof device[i].name, d);
    }
    return n < most ? n : most;
}

static int link_has(const struct cuda_calls *cu, CUdevice_P2PAttribute what, int a, int b)
{
    CUdevice from, to;
    int has = 0;

    return cu->DeviceGet(&from, a) == CUDA_SUCCESS && cu->DeviceGet(&to, b) == CUDA_SUCCESS &&
           cu->DeviceGetP2PAttribute(&has, what, from, to) == CUDA_SUCCESS && has;
}

enum cuda_link cuda_link_between(int a, int b)
{
    const struct cuda_calls *cu = cuda_open(CUDA_LOAD);

    if (!cu || !link_has(cu, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, a, b))
        return CUDA_LINK_NONE;
    return link_has(cu, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, a, b) ? CUDA_LINK_NVLINK
                                                                               : CUDA_LINK_PCIE;
}
