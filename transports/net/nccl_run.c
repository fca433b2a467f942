/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/net/nccl_run.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const struct {
    const char *symbol;
    size_t offset;
    int required;
} rows[] = {
#define NCCL_CALL(name) {"pnccl" #name, offsetof(struct nccl_calls, name), 1},
#define NCCL_OPTIONAL(name) {"pnccl" #name, offsetof(struct nccl_calls, name), 0},
#include "transports/net/nccl_calls.def"
};

const char *nccl_calls_open(void *library, struct nccl_calls *calls)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *function = dlsym(library, rows[i].symbol);

        if (!function && rows[i].required)
            return rows[i].symbol;
        memcpy((char *)calls + rows[i].offset, &function, sizeof function);
    }
    return NULL;
}

static char *at(const struct nccl_run *run, const struct round_place *place)
{
    const struct nccl_pieces *p = run->pieces[place->buffer];
    int first = 0, behind;

    if (!p)
        return run->buffer[place->buffer] + place->offset;
    behind = p->n;
    while (behind - first > 1) { /* the last one that begins there or before: it is not empty */
        int middle = (first + behind) / 2;

        if (p->from[middle] <= place->offset)
            first = middle;
        else
            behind = middle;
    }
    return p->at[first] + (place->offset - p->from[first]);
}

static ncclResult_t run_message(const struct nccl_run *run, const struct round_step *s)
{
    ncclResult_t result = ncclSuccess, ended;

    /* the library may have freed an aborted communicator: between groups is as before a call */
    if (s->opens && run->stop && __atomic_load_n(run->stop, __ATOMIC_ACQUIRE))
        return ncclInvalidArgument;
    if (s->opens)
        result = run->nccl->GroupStart();
    if (!result && s->kind == ROUND_SEND)
        result = run->nccl->Send(at(run, &s->src), s->length, ncclInt8, s->peer, run->comm,
                                 (cudaStream_t)run->stream);
    else if (!result)
        result = run->nccl->Recv(at(run, &s->dst), s->length, ncclInt8, s->peer, run->comm,
                                 (cudaStream_t)run->stream);
    if (!s->closes && !result)
        return ncclSuccess;
    ended = run->nccl->GroupEnd(); /* also after an error, or the thread would stay in a group */
    return result ? result : ended;
}

static ncclResult_t run_copy(const struct nccl_run *run, const struct round_step *s)
{
    CUdeviceptr from = (CUdeviceptr)at(run, &s->src), to = (CUdeviceptr)at(run, &s->dst);

    if (from == to)
        return ncclSuccess;
    return run->cu->MemcpyDtoDAsync(to, from, s->length, run->stream) == CUDA_SUCCESS
               ? ncclSuccess
               : ncclUnhandledCudaError;
}

/* All steps of a launch at its first. */
static ncclResult_t run_reduce(const struct nccl_run *run, const struct round_step *s)
{
    struct cuda_reduce_args pass[ROUND_PASSES];
    unsigned n = 0;

    _Static_assert((int)ROUND_SOURCES <= CUDA_REDUCE_SOURCES, "a pass must fit into a launch");
    _Static_assert((int)ROUND_PASSES <= CUDA_REDUCE_PASSES, "a round's launch must be one");
    if (!s->opens)
        return ncclSuccess;
    do {
        if (!n || s->begins)
            pass[n++] = (struct cuda_reduce_args){.dst = at(run, &s->dst),
                                                  .src = {at(run, &s->src)},
                                                  .count = s->length / reduce_type_bytes(run->type),
                                                  .sources = 1};
        pass[n - 1].src[pass[n - 1].sources++] = at(run, &s->with);
    } while (!s++->closes);
    return cuda_reduce_several(run->reducer, run->op, run->type, pass, n, run->stream)
               ? ncclUnhandledCudaError
               : ncclSuccess;
}

ncclResult_t nccl_run(const struct nccl_run *run, const struct rounds *rounds)
{
    static ncclResult_t (*const step[])(const struct nccl_run *, const struct round_step *) = {
        [ROUND_SEND] = run_message,
        [ROUND_RECV] = run_message,
        [ROUND_COPY] = run_copy,
        [ROUND_REDUCE] = run_reduce,
    };
    ncclResult_t result = ncclSuccess;

    for (uint32_t i = 0; i < rounds->nsteps && !result; i++)
        result = step[rounds->step[i].kind](run, &rounds->step[i]);
    return result;
}
