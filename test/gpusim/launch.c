/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules, kernels and host functions. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/gpusim/sim.h"

#define FATBIN_MAGIC 0xba55ed50u

struct module {
    uint32_t magic;
};

/* The image may be compressed, so nothing but its first word is looked at; the kernels' names come
 * from the same table that the image was made from. */
CUresult sim_ModuleLoadData(CUmodule *handle, const void *image)
{
    CUresult bad = sim_enter(SIM_ModuleLoadData);
    struct module *m;

    if (bad || !sim_current())
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (!image || *(const uint32_t *)image != FATBIN_MAGIC)
        return CUDA_ERROR_INVALID_IMAGE;
    m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->magic = FATBIN_MAGIC;
    *handle = (CUmodule)m;
    sim_own(1);
    return CUDA_SUCCESS;
}

CUresult sim_ModuleUnload(CUmodule handle)
{
    CUresult bad = sim_enter(SIM_ModuleUnload);

    if (bad || !handle)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    free(handle);
    sim_own(-1);
    return CUDA_SUCCESS;
}

CUresult sim_ModuleGetFunction(CUfunction *function, CUmodule handle, const char *name)
{
    CUresult bad = sim_enter(SIM_ModuleGetFunction);

    if (bad || !handle)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    for (int i = 0; i < sim_twin_count; i++) {
        if (!strcmp(sim_twins[i].name, name)) {
            *function = (CUfunction)&sim_twins[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                       int threads, size_t shared)
{
    CUresult bad = sim_enter(SIM_OccupancyMaxActiveBlocksPerMultiprocessor);

    (void)function;
    (void)shared;
    *blocks = threads > 1024 ? 0 : 2;
    return bad;
}

static uint64_t run_kernel(struct work *w, uint64_t start)
{
    int device = w->ctx->device;
    uint64_t end, other;

    sim_twin_run(w->launch.twin, &w->launch.batch, w->launch.blocks, w->launch.rows,
                 w->launch.threads);
    end = sim_link_use(LINK_HBM, device, 0, start, w->launch.local);
    if (w->launch.host) {
        other = sim_link_use(LINK_H2D, device, 0, start, w->launch.host);
        end = other > end ? other : end;
    }
    for (int d = 0; d < sim_config.devices; d++) {
        if (!w->launch.remote[d])
            continue;
        other = sim_link_use(LINK_PEER, d, device, start, w->launch.remote[d]);
        end = other > end ? other : end;
    }
    return end;
}

/* A pointer of the kernel as the twin sees it, counted as load on its link; NULL if the context has
 * no access. */
static void *reach(struct work *w, const struct ctx *c, const void *p, size_t bytes, int slot)
{
    char *at = area_use((uintptr_t)p, bytes, &w->areas[slot]);
    struct area *a = w->areas[slot];

    if (!at || !a || !area_allows(a, c))
        return NULL;
    if (a->device == c->device)
        w->launch.local += bytes;
    else if (a->device >= 0 && (a->kind == AREA_MAPPED || c->peer[a->device]))
        w->launch.remote[a->device] += bytes;
    else if (a->device >= 0)
        return NULL;
    else
        w->launch.host += bytes;
    return at;
}

/* All that a pass touches. Returns 0 if the context has no access to something. */
static int reach_all(struct work *w, const struct ctx *c, struct cuda_reduce_args *pass, int slot)
{
    size_t element = w->launch.twin->element, bytes = pass->count * element;
    int all = (pass->dst = reach(w, c, pass->dst, bytes, slot++)) != NULL;

    for (uint32_t i = 0; i < pass->sources; i++)
        all &= (pass->src[i] = reach(w, c, pass->src[i], bytes, slot++)) != NULL;
    if (pass->factor_at)
        all &= (pass->factor_at = reach(w, c, pass->factor_at, element, slot)) != NULL;
    return all;
}

static int overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (const char *)a < (const char *)b + b_bytes &&
           (const char *)b < (const char *)a + a_bytes;
}

/* The order of a launch's threads is not defined. */
static void check_order(const struct work *w)
{
    const struct cuda_reduce_args *pass = w->launch.batch.pass;
    size_t element = w->launch.twin->element;

    for (unsigned i = 0; i < w->launch.rows; i++)
        for (unsigned k = 0; k < w->launch.rows; k++) {
            size_t bytes = pass[i].count * element, others = pass[k].count * element;
            int bad = i != k && overlap(pass[i].dst, bytes, pass[k].dst, others);

            for (uint32_t s = 0; s < pass[k].sources; s++)
                bad |= (i != k || pass[i].dst != pass[k].src[s]) &&
                       overlap(pass[i].dst, bytes, pass[k].src[s], others);
            if (bad)
                sim_violation("%s: what it writes meets what others of its threads read or write",
                              w->launch.twin->name);
        }
}

CUresult sim_LaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, CUstream stream,
                          void **parameters, void **extra)
{
    CUresult bad = sim_enter(SIM_LaunchKernel);
    struct stream *s = bad ? NULL : stream_of(stream);
    const struct twin *t = (const struct twin *)function;
    struct work *w;
    int all = 1;

    (void)shared;
    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if (s->ctx != sim_current()) {
        sim_violation("a kernel is launched in a stream of another context");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!gx || !gy || gy > CUDA_REDUCE_PASSES || gz != 1 || !bx || bx > 1024 || by != 1 ||
        bz != 1 || extra)
        return CUDA_ERROR_INVALID_VALUE;
    w = work_new(run_kernel);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(&w->launch.batch, parameters[0], sizeof w->launch.batch);
    w->launch.twin = t;
    w->launch.blocks = gx;
    w->launch.rows = gy;
    w->launch.threads = bx;
    for (unsigned i = 0; i < gy; i++)
        all &= reach_all(w, s->ctx, &w->launch.batch.pass[i], (int)i * PASS_AREAS);
    if (!all) { /* the launch itself succeeds on a device; what comes after it does not */
        work_drop(w);
        sim_violation("%s: a buffer the device has no access to", t->name);
        __atomic_store_n(&s->ctx->sticky, CUDA_ERROR_ILLEGAL_ADDRESS, __ATOMIC_RELAXED);
        return CUDA_SUCCESS;
    }
    check_order(w);
    return stream_submit(s, w);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A host function takes the CPU time that it takes: the one thing that is measured, not modelled.
 */
static uint64_t run_host(struct work *w, uint64_t start)
{
    uint64_t begun = cpu_ns();

    w->host.function(w->host.data);
    return start + (cpu_ns() - begun);
}

CUresult sim_LaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    CUresult bad = sim_enter(SIM_LaunchHostFunc);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct work *w;

    if (!s || !function)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    w = work_new(run_host);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->host.function = function;
    w->host.data = data;
    return stream_submit(s, w);
}
