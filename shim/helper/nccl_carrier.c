/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run waits on its stream for `go`, which the owner's stream writes behind the copy of the slice.
 * The run writes `done`, for which the owner's stream waits before it takes the result. No host is
 * in between, so neither side's call waits.
 */
#include "shim/helper/nccl_carrier.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nccl_order_say(struct nccl_order_channel *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(c->why, sizeof c->why, format, list);
    va_end(list);
    return -1;
}

static int cuda_failed(const struct nccl_carrier *s, const char *what, CUresult result)
{
    return result == CUDA_SUCCESS ? 0
                                  : nccl_order_say(s->at, "%s: %s", what, cuda_result_name(result));
}

static int nccl_failed(const struct nccl_carrier *s, const char *what, ncclResult_t result)
{
    return result == ncclSuccess
               ? 0
               : nccl_order_say(s->at, "%s: %s", what, s->shared->nccl->GetErrorString(result));
}

int nccl_carrier_join(struct nccl_carrier *s, const struct nccl_order *o)
{
    const struct nccl_calls *nccl = s->shared->nccl;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t result;
    ncclUniqueId id;

    _Static_assert(sizeof id == NCCL_ORDERS_ID_BYTES, "an id must fit");
    memcpy(&id, o->id, sizeof id);
    if (!s->stream &&
        cuda_failed(s, "cuStreamCreate",
                    s->shared->cu->StreamCreateWithPriority(&s->stream, CU_STREAM_NON_BLOCKING, 0)))
        return -1;
    s->ticket = atomic_load(&s->at->done);
    if (nccl_carrier_run(s,
                         &(struct nccl_order){.ticket = s->ticket})) /* does the device do that? */
        return -1;
    if (o->most_blocks > 0 && nccl->CommInitRankConfig) {
        config.maxCTAs = o->most_blocks;
        result = nccl->CommInitRankConfig(&s->comm, o->nranks, id, o->rank, &config);
    } else {
        result = nccl->CommInitRank(&s->comm, o->nranks, id, o->rank);
    }
    if (result)
        s->comm = NULL;
    return nccl_failed(s, "ncclCommInitRank", result);
}

/* Work under way may use the smaller one: it is left to the end of the process. */
static int make_room(struct nccl_carrier *s, uint64_t bytes)
{
    CUdeviceptr more;
    CUresult result;

    if (bytes <= s->scratch_bytes)
        return 0;
    bytes = bytes > 2 * s->scratch_bytes ? bytes : 2 * s->scratch_bytes;
    result = s->shared->cu->MemAlloc(&more, bytes);
    if (result == CUDA_SUCCESS) {
        s->scratch = (char *)more;
        s->scratch_bytes = bytes;
    }
    return cuda_failed(s, "cuMemAlloc", result);
}

int nccl_carrier_plan(struct nccl_carrier *s, const struct nccl_order *o, const char *steps)
{
    size_t bytes = o->nsteps * sizeof(struct round_step);
    struct round_step *own = malloc(bytes ? bytes : 1);

    if (!own || !s->shared->reducer || make_room(s, o->scratch_bytes)) {
        free(own);
        return s->shared->reducer
                   ? -1
                   : nccl_order_say(s->at, "this build has no kernels for the device");
    }
    memcpy(own, steps, bytes);
    free(s->step[o->plan]);
    s->step[o->plan] = own;
    s->nsteps[o->plan] = o->nsteps;
    return 0;
}

static int carry(struct nccl_carrier *s, const struct nccl_order *o)
{
    struct nccl_run run = {.nccl = s->shared->nccl,
                           .cu = s->shared->cu,
                           .reducer = s->shared->reducer,
                           .comm = s->comm,
                           .stream = s->stream,
                           .op = (enum reduce_op)o->kernel_op,
                           .type = (enum reduce_type)o->kernel_type};

    if (o->count == 0)
        return 0;
    if (o->plan == NCCL_ORDERS_LIBRARY)
        return nccl_failed(s, "ncclAllReduce",
                           s->shared->nccl->AllReduce(s->memory, s->memory, o->count,
                                                      (ncclDataType_t)o->type, (ncclRedOp_t)o->op,
                                                      s->comm, (cudaStream_t)s->stream));
    run.buffer[PLAN_INPUT] = run.buffer[PLAN_OUTPUT] = s->memory;
    run.buffer[PLAN_SCRATCH] = s->scratch;
    return nccl_failed(
        s, "a plan",
        nccl_run(&run, &(struct rounds){.nsteps = s->nsteps[o->plan], .step = s->step[o->plan]}));
}

int nccl_carrier_run(struct nccl_carrier *s, const struct nccl_order *o)
{
    const struct cuda_calls *cu = s->shared->cu;

    s->ticket = o->ticket;
    if (cuda_failed(s, "cuStreamWaitValue32",
                    cu->StreamWaitValue32(s->stream, s->go, o->ticket, CU_STREAM_WAIT_VALUE_GEQ)) ||
        carry(s, o))
        return -1;
    return cuda_failed(
        s, "cuStreamWriteValue32",
        cu->StreamWriteValue32(s->stream, s->done, o->ticket, CU_STREAM_WRITE_VALUE_DEFAULT));
}

int nccl_carrier_works(const struct nccl_carrier *s)
{
    return s->comm && (int32_t)(atomic_load(&s->at->done) - s->ticket) < 0;
}

int nccl_carrier_check(const struct nccl_carrier *s)
{
    ncclResult_t state = ncclSuccess;

    if (!s->comm || !s->shared->nccl->CommGetAsyncError ||
        s->shared->nccl->CommGetAsyncError(s->comm, &state) != ncclSuccess ||
        state == ncclInProgress)
        return 0;
    return nccl_failed(s, "its communicator", state);
}

void nccl_carrier_end(struct nccl_carrier *s, ncclComm_t comm, int cut)
{
    if (comm && cut)
        s->shared->nccl->CommAbort(comm);
    s->shared->cu->StreamSynchronize(s->stream);
    if (comm && !cut)
        s->shared->nccl->CommDestroy(comm);
}
