/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation, pinned memory, and what a pointer is. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

static uint64_t used[SIM_DEVICES];

int sim_memory_take(int device, int64_t bytes)
{
    uint64_t now = __atomic_add_fetch(&used[device], (uint64_t)bytes, __ATOMIC_RELAXED);

    if (bytes < 0 || now <= sim_config.memory)
        return 0;
    __atomic_sub_fetch(&used[device], (uint64_t)bytes, __ATOMIC_RELAXED);
    return -1;
}

CUresult sim_MemGetInfo(size_t *free_bytes, size_t *total)
{
    CUresult bad = sim_enter(SIM_MemGetInfo);
    struct ctx *c = sim_current();

    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    *total = sim_config.memory;
    *free_bytes = sim_config.memory - __atomic_load_n(&used[c->device], __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *p, size_t bytes, int device, enum area_kind kind)
{
    struct area *a;
    int fd;

    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_memory_take(device, (int64_t)bytes) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fd = memfd_create("gpusim", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)(SIM_PAGE + bytes)) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a = area_map(fd, bytes, device, kind);
    if (!a) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    area_spoil(a);
    *p = a->base;
    return CUDA_SUCCESS;
}

CUresult sim_MemAlloc(CUdeviceptr *p, size_t bytes)
{
    CUresult bad = sim_enter(SIM_MemAlloc);
    struct ctx *c = sim_current();

    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    return allocate(p, bytes, c->device, AREA_DEVICE);
}

/* Managed memory, on a system where the CPU may not touch it while a kernel runs: it never may
 * here. */
CUresult sim_MemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags)
{
    CUresult bad = sim_enter(SIM_MemAllocManaged);
    struct ctx *c = sim_current();

    if (bad || !c || flags != CU_MEM_ATTACH_GLOBAL)
        return bad ? bad : c ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CONTEXT;
    return allocate(p, bytes, c->device, AREA_MANAGED);
}

CUresult sim_MemFree(CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_MemFree);
    struct area *a;

    if (bad || !p)
        return bad;
    a = area_find(p);
    if (!a || a->base != p || area_is_host(a) || a->kind == AREA_IMPORT || a->kind == AREA_MAPPED) {
        sim_violation("cuMemFree of what is no allocation");
        return CUDA_ERROR_INVALID_VALUE;
    }
    area_settle(a, "cuMemFree");
    if (__atomic_load_n(&a->header->imports, __ATOMIC_RELAXED))
        sim_violation("cuMemFree of memory that another process has open");
    __atomic_store_n(&a->header->freed, 1, __ATOMIC_RELAXED);
    sim_memory_take(a->device, -(int64_t)a->bytes);
    area_unmap(a);
    return CUDA_SUCCESS;
}

CUresult sim_MemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream stream)
{
    CUresult bad = sim_enter(SIM_MemAllocAsync);
    struct stream *s = bad ? NULL : stream_of(stream);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    return allocate(p, bytes, s->ctx->device, AREA_POOL);
}

static uint64_t run_free(struct work *w, uint64_t start)
{
    struct area *a = area_find(w->free);

    if (a) {
        sim_memory_take(a->device, -(int64_t)a->bytes);
        area_unmap(a);
    }
    return start;
}

CUresult sim_MemFreeAsync(CUdeviceptr p, CUstream stream)
{
    CUresult bad = sim_enter(SIM_MemFreeAsync);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct area *a = bad ? NULL : area_find(p);
    struct work *w;

    if (!s || !a || a->base != p)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    w = work_new(run_free);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->free = p;
    return stream_submit(s, w);
}

enum {
    HOST_ALLOC_FLAGS =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED,
    REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP
};

static CUresult pin(void *p, size_t bytes, enum area_kind kind, int mapped)
{
    struct area *a;

    if (area_find((uintptr_t)p))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->base = (uintptr_t)p;
    a->alias = p;
    a->bytes = bytes;
    a->kind = kind;
    a->device = -1;
    a->fd = -1;
    a->mapped = mapped;
    area_add(a);
    return CUDA_SUCCESS;
}

