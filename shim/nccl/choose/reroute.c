/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/reroute.h"

#include <stdlib.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "shim/decide/choose/choose.h"
#include "shim/nccl/choose/candidates.h"
#include "shim/nccl/choose/gate.h"
#include "shim/nccl/choose/guarded.h"
#include "shim/nccl/choose/sets.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/comm/notes.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/run/aside.h"
#include "shim/nccl/run/host_memory.h"
#include "shim/nccl/run/run.h"
#include "shim/nccl/run/schedule.h"
#include "shim/nccl/run/verify.h"

static void note_captures(struct nccl_bundle *b)
{
    const struct cuda_calls *cu = b->c->cu;

    for (int i = 0; cu && i < b->n; i++) {
        struct nccl_call *call = b->part[i].call;
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        call->captured = cu->StreamIsCapturing((CUstream)call->stream, &status) != CUDA_SUCCESS ||
                         status != CU_STREAM_CAPTURE_STATUS_NONE;
        b->captured |= call->captured;
    }
}

/*
 * A capture cannot allocate, and meets neither the other ranks' hosts nor helpers. So it takes what
 * earlier calls have left: a verdict, and schedules. All ranks made the same calls before, and have
 * left the same.
 */
static int is_capturable(const struct nccl_bundle *b)
{
    return !b->several_streams && settings.cfg.mode == CFG_MODE_ON && settings.cfg.ppg < 2 &&
           b->c->notes.fd < 0 && !b->c->notes.unconfirmed;
}

static int is_prepared(struct nccl_comm *c, const struct nccl_part *p)
{
    struct plan_request q = schedule_request(p->call, c, p->way);

    if (p->way->algorithm == &plan_collaborative)
        return host_memory_is_there(c);
    return nccl_comm_has_rounds(c, &q, p->way->algorithm, schedule_beside(p->call, &q));
}

/* The ranks agree on a reason. They ask each other once per bundle, and not in a capture. */
static enum reason ask_ranks(struct nccl_bundle *b)
{
    if (!b->asked++)
        b->verdict = b->captured ? b->c->verdict : nccl_comm_verdict(b->c);
    return b->verdict;
}

/* Why the call is native; REASON_NONE: it has candidates. */
static enum reason judge(struct nccl_bundle *b, struct nccl_part *p)
{
    enum reason why = nccl_gate(b->c, p->call);

    if (!why && b->captured && !is_capturable(b))
        why = REASON_CAPTURE;
    if (!why)
        why = ask_ranks(b);
    if (!why && b->c->device.no_fp8_sums && nccl_call_combines_fp8(p->call))
        why = REASON_FP8;
    if (!why)
        why = nccl_find_candidates(b->c, p);
    if (!why && b->captured && !is_prepared(b->c, p))
        why = REASON_CAPTURE;
    return why;
}

/* Judge every call. Is one of them to be rerouted? */
static int judge_all(struct nccl_bundle *b)
{
    for (int i = 0; i < b->n; i++) {
        struct nccl_part *p = &b->part[i];

        p->why = judge(b, p);
        if (!p->why && !b->lead) {
            b->collective = p->call->collective;
            b->lead = p;
        }
        if (!p->why && p->nways > b->nways)
            b->nways = p->nways;
        if (p->call->kind == CALL_COLLECTIVE) {
            b->total += nccl_call_total_bytes(p->call, b->c->nranks);
            b->merged++;
        }
    }
    return b->lead != NULL;
}

static ncclResult_t choose_and_run(struct nccl_bundle *b)
{
    enum choose_way by = choose_way(&b->c->ab_count);

    if (by == CHOOSE_BOTH)
        return verify_bundle(b);
    if (by == CHOOSE_NATIVE)
        return nccl_run_native(b, REASON_TURN);
    if (choose_is_guarded(b->collective))
        return b->captured ? nccl_guarded_capture(b) : nccl_guarded(b);
    return nccl_run_reroute(b, 0);
}

/* Sets of messages ---------------------------------------------------------------------------- */

/* set: room for it. */
static ncclResult_t run_set_bundle(struct nccl_bundle *b, struct nccl_set *set)
{
    enum reason why = b->captured                     ? REASON_CAPTURE
                      : b->c->nranks > SET_RANKS_MOST ? REASON_TOO_MANY
                                                      : nccl_comm_judged(b->c);
    ncclResult_t result;

    for (int i = 0; i < b->n; i++)
        b->part[i].why = REASON_MESSAGE;
    b->set = set;
    b->collective = COLL_ALLTOALLV;
    b->lead = b->part;
    b->merged = b->nways = b->part->nways = 1;
    if (!why)
        nccl_guarded_note_asking(b);
    if (!why)
        why = nccl_set_agree(b->c, b->part[0].call, b->n, set);
    if (why)
        return nccl_run_native(b, why);
    why = nccl_find_for_set(b->c, set, b->part->way);
    nccl_set_learn(b->c, !why);
    if (why) {
        result = nccl_run_native(b, why);
    } else {
        struct plan_request q = schedule_set_request(set, b->c, NULL);

        b->total = plan_total_bytes(&q);
        result = choose_and_run(b);
    }
    nccl_set_close(set);
    return result;
}

/* The whole ----------------------------------------------------------------------------------- */

ncclResult_t nccl_reroute_bundle(struct nccl_comm *c, struct nccl_call *call, int n)
{
    struct nccl_part alone = {0}, *part = n == 1 ? &alone : malloc((size_t)n * sizeof *part);
    struct nccl_bundle b = {.c = c, .part = part, .n = n, .stream = (CUstream)call->stream};
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct nccl_set set;
    ncclResult_t result;
    int relaxed;

    if (!part)
        return ncclSystemError;
    for (int i = 0; i < n; i++) {
        part[i] = (struct nccl_part){.call = &call[i]};
        b.several_streams |= (CUstream)call[i].stream != b.stream;
    }
    b.elsewhere = aside_is_needed(c, b.stream);
    c->device.met_elsewhere |= b.elsewhere;
    if (c->cu)
        c->cu->CtxPushCurrent(c->device.context);
    note_captures(&b);
    /* Captures of other threads, or of this one on other streams, must stay intact. In the global
       mode, the default, cuMemAlloc or cuEventQuery in any thread would spoil them. */
    relaxed = c->cu && !b.captured && !c->cu->ThreadExchangeStreamCaptureMode(&mode);
    if (nccl_set_is_candidate(c, call, n)) {
        result = run_set_bundle(&b, &set);
        /* No collective is rerouted then; exchanges are agreed on one by one. */
        if (c->notes.unconfirmed)
            registered_release(c);
    } else {
        result = judge_all(&b) ? choose_and_run(&b) : nccl_run_native(&b, REASON_NONE);
    }
    if (relaxed)
        c->cu->ThreadExchangeStreamCaptureMode(&mode);
    if (c->cu)
        c->cu->CtxPopCurrent(NULL);
    if (part != &alone)
        free(part);
    return result;
}

ncclResult_t nccl_reroute(const struct nccl_call *call)
{
    enum reason why = nccl_gate_call(call);
    struct nccl_comm *c = why ? NULL : nccl_comm_find(call->comm);
    ncclResult_t result;

    if (!why)
        why = c ? nccl_gate(c, call) : REASON_UNKNOWN;
    if (why) {
        nccl_count_native(c, call, why);
        result = call->native(call);
    } else {
        struct nccl_call mine = *call;

        result = nccl_reroute_bundle(c, &mine, 1);
    }
    if (c)
        nccl_comm_release(c);
    return result;
}
