/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver is asked what a pointer is, and where it cannot say, the kernel. */
#define _GNU_SOURCE /* process_vm_readv */
#include "transports/cuda/cuda_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transports/cuda/cuda_context.h"

static int64_t address_of(const struct cuda_calls *cu, CUdevice d)
{
    unsigned domain, bus, device, function = 0;
    char text[32] = "";

    if (cu->DeviceGetPCIBusId(text, sizeof text, d) != CUDA_SUCCESS ||
        sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3)
        return -1;
    return (int64_t)domain << 16 | bus << 8 | device << 3 | function;
}

int64_t cuda_current_address(void)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    CUdevice d;

    return cu && cu->CtxGetDevice(&d) == CUDA_SUCCESS ? address_of(cu, d) : -1;
}

int64_t cuda_place_address(const struct cuda_place *place)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    CUdevice d;

    return cu && cu->DeviceGet(&d, place->device) == CUDA_SUCCESS ? address_of(cu, d) : -1;
}

/* Can the CPU read there? Asked of the kernel, which answers where a look would be a fault. */
static int is_readable(const void *p)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)p, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

int cuda_place_of(const void *p, struct cuda_place *place)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    unsigned type = 0, managed = 0;
    CUcontext context = NULL;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    int device = -1;
    CUpointer_attribute what[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *value[] = {&type, &managed, &context, &device, &base, &bytes};

    if (!cu)
        return 0;
    CUresult result =
        cu->PointerGetAttributes(sizeof what / sizeof *what, what, value, (CUdeviceptr)p);
    if (result != CUDA_SUCCESS) {
        *place = (struct cuda_place){.device = -1};
        return result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_INITIALIZED &&
               result != CUDA_ERROR_DEINITIALIZED && !is_readable(p);
    }
    if ((type != CU_MEMORYTYPE_DEVICE && !managed) || device < 0)
        return 0;
    *place = (struct cuda_place){.context = context, .device = device};
    if (base && (uintptr_t)p >= base && (uintptr_t)p - base < bytes) {
        place->before = (uintptr_t)p - base;
        place->after = bytes - place->before;
    }
    return 1;
}

int cuda_bus_id(const struct cuda_place *place, char id[CUDA_BUS_ID])
{
    const struct cuda_calls *cu = cuda_if_loaded();
    CUdevice device;

    return cu && cu->DeviceGet(&device, place->device) == CUDA_SUCCESS &&
                   cu->DeviceGetPCIBusId(id, CUDA_BUS_ID, device) == CUDA_SUCCESS
               ? 0
               : -ENODEV;
}

int cuda_start(const char *bus_id, struct cuda_place *place)
{
    const struct cuda_calls *cu = cuda_open(CUDA_LOAD);
    char id[CUDA_BUS_ID];
    CUdevice device;
    int n = 0;

    if (!cu || cu->Init(0) != CUDA_SUCCESS || cu->DeviceGetCount(&n) != CUDA_SUCCESS)
        return -ENODEV;
    for (int i = 0; i < n; i++) {
        *place = (struct cuda_place){.device = i};
        if (cuda_bus_id(place, id) == 0 && !strcmp(id, bus_id))
            return cu->DeviceGet(&device, i) == CUDA_SUCCESS &&
                           cu->DevicePrimaryCtxRetain((CUcontext *)&place->context, device) ==
                               CUDA_SUCCESS
                       ? 0
                       : -ENODEV;
    }
    return -ENODEV;
}

int cuda_move_pieces(const struct cuda_place *place, void *dst, const void *src,
                     const struct cuda_piece *piece, size_t n)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    CUresult result = CUDA_SUCCESS, waited;
    struct cuda_entry entry;

    if (!cu || cuda_enter(cu, place, &entry) < 0)
        return -EIO;
    for (size_t i = 0; result == CUDA_SUCCESS && i < n; i++)
        result =
            cu->MemcpyAsync((CUdeviceptr)dst + piece[i].offset, (CUdeviceptr)src + piece[i].offset,
                            piece[i].bytes, CU_STREAM_LEGACY);
    waited = cu->StreamSynchronize(CU_STREAM_LEGACY);
    cuda_leave(cu, &entry);
    return result == CUDA_SUCCESS && waited == CUDA_SUCCESS ? 0 : -EIO;
}

int cuda_move(const struct cuda_place *place, void *dst, const void *src, size_t bytes)
{
    return bytes ? cuda_move_pieces(place, dst, src, &(struct cuda_piece){0, bytes}, 1) : 0;
}

int cuda_move_spaced(const struct cuda_place *place, void *dst, size_t dst_stride, const void *src,
                     size_t src_stride, size_t bytes, size_t n)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    CUresult result = CUDA_SUCCESS, waited;
    struct cuda_entry entry;

    if (!bytes || !n)
        return 0;
    if (!cu || cuda_enter(cu, place, &entry) < 0)
        return -EIO;
    for (size_t i = 0; result == CUDA_SUCCESS && i < n; i++)
        result = cu->MemcpyAsync((CUdeviceptr)dst + i * dst_stride,
                                 (CUdeviceptr)src + i * src_stride, bytes, CU_STREAM_LEGACY);
    waited = cu->StreamSynchronize(CU_STREAM_LEGACY);
    cuda_leave(cu, &entry);
    return result == CUDA_SUCCESS && waited == CUDA_SUCCESS ? 0 : -EIO;
}
