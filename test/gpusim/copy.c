/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies, fills, and the values that streams write and wait for. Copies of memory that is not
 * pinned wait at the call; of pinned memory they never do, which is the more awkward of what CUDA
 * allows.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/gpusim/sim.h"

/* A copy beyond its allocation poisons the context, as an illegal access does on a device. */
static CUresult illegal(struct ctx *c, const char *what)
{
    sim_violation("%s: the range is outside its allocation, or not to be used by this device",
                  what);
    __atomic_store_n(&c->sticky, CUDA_ERROR_ILLEGAL_ADDRESS, __ATOMIC_RELAXED);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static uint64_t run_copy(struct work *w, uint64_t start)
{
    int from = w->copy.from, to = w->copy.to;
    uint64_t bytes = w->copy.bytes, end = start, other;

    memmove(w->copy.dst, w->copy.src, bytes);
    free(w->copy.staged);
    if (from < 0 && to < 0)
        return start;
    if (from == to)
        return sim_link_use(LINK_HBM, to, 0, start, 2 * bytes);
    if (from >= 0 && to >= 0 && w->copy.direct)
        return sim_link_use(LINK_PEER, from, to, start, bytes);
    if (from >= 0)
        end = sim_link_use(LINK_D2H, from, 0, start, bytes);
    if (to < 0)
        return end;
    other = sim_link_use(LINK_H2D, to, 0, start, bytes);
    return other > end ? other : end;
}

static CUresult copy(CUdeviceptr dst, CUdeviceptr src, size_t bytes, struct stream *s,
                     const char *what)
{
    struct work *w;
    int to_pageable;

    if (bytes == 0)
        return CUDA_SUCCESS;
    w = work_new(run_copy);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->copy.dst = area_use(dst, bytes, &w->areas[0]);
    w->copy.src = area_use(src, bytes, &w->areas[1]);
    w->copy.bytes = bytes;
    if (!w->copy.dst || !w->copy.src || !area_allows(w->areas[0], s->ctx) ||
        !area_allows(w->areas[1], s->ctx)) {
        work_drop(w);
        return illegal(s->ctx, what);
    }
    w->copy.to = w->areas[0] ? w->areas[0]->device : -1;
    w->copy.from = w->areas[1] ? w->areas[1]->device : -1;
    w->copy.direct =
        w->copy.to >= 0 && w->copy.from >= 0 &&
        (sim_ctxs[w->copy.to].peer[w->copy.from] || sim_ctxs[w->copy.from].peer[w->copy.to] ||
         s->ctx->peer[w->copy.to] || s->ctx->peer[w->copy.from]);
    to_pageable = !w->areas[0];
    if (s->capture && (to_pageable || !w->areas[1])) { /* such a node's work is not simulated */
        work_drop(w);
        return capture_spoil(s->capture);
    }
    if (!w->areas[1] && !to_pageable) {
        w->copy.staged = malloc(bytes);
        if (!w->copy.staged) {
            work_drop(w);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        w->copy.src = memcpy(w->copy.staged, w->copy.src, bytes);
    }
    if (stream_submit(s, w) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return to_pageable ? stream_drain(s) : CUDA_SUCCESS;
}

static int is_device(CUdeviceptr p)
{
    struct area *a = area_find(p);

    return a != NULL;
}

static CUresult copy_async(enum sim_call call, CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                           CUstream stream, int dst_device, int src_device)
{
    CUresult bad = sim_enter(call);
    struct stream *s = bad ? NULL : stream_of(stream);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if (bytes && ((dst_device && !is_device(dst)) || (src_device && !is_device(src)))) {
        sim_violation("a copy's device pointer is none");
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy(dst, src, bytes, s, "a copy");
}

CUresult sim_MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(SIM_MemcpyAsync, dst, src, bytes, stream, 0, 0);
}

CUresult sim_MemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return copy_async(SIM_MemcpyHtoDAsync, dst, (CUdeviceptr)src, bytes, stream, 1, 0);
}

CUresult sim_MemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(SIM_MemcpyDtoHAsync, (CUdeviceptr)dst, src, bytes, stream, 0, 1);
}

CUresult sim_MemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(SIM_MemcpyDtoDAsync, dst, src, bytes, stream, 1, 1);
}

