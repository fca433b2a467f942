/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/run.h"

#include <stdlib.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/helpers/ppg.h"
#include "shim/nccl/run/aside.h"
#include "shim/nccl/run/host_path.h"
#include "shim/nccl/run/ppg_run.h"

static ncclResult_t run_native(const struct nccl_comm *c, const struct nccl_call *call,
                               enum reason why)
{
    /* aborted while its ranks were waited for: the library may have freed it */
    if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE))
        return ncclInvalidArgument;
    if (call->kind == CALL_COLLECTIVE && why != REASON_VERIFIED)
        nccl_count_native(c, call, why);
    return call->native(call);
}

const struct plan_candidate *nccl_part_way(const struct nccl_part *p, int i)
{
    return &p->way[i < p->nways ? i : p->nways - 1];
}

enum reason nccl_run_part(struct nccl_comm *c, const struct nccl_call *call,
                          const struct plan_candidate *way, int patient, ncclResult_t *result)
{
    int processes = way->ppg < 2 ? 1 : ppg_slices(c, call);
    enum reason why = REASON_NONE;

    processes = processes < way->ppg ? processes : way->ppg;
    if (processes > 1) {
        why = ppg_run(c, call, way, processes, patient, result);
    } else if (!way->algorithm) { /* the helpers have gone meanwhile */
        why = REASON_NOT_READY;
    } else if (way->algorithm == &plan_collaborative) {
        why = host_path_run(c, call, way, result);
    } else {
        struct plan_request q = schedule_request(call, c, way);
        uint64_t beside = schedule_beside(call, &q);
        const struct rounds *r = NULL;

        if (patient && !nccl_comm_came_before(c, &q, way->algorithm, beside))
            why = REASON_NEW;
        else if (!(r = nccl_comm_rounds(c, &q, way->algorithm, beside, (CUstream)call->stream)))
            why = REASON_NOT_READY;
        if (!why)
            *result = schedule_run(c, call, r, &q);
    }
    if (!why)
        nccl_count_rerouted(c, call, way->algorithm, processes);
    return why;
}

/*
 * The collectives in their order; native ones between two reroutes form a group. The messages come
 * last, as in NCCL's own groups.
 */
static ncclResult_t run_parts(struct nccl_bundle *b, int way)
{
    const struct nccl_calls *nccl = &b->part[0].call->copy->real;
    ncclResult_t result = ncclSuccess, ended;
    int open = 0;

    for (int i = 0; i < 2 * b->n && !result; i++) {
        const struct nccl_part *p = &b->part[i % b->n];
        enum reason why = p->why;

        if ((p->call->kind == CALL_COLLECTIVE) != (i < b->n))
            continue;
        if (!why && open) {
            result = nccl->GroupEnd();
            open = 0;
        }
        if (!why && !result)
            why = nccl_run_part(b->c, p->call, nccl_part_way(p, way), b->patient, &result);
        if (!why || result)
            continue;
        if (!open && b->n > 1)
            open = (result = nccl->GroupStart()) == ncclSuccess;
        if (!result)
            result = run_native(b->c, p->call, why);
    }
    ended = open ? nccl->GroupEnd() : ncclSuccess;
    return result ? result : ended;
}

static ncclResult_t run_set(struct nccl_bundle *b, int way)
{
    const struct plan_candidate *by = nccl_part_way(b->lead, way);
    struct plan_request q = schedule_set_request(b->set, b->c, by);
    const struct rounds *r = nccl_comm_rounds(b->c, &q, by->algorithm, 0, b->stream);
    ncclResult_t result;

    if (!r)
        return nccl_run_native(b, REASON_NOT_READY);
    result = schedule_run_set(b->c, b->part[0].call, b->set, r);
    count_rerouted(COLL_ALLTOALLV, by->algorithm, 1, b->total, 0);
    return result;
}

/* That is what NCCL says of a group with several streams; likewise of one of another context. */
ncclResult_t nccl_run_joined(struct nccl_bundle *b, int way,
                             ncclResult_t (*run)(struct nccl_bundle *b, int way))
{
    CUstream first = b->stream, *theirs, on = b->elsewhere ? aside_stream(b->c) : first;
    ncclResult_t result;
    int ordered = 1;

    if (b->elsewhere && !on)
        return ncclUnhandledCudaError;
    if (!b->several_streams && !b->elsewhere)
        return run(b, way);
    theirs = calloc((size_t)b->n, sizeof *theirs);
    if (!theirs)
        return ncclSystemError;
    b->stream = on;
    for (int i = 0; i < b->n; i++) {
        theirs[i] = (CUstream)b->part[i].call->stream;
        b->part[i].call->stream = (cudaStream_t)on;
        ordered &= aside_order(b->c, theirs[i], on) == CUDA_SUCCESS;
    }
    result = ordered ? run(b, way) : ncclUnhandledCudaError;
    for (int i = 0; i < b->n; i++) {
        ordered &= aside_order(b->c, on, theirs[i]) == CUDA_SUCCESS;
        b->part[i].call->stream = (cudaStream_t)theirs[i];
    }
    b->stream = first;
    free(theirs);
    return result || ordered ? result : ncclUnhandledCudaError;
}

/*
 * Memory that NCCL would register by itself is a thing of each rank's own. All ranks capture the
 * same calls, so they ask each other: hosts alone, as NCCL's own meet in a capture where they
 * connect.
 */
static enum reason agree_on_capture(struct nccl_bundle *b)
{
    double some = 0;

    for (int i = 0; i < b->n; i++)
        some = some > 0 || registered_in_graph(b->c, b->part[i].call);
    return nccl_comm_largest(b->c, &some, 1) < 0 ? REASON_NOT_READY
           : some > 0                            ? REASON_MAPPED
                                                 : REASON_NONE;
}

ncclResult_t nccl_run_reroute(struct nccl_bundle *b, int way)
{
    enum reason why = b->captured ? agree_on_capture(b) : REASON_NONE;

    if (why)
        return nccl_run_native(b, why);
    return nccl_run_joined(b, way, b->set ? run_set : run_parts);
}

ncclResult_t nccl_run_native(struct nccl_bundle *b, enum reason why)
{
    if (b->set && why != REASON_VERIFIED)
        count_native(COLL_ALLTOALLV, why);
    for (int i = 0; i < b->n; i++)
        if (!b->part[i].why)
            b->part[i].why = why;
    return run_parts(b, 0);
}
