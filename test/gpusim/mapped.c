/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the application maps by itself (cuMemCreate, cuMemMap), as PyTorch's expandable
 * segments are: addresses are reserved first, and allocations mapped into them one by one. Access
 * to a mapping is set for each device. Attributes of a pointer are those of the whole reservation,
 * but cuMemGetAddressRange gives the mapping.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define GRANULARITY ((size_t)64 << 10)

/* The mapped bytes of a reservation are areas with this base and alias. */
struct reservation {
    struct reservation *next;
    char *base, *alias;
    size_t bytes;
};

struct allocation {
    int fd, device, mapped; /* it has been, and holds what was written then */
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* hosts among themselves */
static struct reservation *reservations;

static int is_granular(size_t n)
{
    return n && n % GRANULARITY == 0;
}

/* The place of the pointer to the reservation that holds the range, or NULL. */
static struct reservation **find(CUdeviceptr p, size_t bytes)
{
    struct reservation **at = &reservations;

    while (*at && (p < (CUdeviceptr)(*at)->base || p - (CUdeviceptr)(*at)->base >= (*at)->bytes))
        at = &(*at)->next;
    return *at && bytes <= (*at)->bytes - (p - (CUdeviceptr)(*at)->base) ? at : NULL;
}

static int is_usable(const CUmemAllocationProp *prop)
{
    return prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0 &&
           prop->location.id < sim_config.devices;
}

CUresult sim_MemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                         CUmemAllocationGranularity_flags option)
{
    CUresult bad = sim_enter(SIM_MemGetAllocationGranularity);

    (void)option;
    if (bad || !is_usable(prop))
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

static char *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

CUresult sim_MemAddressReserve(CUdeviceptr *p, size_t bytes, size_t alignment, CUdeviceptr wish,
                               unsigned long long flags)
{
    CUresult bad = sim_enter(SIM_MemAddressReserve);
    struct reservation *r;

    (void)wish;
    if (bad || flags || !is_granular(bytes) || alignment > SIM_PAGE)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    r = calloc(1, sizeof *r);
    if (r) {
        r->bytes = bytes;
        r->base = reserve(bytes);
        r->alias = reserve(bytes);
    }
    if (!r || !r->base || !r->alias) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_own(1);
    pthread_mutex_lock(&lock);
    r->next = reservations;
    reservations = r;
    pthread_mutex_unlock(&lock);
    *p = (CUdeviceptr)r->base;
    return CUDA_SUCCESS;
}

CUresult sim_MemAddressFree(CUdeviceptr p, size_t bytes)
{
    CUresult bad = sim_enter(SIM_MemAddressFree);
    struct reservation **at, *r = NULL;

    if (bad)
        return bad;
    pthread_mutex_lock(&lock);
    at = find(p, bytes);
    if (at && (CUdeviceptr)(*at)->base == p && (*at)->bytes == bytes) {
        r = *at;
        *at = r->next;
    }
    pthread_mutex_unlock(&lock);
    if (!r)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < bytes; i += GRANULARITY)
        if (area_find(p + i))
            sim_violation("addresses are freed with memory still mapped there");
    munmap(r->base, bytes);
    munmap(r->alias, bytes);
    free(r);
    sim_own(-1);
    return CUDA_SUCCESS;
}

CUresult sim_MemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                       const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult bad = sim_enter(SIM_MemCreate);
    struct allocation *a;

    if (bad || flags || !is_granular(bytes) || !is_usable(prop))
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->fd = memfd_create("gpusim-mapped", MFD_CLOEXEC);
    a->bytes = bytes;
    a->device = prop->location.id;
    if (a->fd < 0 || ftruncate(a->fd, (off_t)(SIM_PAGE + bytes)) < 0) {
        free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_own(1);
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)a;
    return CUDA_SUCCESS;
}