static CUresult unpin(void *p, enum area_kind kind, struct area **area)
{
    struct area *a = area_find((uintptr_t)p);

    if (!a || a->base != (uintptr_t)p || a->kind != kind)
        return kind == AREA_PINNED ? CUDA_ERROR_INVALID_VALUE
                                   : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    area_settle(a, "unpinning");
    area_remove(a);
    *area = a;
    return CUDA_SUCCESS;
}

CUresult sim_MemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    CUresult bad = sim_enter(SIM_MemHostAlloc);
    void *at;

    if (bad || !sim_current() || !bytes || flags & ~HOST_ALLOC_FLAGS)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    if (posix_memalign(&at, SIM_PAGE, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p = at;
    return pin(at, bytes, AREA_PINNED, 1); /* always, where addresses are unified */
}

CUresult sim_MemFreeHost(void *p)
{
    CUresult bad = sim_enter(SIM_MemFreeHost);
    struct area *a = NULL;

    bad = bad ? bad : unpin(p, AREA_PINNED, &a);
    if (bad)
        return bad;
    free(p);
    free(a);
    return CUDA_SUCCESS;
}

CUresult sim_MemHostRegister(void *p, size_t bytes, unsigned flags)
{
    CUresult bad = sim_enter(SIM_MemHostRegister);

    if (bad || !sim_current() || !p || !bytes || flags & ~REGISTER_FLAGS)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    return pin(p, bytes, AREA_REGISTERED, (flags & CU_MEMHOSTREGISTER_DEVICEMAP) != 0);
}

CUresult sim_MemHostUnregister(void *p)
{
    CUresult bad = sim_enter(SIM_MemHostUnregister);
    struct area *a = NULL;

    bad = bad ? bad : unpin(p, AREA_REGISTERED, &a);
    if (!bad)
        free(a);
    return bad;
}

CUresult sim_MemHostGetDevicePointer(CUdeviceptr *device, void *p, unsigned flags)
{
    CUresult bad = sim_enter(SIM_MemHostGetDevicePointer);
    struct area *a = bad ? NULL : area_find((uintptr_t)p);

    if (!a || flags || !area_is_host(a) || !a->mapped)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    *device = (CUdeviceptr)p;
    return CUDA_SUCCESS;
}

CUresult sim_MemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_MemGetAddressRange);
    struct area *a = bad ? NULL : area_find(p);

    if (!a || area_is_host(a))
        return bad ? bad : CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = a->base;
    if (bytes)
        *bytes = a->bytes;
    return CUDA_SUCCESS;
}

/* One attribute of an area, or of memory CUDA does not know (NULL): all zero then. */
static CUresult attribute(void *out, CUpointer_attribute what, const struct area *a)
{
    switch (what) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = !a ? 0 : area_is_host(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = a ? a->id : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = a && a->device >= 0 ? a->device : a ? 0 : -2;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = a && a->kind == AREA_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)out = a && a->kind == AREA_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)out = !a ? 0 : a->kind == AREA_MAPPED ? a->reserved : a->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)out = !a ? 0 : a->kind == AREA_MAPPED ? a->reserved_bytes : a->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        /* Memory of a pool belongs to no context, nor does what is mapped. */
        *(CUcontext *)out = a && a->device >= 0 && a->kind != AREA_POOL && a->kind != AREA_MAPPED
                                ? (CUcontext)&sim_ctxs[a->device]
                                : NULL;
        return CUDA_SUCCESS;
    default:
        sim_violation("pointer attribute %d is not simulated", (int)what);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult sim_PointerGetAttribute(void *out, CUpointer_attribute what, CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_PointerGetAttribute);
    struct area *a = bad ? NULL : area_find(p);

    if (!a)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    return attribute(out, what, a);
}

CUresult sim_PointerGetAttributes(unsigned n, CUpointer_attribute *what, void **out, CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_PointerGetAttributes);
    struct area *a = bad ? NULL : area_find(p);

    for (unsigned i = 0; i < n && !bad; i++)
        bad = attribute(out[i], what[i], a);
    return bad;
}
