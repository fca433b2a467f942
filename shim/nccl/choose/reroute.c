/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/reroute.h"

#include <stdlib.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/nimble/nimble.h"
#include "shim/decide/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "shim/nccl/choose/gate.h"
#include "shim/nccl/choose/guarded.h"
#include "shim/nccl/choose/sets.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/comm/notes.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/helpers/ppg.h"
#include "shim/nccl/run/aside.h"
#include "shim/nccl/run/host_memory.h"
#include "shim/nccl/run/host_path.h"
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
           b->c->notes < 0 && !b->c->unconfirmed;
}

static int is_prepared(struct nccl_comm *c, const struct nccl_part *p)
{
    struct plan_request q = schedule_request(p->call, c, p->way);

    if (p->way->algorithm == &plan_collaborative)
        return host_memory_is_there(c);
    return nccl_comm_has_rounds(c, &q, p->way->algorithm, schedule_beside(p->call, &q));
}

/* Choosing ------------------------------------------------------------------------------------ */

/* The candidates for the call on a communicator with that many processes per rank: the named ones,
   or else the model's. */
static int find_ways(const struct plan_request *q, const struct tuning_row *row,
                     struct picks *picks, struct plan_candidate *way)
{
    int n, must_pay = settings.cfg.min_bytes != 0;

    if (choose_named(q, row, way)) {
        way->ppg = way->algorithm == &plan_collaborative ? 1 : q->ppg;
        return way->algorithm || way->ppg > 1;
    }
    n = plan_candidates_with_library(q, way, must_pay);
    for (int i = 0; i < n; i++) {
        struct plan_request slice = *q;

        slice.nbytes /= (size_t)way[i].ppg;
        if (way[i].algorithm)
            pick_row(picks, &slice, must_pay, &way[i]);
        way[i].chunk_bytes = 0; /* the size of what is run decides */
    }
    return n;
}

/* A helper's communicator does not know what the program has made of its own. */
static int without_library(struct plan_candidate *way, int n)
{
    int left = 0;

    for (int i = 0; i < n; i++)
        if (way[i].algorithm)
            way[left++] = way[i];
    return left;
}

/* Leave out recipes that cannot be built for the call. named: by the settings or the profile.
   Returns how many ways are left. */
static int sift(const struct nccl_call *call, const struct nccl_comm *c, struct plan_candidate *way,
                int n, int named)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        struct plan_request q = schedule_request(call, c, &way[i]);
        const struct plan_algorithm *a = way[i].algorithm;
        char why[256];

        if (a == &plan_collaborative && !(named && host_path_serves(call, c, &way[i])))
            continue;
        if (!a || !q.recipe || !a->accepts || !a->accepts(&q, why, sizeof why))
            way[left++] = way[i];
    }
    return left;
}

/* A part through the host, for the guard to try, where the model knows the links and sees a gain.
   Returns how many ways there are then. */
static int add_host_path(const struct nccl_call *call, const struct nccl_comm *c,
                         struct plan_candidate *way, int n)
{
    struct plan_request q = schedule_request(call, c, NULL);

    if (n == PLAN_CANDIDATES || !settings.cfg.min_bytes || !host_path_is_known(c->topo) ||
        call->collective != COLL_ALLREDUCE || plan_collaborative.pays(&q))
        return n;
    way[n] = (struct plan_candidate){
        .algorithm = &plan_collaborative, .seconds = plan_collaborative.cost(&q), .ppg = 1};
    return n + host_path_serves(call, c, &way[n]);
}

/* As many processes per rank as there are, or as the row says: a row without a word of it means
 * one.
 */
static int processes_for(struct nccl_comm *c, const struct nccl_call *call,
                         const struct tuning_row *row)
{
    int most = row && row->ppg < 2 ? 1 : ppg_slices(c, call);

    return row && row->ppg > 1 && row->ppg < most ? row->ppg : most;
}

/* Fill in the part's ways. */
static enum reason choose(struct nccl_comm *c, struct nccl_part *p)
{
    const struct nccl_call *call = p->call;
    struct plan_request q = schedule_request(call, c, NULL);
    const struct tuning_row *row = choose_row(&q, plan_total_bytes(&q));
    int n, named;

