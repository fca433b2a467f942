/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For other simulated libraries, which bring work that is no call of the driver: foreign.h. A
 * device's NCCL launches kernels of its own; here its stand-in hands in a function.
 */
#include "test/gpusim/foreign.h"

#include <stdlib.h>

#include "test/gpusim/sim.h"

static uint64_t run_foreign(struct work *w, uint64_t start)
{
    return w->foreign.run(w->foreign.data, start);
}

SIM_EXPORT __typeof__(gpusim_submit) gpusim_submit;
int gpusim_submit(void *stream, int device, gpusim_work run, void *data)
{
    struct stream *s = stream_of((CUstream)stream);
    struct work *w;

    if (!s || s->ctx->device != device)
        return CUDA_ERROR_INVALID_HANDLE;
    w = work_new(run_foreign);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->foreign.run = run;
    w->foreign.data = data;
    return (int)stream_submit(s, w);
}

SIM_EXPORT __typeof__(gpusim_reserve) gpusim_reserve;
int gpusim_reserve(int device, int64_t bytes)
{
    return sim_memory_take(device, bytes) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static int foreign_again(struct work *w)
{
    w->foreign.data = w->foreign.again(w->foreign.data);
    return w->foreign.data ? 0 : -1;
}

SIM_EXPORT __typeof__(gpusim_capture) gpusim_capture;
int gpusim_capture(void *stream, int device, gpusim_work run, void *(*again)(void *), void *data)
{
    struct stream *s = stream_of((CUstream)stream);
    struct work *w = s && s->capture && s->ctx->device == device ? work_new(run_foreign) : NULL;

    if (!w) {
        free(data);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    w->again = foreign_again;
    w->foreign.run = run;
    w->foreign.again = again;
    w->foreign.data = w->owned = data;
    return (int)stream_submit(s, w);
}

SIM_EXPORT __typeof__(gpusim_use) gpusim_use;
void *gpusim_use(const void *p, size_t bytes, int device, void **hold)
{
    struct area *a;
    char *at = area_use((uintptr_t)p, bytes, &a);

    *hold = a;
    if (at && (!a || area_is_host(a) || a->device == device))
        return at;
    area_done(a);
    *hold = NULL;
    sim_violation("a buffer the device has no access to");
    return NULL;
}

SIM_EXPORT __typeof__(gpusim_done) gpusim_done;
void gpusim_done(void *hold)
{
    area_done(hold);
}
