/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/aside.h"

/* NULL: the primary one, or it is unknown. The streams without a handle of their own are of what is
   current, which NCCL takes to be the primary one as well. */
static CUcontext other_context(const struct nccl_comm *c, CUstream stream)
{
    CUcontext of = NULL;

    if (!c->cu || (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD ||
        c->cu->StreamGetCtx(stream, &of) != CUDA_SUCCESS)
        return NULL;
    return of == c->device.context ? NULL : of;
}

int aside_is_needed(const struct nccl_comm *c, CUstream stream)
{
    return other_context(c, stream) != NULL;
}

CUstream aside_stream(struct nccl_comm *c)
{
    if (!c->device.aside &&
        c->cu->StreamCreateWithPriority(&c->device.aside, CU_STREAM_NON_BLOCKING, 0))
        c->device.aside = NULL;
    return c->device.aside;
}

void aside_forget(struct nccl_comm *c)
{
    if (c->device.aside)
        c->cu->StreamDestroy(c->device.aside);
    c->device.aside = NULL;
}

/* An event is recorded in its own context; any stream may wait for it. */
CUresult aside_order(const struct nccl_comm *c, CUstream first, CUstream then)
{
    const struct cuda_calls *cu = c->cu;
    CUcontext of = other_context(c, first);
    CUevent e = NULL;
    CUresult result;

    if (first == then)
        return CUDA_SUCCESS;
    if (of && (result = cu->CtxPushCurrent(of)) != CUDA_SUCCESS)
        return result;
    result = cu->EventCreate(&e, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = cu->EventRecord(e, first);
    if (of)
        cu->CtxPopCurrent(NULL);
    if (result == CUDA_SUCCESS)
        result = cu->StreamWaitEvent(then, e, CU_EVENT_WAIT_DEFAULT);
    if (e)
        cu->EventDestroy(e);
    return result;
}
