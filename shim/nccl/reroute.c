/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/reroute.h"

#include <stdlib.h>

#include "planners/balance/nimble.h"
#include "shim/nccl/ppg.h"
#include "shim/nccl/unit.h"
#include "shim/nccl/verify.h"

/* What needs no look at the communicator. All of it is the same on all ranks. */
static enum reason gate_call(const struct call *call)
{
    const struct choice *choice = &process.choice[call->collective];
    enum reduce_op op;

    if (call->kind != CALL_COLLECTIVE)
        return REASON_MESSAGE;
    if (!call->count)
        return REASON_ARGUMENTS;
    if (!call_is_understood(call))
        return REASON_OPERATION;
    if (choice->native)
        return REASON_CHOSEN;
    if (!choice->served)
        return REASON_NO_ALGORITHM;
    if (!call->combines)
        return REASON_NONE;
    if (call->op == ncclAvg)
        return REASON_AVERAGE;
    if (!call_reduce_op(call, &op))
        return REASON_OPERATION;
    return process.cfg.exact && call_rounds_results(call) ? REASON_EXACT : REASON_NONE;
}

enum reason unit_gate(const struct comm *c, const struct call *call)
{
    enum reason why = gate_call(call);

    if (why)
        return why;
    if (call_total_bytes(call, c->nranks) < process.cfg.min_bytes)
        return REASON_SMALL;
    if (c->notes < 0 && c->verdict)
        return c->verdict;
    if (call->root < 0 || call->root >= c->nranks || !call_has_buffers(call, c->rank))
        return REASON_ARGUMENTS;
    return REASON_NONE;
}

int unit_is_candidate(const struct comm *c, const struct call *call, int n)
{
    int candidate = 0;

    for (int i = 0; i < n && !candidate; i++)
        candidate = unit_gate(c, &call[i]) == REASON_NONE;
    return candidate || set_is_candidate(c, call, n);
}

static void note_captures(struct unit *u)
{
    const struct cuda_calls *cu = u->c->cu;

    for (int i = 0; cu && i < u->n; i++) {
        struct call *call = u->part[i].call;
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        call->captured = cu->StreamIsCapturing((CUstream)call->stream, &status) != CUDA_SUCCESS ||
                         status != CU_STREAM_CAPTURE_STATUS_NONE;
        u->captured |= call->captured;
    }
}

/*
 * A capture cannot allocate, and meets neither the other ranks' hosts nor helpers. So it takes what
 * earlier calls have left: a verdict, and schedules. All ranks made the same calls before, and have
 * left the same.
 */
static int is_capturable(const struct unit *u)
{
    return !u->several_streams && process.cfg.mode == CFG_MODE_ON && process.cfg.ppg < 2 &&
           u->c->notes < 0 && !u->c->unconfirmed;
}

static int is_prepared(const struct comm *c, const struct part *p)
{
    struct plan_request q = schedule_request(p->call, c);

    q.recipe = p->candidate.recipe;
    q.chunk_bytes = p->candidate.chunk_bytes;
    return comm_has_rounds(c, &q, p->candidate.algorithm);
}

/* Choosing ------------------------------------------------------------------------------------ */

/* What COLLSHIM_ALGORITHM names, else the row of the profile, else what the model thinks of. */
static enum reason choose(struct comm *c, const struct call *call, struct plan_candidate *best)
{
    const struct choice *choice = &process.choice[call->collective];
    struct plan_request q = schedule_request(call, c);
    const struct tuning_row *row = NULL;

    if (!choice->forced && process.tuning.nrows)
        row = tuning_find(&process.tuning, call->collective, c->topo, plan_total_bytes(&q));
    if (row && !row->algorithm)
        return REASON_PROFILE;
    *best = (struct plan_candidate){.chunk_bytes = q.chunk_bytes};
    if (choice->forced) {
        best->algorithm = choice->forced;
        best->recipe = choice->recipe[0] ? choice->recipe : NULL;
    } else if (row) {
        best->algorithm = row->algorithm;
        best->recipe = row->recipe[0] ? row->recipe : NULL;
        if (row->chunk_bytes && !process.cfg.chunk_bytes)
            best->chunk_bytes = row->chunk_bytes;
    } else if (!(process.cfg.min_bytes ? plan_candidates(&q, best, 1)
                                       : plan_candidates_all(&q, best, 1))) {
        if (ppg_slices(c, call) < 2) /* else each slice is the library's */
            return plan_nothing_pays(&q) ? REASON_SHAPE : REASON_SIZE;
    }
    q.recipe = best->recipe;
    if (q.recipe && best->algorithm->accepts) {
        char why[256] = "";

        if (best->algorithm->accepts(&q, why, sizeof why))
            return REASON_RECIPE;
    }
    return REASON_NONE;
}