CUresult sim_MemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                             size_t bytes, CUstream stream)
{
    if (!dst_ctx || !src_ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy_async(SIM_MemcpyPeerAsync, dst, src, bytes, stream, 1, 1);
}

CUresult sim_MemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes)
{
    CUresult bad = copy_async(SIM_MemcpyHtoD, dst, (CUdeviceptr)src, bytes, NULL, 1, 0);

    if (bad || !area_find((uintptr_t)src))
        return bad;
    return stream_drain(sim_current()->legacy);
}

CUresult sim_MemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
    CUresult bad = copy_async(SIM_MemcpyDtoH, (CUdeviceptr)dst, src, bytes, NULL, 0, 1);

    return bad ? bad : stream_drain(sim_current()->legacy);
}

static uint64_t run_set(struct work *w, uint64_t start)
{
    memset(w->set.dst, w->set.value, w->set.bytes);
    if (area_is_host(w->areas[0]))
        return start;
    return sim_link_use(LINK_HBM, w->areas[0]->device, 0, start, w->set.bytes);
}

CUresult sim_MemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
    CUresult bad = sim_enter(SIM_MemsetD8Async);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct work *w;

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    w = work_new(run_set);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->set.dst = area_use(dst, n, &w->areas[0]);
    w->set.bytes = n;
    w->set.value = value;
    if (!w->areas[0]) {
        work_drop(w);
        return illegal(s->ctx, "cuMemsetD8Async");
    }
    return stream_submit(s, w);
}

static uint64_t run_write(struct work *w, uint64_t start)
{
    if (w->areas[0]->header)
        __atomic_store_n(&w->areas[0]->header->ns, start, __ATOMIC_RELAXED);
    __atomic_store_n(w->value.at, w->value.value, __ATOMIC_RELEASE);
    return start;
}

static int meets(uint32_t have, uint32_t want, unsigned flags)
{
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (int32_t)(have - want) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return have == want;
    case CU_STREAM_WAIT_VALUE_AND:
        return (have & want) != 0;
    default:
        return ~(have | want) != 0;
    }
}

static uint64_t run_value_wait(struct work *w, uint64_t start)
{
    const struct timespec moment = {0, 20000};
    uint64_t written = 0;

    while (!meets(__atomic_load_n(w->value.at, __ATOMIC_ACQUIRE), w->value.value, w->value.flags))
        nanosleep(&moment, NULL);
    if (w->areas[0]->header)
        written = __atomic_load_n(&w->areas[0]->header->ns, __ATOMIC_RELAXED);
    return written > start ? written : start;
}

static CUresult value(CUstream stream, CUdeviceptr at, cuuint32_t number, unsigned flags,
                      uint64_t (*run)(struct work *, uint64_t))
{
    struct stream *s = stream_of(stream);
    struct work *w;

    if (!s)
        return CUDA_ERROR_INVALID_HANDLE;
    if (at % sizeof number)
        return CUDA_ERROR_INVALID_VALUE;
    w = work_new(run);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->value.at = (uint32_t *)(void *)area_use(at, sizeof number, &w->areas[0]);
    w->value.value = number;
    w->value.flags = flags;
    if (!w->areas[0] || w->areas[0]->kind == AREA_MANAGED ||
        (area_is_host(w->areas[0]) && !w->areas[0]->mapped)) {
        work_drop(w);
        sim_violation("a stream's value is in memory that it cannot be in");
        return CUDA_ERROR_INVALID_VALUE;
    }
    return stream_submit(s, w);
}

CUresult sim_StreamWriteValue32(CUstream stream, CUdeviceptr at, cuuint32_t number, unsigned flags)
{
    CUresult bad = sim_enter(SIM_StreamWriteValue32);

    return bad ? bad : value(stream, at, number, flags, run_write);
}

CUresult sim_StreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t number, unsigned flags)
{
    CUresult bad = sim_enter(SIM_StreamWaitValue32);

    return bad ? bad : value(stream, at, number, flags, run_value_wait);
}