    if (row && !row->algorithm && row->ppg < 2)
        return REASON_PROFILE;
    q.ppg = processes_for(c, call, row);
    n = find_ways(&q, row, &c->picks, p->way);
    if (call->redop)
        n = without_library(p->way, n);
    named = row || settings.choice[call->collective].forced;
    p->nways = sift(call, c, p->way, n, named);
    if (!named)
        p->nways = add_host_path(call, c, p->way, p->nways);
    if (p->nways)
        return REASON_NONE;
    return n ? REASON_RECIPE : row ? REASON_PROFILE : choose_why_nothing(&q);
}

/* Judge every call. Is one of them to be rerouted? */
static int judge(struct nccl_bundle *b)
{
    enum reason verdict = REASON_NONE;
    int waited = 0, some = 0;

    for (int i = 0; i < b->n; i++) {
        struct nccl_part *p = &b->part[i];

        p->why = nccl_gate(b->c, p->call);
        if (!p->why && b->captured && !is_capturable(b))
            p->why = REASON_CAPTURE;
        if (!p->why && !waited++)
            verdict = b->captured ? b->c->verdict : nccl_comm_verdict(b->c);
        if (!p->why)
            p->why = verdict;
        if (!p->why && b->c->no_fp8_sums && nccl_call_combines_fp8(p->call))
            p->why = REASON_FP8;
        if (!p->why)
            p->why = choose(b->c, p);
        if (!p->why && b->captured && !is_prepared(b->c, p))
            p->why = REASON_CAPTURE;
        if (!p->why && !some++) {
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
    return some > 0;
}

static ncclResult_t run_chosen(struct nccl_bundle *b)
{
    enum choose_way by = choose_way(&b->c->turn);

    if (by == CHOOSE_BOTH)
        return verify_bundle(b);
    if (by == CHOOSE_NATIVE)
        return nccl_run_native(b, REASON_TURN);
    if (choose_is_guarded(b->collective))
        return b->captured ? nccl_guarded_capture(b) : nccl_guarded(b);
    return nccl_run_reroute(b, 0);
}

/* Sets of messages ---------------------------------------------------------------------------- */

/* Is there more to be gained than the asking and the rounds cost? */
static int is_worth_it(const struct plan_request *q)
{
    double direct, balanced;

    return !settings.cfg.min_bytes ||
           (nimble_predict(q, &direct, &balanced) == 0 && balanced < 0.9 * direct);
}

static enum reason choose_for_set(const struct nccl_comm *c, const struct nccl_set *set,
                                  struct plan_candidate *way)
{
    const struct choice *choice = &settings.choice[COLL_ALLTOALLV];
    struct plan_request q = schedule_set_request(set, c, NULL);
    uint64_t total = plan_total_bytes(&q);
    const struct tuning_row *row = choose_row(&q, total);

    *way = (struct plan_candidate){.algorithm = choice->forced, .ppg = 1};
    if (!nccl_set_ties_all(set, c->nranks))
        return REASON_LOOSE;
    if (gate_bytes(total))
        return REASON_SMALL;
    if (choice->forced)
        return REASON_NONE;
    if (row && !row->algorithm)
        return REASON_PROFILE;
    if (row && row->chunk_bytes && !settings.cfg.chunk_bytes)
        way->chunk_bytes = row->chunk_bytes;
    way->algorithm = row ? row->algorithm : &plan_nimble;
    return row || is_worth_it(&q) ? REASON_NONE : REASON_SIZE;
}

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
    why = choose_for_set(b->c, set, b->part->way);
    nccl_set_learn(b->c, !why);
    if (why) {
        result = nccl_run_native(b, why);
    } else {
        struct plan_request q = schedule_set_request(set, b->c, NULL);

        b->total = plan_total_bytes(&q);
        result = run_chosen(b);
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
    c->met_elsewhere |= b.elsewhere;
    if (c->cu)
        c->cu->CtxPushCurrent(c->context);
    note_captures(&b);
    /* Captures of other threads, or of this one on other streams, must stay intact. In the global
       mode, the default, cuMemAlloc or cuEventQuery in any thread would spoil them. */
    relaxed = c->cu && !b.captured && !c->cu->ThreadExchangeStreamCaptureMode(&mode);
    if (nccl_set_is_candidate(c, call, n)) {
        result = run_set_bundle(&b, &set);
        if (c->unconfirmed) /* no collective is rerouted; exchanges are agreed on one by one */
            registered_release(c);
    } else {
        result = judge(&b) ? run_chosen(&b) : nccl_run_native(&b, REASON_NONE);
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