/* Judge every call. Is one of them to be rerouted? */
static int judge(struct unit *u)
{
    int waited = 0, some = 0;

    for (int i = 0; i < u->n; i++) {
        struct part *p = &u->part[i];

        p->why = unit_gate(u->c, p->call);
        if (!p->why && u->captured && !is_capturable(u))
            p->why = REASON_CAPTURE;
        if (!p->why && !waited++)
            comm_verdict(u->c);
        if (!p->why)
            p->why = u->c->verdict;
        if (!p->why)
            p->why = choose(u->c, p->call, &p->candidate);
        if (!p->why && u->captured && !is_prepared(u->c, p))
            p->why = REASON_CAPTURE;
        if (!p->why && !some++) {
            u->collective = p->call->collective;
            u->algorithm = unit_algorithm(&p->candidate);
        }
        if (p->call->kind == CALL_COLLECTIVE) {
            u->total += call_total_bytes(p->call, u->c->nranks);
            u->merged++;
        }
    }
    return some > 0;
}

static ncclResult_t run_chosen(struct unit *u)
{
    if (process.cfg.mode == CFG_MODE_VERIFY)
        return verify_unit(u);
    if (process.cfg.mode == CFG_MODE_AB && u->c->turn++ % 2 == 0)
        return unit_native(u, REASON_TURN);
    if (process.cfg.guard && !process.cfg.reproducible && process.cfg.mode == CFG_MODE_ON &&
        process.cfg.min_bytes && !process.choice[u->collective].forced)
        return u->captured ? unit_settled(u) : unit_guarded(u);
    return unit_reroute(u);
}

/* Sets of messages ---------------------------------------------------------------------------- */

/* Is there more to be gained than the asking and the rounds cost? */
static int is_worth_it(const struct plan_request *q)
{
    double direct, balanced;

    return !process.cfg.min_bytes ||
           (nimble_predict(q, &direct, &balanced) == 0 && balanced < 0.9 * direct);
}

static enum reason choose_for_set(const struct comm *c, const struct set *set,
                                  struct plan_candidate *best)
{
    const struct choice *choice = &process.choice[COLL_ALLTOALLV];
    struct plan_request q = schedule_set_request(set, c);
    const struct tuning_row *row = NULL;
    uint64_t total = plan_total_bytes(&q);

    *best = (struct plan_candidate){.algorithm = choice->forced, .chunk_bytes = q.chunk_bytes};
    if (!set_ties_all(set, c->nranks))
        return REASON_LOOSE;
    if (total < process.cfg.min_bytes)
        return REASON_SMALL;
    if (choice->forced)
        return REASON_NONE;
    if (process.tuning.nrows)
        row = tuning_find(&process.tuning, COLL_ALLTOALLV, c->topo, total);
    if (row && !row->algorithm)
        return REASON_PROFILE;
    if (row && row->chunk_bytes && !process.cfg.chunk_bytes)
        best->chunk_bytes = row->chunk_bytes;
    best->algorithm = row ? row->algorithm : &plan_nimble;
    return row || is_worth_it(&q) ? REASON_NONE : REASON_SIZE;
}

/* set: room for it. */
static ncclResult_t run_set_unit(struct unit *u, struct set *set)
{
    enum reason why = u->captured                     ? REASON_CAPTURE
                      : u->c->nranks > SET_RANKS_MOST ? REASON_TOO_MANY
                                                      : comm_judged(u->c);
    struct plan_request q;
    ncclResult_t result;

    for (int i = 0; i < u->n; i++)
        u->part[i].why = REASON_MESSAGE;
    u->set = set;
    u->collective = COLL_ALLTOALLV;
    u->merged = 1;
    if (!why)
        why = set_agree(u->c, u->part[0].call, u->n, set);
    if (why)
        return unit_native(u, why);
    why = choose_for_set(u->c, set, &u->set_candidate);
    set_learn(u->c, !why);
    if (why) {
        result = unit_native(u, why);
    } else {
        q = schedule_set_request(set, u->c);
        u->total = plan_total_bytes(&q);
        u->algorithm = u->set_candidate.algorithm->name;
        result = run_chosen(u);
    }
    set_close(set);
    return result;
}

/* The whole ----------------------------------------------------------------------------------- */

ncclResult_t unit_run(struct comm *c, struct call *call, int n)
{
    struct part alone = {0}, *part = n == 1 ? &alone : malloc((size_t)n * sizeof *part);
    struct unit u = {.c = c, .part = part, .n = n, .stream = (CUstream)call->stream};
    struct set set;
    ncclResult_t result;

    if (!part)
        return ncclSystemError;
    for (int i = 0; i < n; i++) {
        part[i] = (struct part){.call = &call[i]};
        u.several_streams |= (CUstream)call[i].stream != u.stream;
    }
    if (c->cu)
        c->cu->CtxPushCurrent(c->context);
    note_captures(&u);
    if (set_is_candidate(c, call, n))
        result = run_set_unit(&u, &set);
    else
        result = judge(&u) ? run_chosen(&u) : unit_native(&u, REASON_NONE);
    if (c->cu)
        c->cu->CtxPopCurrent(NULL);
    if (part != &alone)
        free(part);
    return result;
}

ncclResult_t reroute(const struct call *call)
{
    enum reason why = gate_call(call);
    struct comm *c = why ? NULL : comm_find(call->comm);
    ncclResult_t result;

    if (!why)
        why = c ? unit_gate(c, call) : REASON_UNKNOWN;
    if (why) {
        count_native(call->collective, why);
        result = call->native(call);
    } else {
        struct call mine = *call;

        result = unit_run(c, &mine, 1);
    }
    if (c)
        comm_release(c);
    return result;
}
