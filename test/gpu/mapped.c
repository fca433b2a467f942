/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is mapped part by part (cuMemCreate, cuMemMap), as PyTorch's expandable segments are:
 * a buffer may lie in two allocations, belongs to no context, and cannot be exported the old way.
 */
#include <stdlib.h>
#include <string.h>

#include "test/gpu/gpu.h"
#include "transports/cuda/cuda_memory.h"

static CUmemAllocationProp on_device(int device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

CUdeviceptr gpu_map(struct gpu_mapping *m, size_t bytes)
{
    size_t grain = 0, align = 256, part;
    CUdevice device;

    MUST(CtxGetDevice(&device));
    CUmemAllocationProp prop = on_device(device);
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    MUST(MemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    part = (bytes + grain - 1) / grain * grain;
    *m = (struct gpu_mapping){.bytes = 2 * part};
    MUST(MemAddressReserve(&m->base, m->bytes, 0, 0, 0));
    for (size_t i = 0; i < 2; i++) {
        MUST(MemCreate(&m->part[i], part, &prop, 0));
        MUST(MemMap(m->base + i * part, part, 0, m->part[i], 0));
    }
    MUST(MemSetAccess(m->base, m->bytes, &access, 1));
    return m->base + part - (bytes / 2 + align - 1) / align * align;
}

void gpu_unmap(const struct gpu_mapping *m)
{
    MUST(MemUnmap(m->base, m->bytes));
    for (int i = 0; i < 2; i++)
        MUST(MemRelease(m->part[i]));
    MUST(MemAddressFree(m->base, m->bytes));
}

static void check_what_it_is(const struct gpu_mapping *m, CUdeviceptr p)
{
    unsigned type = 77, managed = 77, capable = 77;
    CUdeviceptr start = 0, part = 0;
    size_t bytes = 0, part_bytes = 0;
    CUipcMemHandle handle;
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                  CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *out[] = {&type, &managed, &capable, &start, &bytes};

    MUST(PointerGetAttributes(5, what, out, p));
    gpu_check(type == CU_MEMORYTYPE_DEVICE && !managed && !capable,
              "mapped memory is device memory and not IPC-capable: %u %u %u", type, managed,
              capable);
    gpu_check(start == m->base && bytes == m->bytes,
              "a pointer's range is all that was reserved: %zu bytes of %zu", bytes, m->bytes);
    MUST(MemGetAddressRange(&part, &part_bytes, p));
    gpu_check(part == m->base && part_bytes == m->bytes / 2,
              "the address range is the part alone: %zu bytes of %zu", part_bytes, m->bytes);
    gpu_check(cu->IpcGetMemHandle(&handle, p) != CUDA_SUCCESS, "mapped memory is not exported");
}

/* By which NCCL tells memory that it can export: what is mapped has a handle, an allocation has
 * none. */
static void check_handles(const struct gpu_mapping *m, CUdeviceptr p)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr allocated;

    for (int i = 0; i < 2; i++)
        if (gpu_check(cu->MemRetainAllocationHandle(&handle, (void *)(i ? m->base : p)) ==
                          CUDA_SUCCESS,
                      "mapped memory has a handle"))
            MUST(MemRelease(handle));
    MUST(MemAlloc(&allocated, 4096));
    gpu_check(cu->MemRetainAllocationHandle(&handle, (void *)allocated) != CUDA_SUCCESS,
              "an allocation has none");
    MUST(MemFree(allocated));
}

/* Across the boundary of two allocations, as if there was none. */
static void check_moving(CUdeviceptr p, size_t bytes)
{
    unsigned char *host = malloc(bytes), *back = calloc(1, bytes);
    struct cuda_place place;

    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)gpu_random();
    if (gpu_check(cuda_place_of((void *)p, &place), "mapped memory is a device's")) {
        gpu_check(!place.after || place.after >= bytes, "and does not end where a part does");
        gpu_check(cuda_move(&place, (void *)p, host, bytes) == 0 &&
                      cuda_move(&place, back, (void *)p, bytes) == 0 && !memcmp(host, back, bytes),
                  "bytes are moved to two parts and back");
    }
    free(host);
    free(back);
}

void gpu_test_mapped(void)
{
    enum { BYTES = 300001 };
    struct gpu_mapping m;
    CUdeviceptr p = gpu_map(&m, BYTES);
    unsigned type;

    gpu_check(p < m.base + m.bytes / 2 && p + BYTES > m.base + m.bytes / 2,
              "the buffer is in both parts");
    check_what_it_is(&m, p);
    check_handles(&m, p);
    check_moving(p, BYTES);
    gpu_unmap(&m);
    gpu_check(cu->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) ==
                  CUDA_ERROR_INVALID_VALUE,
              "nothing is known of it any more");
}
