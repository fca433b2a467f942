/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of another process: its file, opened through /proc and mapped again. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define MAGIC 0x6970636d656d0003u
#define MAPPED_AT_ONCE (2u << 20) /* a device's page: small allocations share one */

struct handle {
    uint64_t magic;
    int pid, fd, device;
    size_t bytes;
    uint64_t inode;
};

CUresult sim_IpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_IpcGetMemHandle);
    struct area *a = bad ? NULL : area_find(p);
    struct stat file;
    struct handle h;

    if (!a || a->kind != AREA_DEVICE || fstat(a->fd, &file) < 0)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    if (a->bytes < MAPPED_AT_ONCE)
        sim_violation("memory of %zu bytes is exported with what lies beside it", a->bytes);
    h = (struct handle){MAGIC, getpid(), a->fd, a->device, a->bytes, file.st_ino};
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

static int same_file(const struct area *a, const void *key)
{
    const struct handle *h = key;
    struct stat file;

    return a->kind == AREA_IMPORT && fstat(a->fd, &file) == 0 && file.st_ino == h->inode;
}

static CUresult open_area(const struct handle *h, struct area **area)
{
    char path[64];
    struct stat file;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    if (fstat(fd, &file) < 0 || file.st_ino != h->inode) {
        sim_violation("a handle of memory that is freed is opened");
        close(fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    *area = area_map(fd, h->bytes, h->device, AREA_IMPORT);
    if (*area)
        return CUDA_SUCCESS;
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_IpcOpenMemHandle(CUdeviceptr *p, CUipcMemHandle in, unsigned flags)
{
    CUresult bad = sim_enter(SIM_IpcOpenMemHandle);
    struct ctx *c = sim_current();
    struct area *a;
    struct handle h;

    memcpy(&h, &in, sizeof h);
    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (h.magic != MAGIC || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    if (h.pid == getpid()) {
        sim_violation("memory is imported by the process that exported it");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (h.device != c->device) {
        if (!sim_can_peer(c->device, h.device))
            return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        c->peer[h.device] = 1;
    }
    a = area_find_file(&h, same_file);
    if (a) {
        a->refs++;
        *p = a->base;
        return CUDA_SUCCESS;
    }
    bad = open_area(&h, &a);
    if (bad)
        return bad;
    __atomic_add_fetch(&a->header->imports, 1, __ATOMIC_RELAXED);
    *p = a->base;
    return CUDA_SUCCESS;
}

CUresult sim_IpcCloseMemHandle(CUdeviceptr p)
{
    CUresult bad = sim_enter(SIM_IpcCloseMemHandle);
    struct area *a = bad ? NULL : area_find(p);

    if (!a || a->kind != AREA_IMPORT || a->base != p)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    if (--a->refs > 0)
        return CUDA_SUCCESS;
    if (__atomic_load_n(&a->users, __ATOMIC_RELAXED))
        sim_violation("imported memory is closed while work under way uses it");
    __atomic_sub_fetch(&a->header->imports, 1, __ATOMIC_RELAXED);
    area_unmap(a);
    return CUDA_SUCCESS;
}