/* The allocation that an address is mapped to: a handle of its own for it. */
CUresult sim_MemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *p)
{
    CUresult bad = sim_enter(SIM_MemRetainAllocationHandle);
    const struct area *area = bad ? NULL : area_find((uintptr_t)p);
    struct allocation *a;

    if (!area || area->kind != AREA_MAPPED)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *a = (struct allocation){
        .fd = dup(area->fd), .bytes = area->bytes, .device = area->device, .mapped = 1};
    sim_own(1);
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)a;
    return CUDA_SUCCESS;
}

/* Mapped parts stay: the area has the file open as well. */
CUresult sim_MemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult bad = sim_enter(SIM_MemRelease);
    struct allocation *a = (struct allocation *)(uintptr_t)handle;

    if (bad || !a)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    close(a->fd);
    free(a);
    sim_own(-1);
    return CUDA_SUCCESS;
}

static struct area *map(struct reservation *r, size_t at, struct allocation *from)
{
    struct area *a = calloc(1, sizeof *a);
    int access = PROT_READ | PROT_WRITE;
    void *header, *alias;

    if (!a)
        return NULL;
    a->fd = dup(from->fd);
    header = mmap(NULL, SIM_PAGE, access, MAP_SHARED, a->fd, 0);
    alias = mmap(r->alias + at, from->bytes, access, MAP_SHARED | MAP_FIXED, a->fd, SIM_PAGE);
    if (header == MAP_FAILED || alias == MAP_FAILED) {
        free(a);
        return NULL;
    }
    a->base = (uintptr_t)r->base + at;
    a->bytes = from->bytes;
    a->alias = alias;
    a->header = header;
    a->device = from->device;
    a->kind = AREA_MAPPED;
    a->reserved = (uintptr_t)r->base;
    a->reserved_bytes = r->bytes;
    if (!from->mapped++)
        area_spoil(a);
    area_add(a);
    return a;
}

CUresult sim_MemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags)
{
    CUresult bad = sim_enter(SIM_MemMap);
    struct allocation *from = (struct allocation *)(uintptr_t)handle;
    struct reservation **at;

    if (bad || flags || offset || !from || bytes != from->bytes)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    at = find(p, bytes);
    for (size_t i = 0; at && i < bytes; i += GRANULARITY)
        at = area_find(p + i) ? NULL : at;
    if (!at || (p - (CUdeviceptr)(*at)->base) % GRANULARITY)
        bad = CUDA_ERROR_INVALID_VALUE;
    else if (!map(*at, p - (CUdeviceptr)(*at)->base, from))
        bad = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return bad;
}

/* Do whole mappings make up the range? */
static int is_mapped(CUdeviceptr p, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const struct area *a = area_find(p + at);

        if (!a || a->kind != AREA_MAPPED || a->base != p + at || a->bytes > bytes - at)
            return 0;
        at += a->bytes;
    }
    return 1;
}

CUresult sim_MemUnmap(CUdeviceptr p, size_t bytes)
{
    CUresult bad = sim_enter(SIM_MemUnmap);

    if (bad || !bytes || !is_mapped(p, bytes))
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = p; at < p + bytes;) {
        struct area *a = area_find(at);

        area_settle(a, "cuMemUnmap");
        at += a->bytes;
        area_remove(a);
        mmap(a->alias, a->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0);
        munmap(a->header, SIM_PAGE);
        close(a->fd);
        free(a);
    }
    return CUDA_SUCCESS;
}

CUresult sim_MemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *desc, size_t n)
{
    CUresult bad = sim_enter(SIM_MemSetAccess);

    if (bad || !bytes || !is_mapped(p, bytes))
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        int device = desc[i].location.id;

        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 ||
            device >= sim_config.devices)
            return CUDA_ERROR_INVALID_DEVICE;
        for (CUdeviceptr at = p; at < p + bytes;) {
            struct area *a = area_find(at);

            if (device != a->device && !sim_can_peer(device, a->device))
                return CUDA_ERROR_INVALID_DEVICE;
            a->users_allowed = desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                   ? a->users_allowed | 1u << device
                                   : a->users_allowed & ~(1u << device);
            at += a->bytes;
        }
    }
    return CUDA_SUCCESS;
}
