/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planners/collaborative/collaborative.h"
#include "planners/cost.h"
#include "shim/decide/call_site.h"
#include "shim/decide/choose.h"
#include "shim/nccl/aside.h"
#include "shim/nccl/host_path.h"
#include "shim/nccl/ppg.h"
#include "shim/nccl/sited.h"
#include "shim/nccl/stored.h"

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

static const char *name_of(const struct plan_candidate *way)
{
    return way->algorithm ? way->algorithm->name : "library";
}

enum reason nccl_part_reroute(struct nccl_comm *c, const struct nccl_call *call,
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
static ncclResult_t run_parts(struct nccl_unit *u, int way)
{
    const struct nccl_calls *nccl = &u->part[0].call->copy->real;
    ncclResult_t result = ncclSuccess, ended;
    int open = 0;

    for (int i = 0; i < 2 * u->n && !result; i++) {
        const struct nccl_part *p = &u->part[i % u->n];
        enum reason why = p->why;

        if ((p->call->kind == CALL_COLLECTIVE) != (i < u->n))
            continue;
        if (!why && open) {
            result = nccl->GroupEnd();
            open = 0;
        }
        if (!why && !result)
            why = nccl_part_reroute(u->c, p->call, nccl_part_way(p, way), u->patient, &result);
        if (!why || result)
            continue;
        if (!open && u->n > 1)
            open = (result = nccl->GroupStart()) == ncclSuccess;
        if (!result)
            result = run_native(u->c, p->call, why);
    }
    ended = open ? nccl->GroupEnd() : ncclSuccess;
    return result ? result : ended;
}

static ncclResult_t run_set(struct nccl_unit *u, int way)
{
    const struct plan_candidate *by = nccl_part_way(u->lead, way);
    struct plan_request q = schedule_set_request(u->set, u->c, by);
    const struct rounds *r = nccl_comm_rounds(u->c, &q, by->algorithm, 0, u->stream);
    ncclResult_t result;

    if (!r)
        return nccl_unit_native(u, REASON_NOT_READY);
    result = schedule_run_set(u->c, u->part[0].call, u->set, r);
    count_rerouted(COLL_ALLTOALLV, by->algorithm, 1, u->total, 0);
    return result;
}

/* That is what NCCL says of a group with several streams; likewise of one of another context. */
ncclResult_t nccl_unit_joined(struct nccl_unit *u, int way,
                              ncclResult_t (*run)(struct nccl_unit *u, int way))
{
    CUstream first = u->stream, *theirs, on = u->elsewhere ? aside_stream(u->c) : first;
    ncclResult_t result;

    if (u->elsewhere && !on)
        return ncclUnhandledCudaError;
    if (!u->several_streams && !u->elsewhere)
        return run(u, way);
    theirs = calloc((size_t)u->n, sizeof *theirs);
    if (!theirs)
        return ncclSystemError;
    u->stream = on;
    for (int i = 0; i < u->n; i++) {
        theirs[i] = (CUstream)u->part[i].call->stream;
        u->part[i].call->stream = (cudaStream_t)on;
        aside_order(u->c, theirs[i], on);
    }
    result = run(u, way);
    for (int i = 0; i < u->n; i++) {
        aside_order(u->c, on, theirs[i]);
        u->part[i].call->stream = (cudaStream_t)theirs[i];
    }
    u->stream = first;
    free(theirs);
    return result;
}

/*
 * Memory that NCCL would register by itself is a thing of each rank's own. All ranks capture the
 * same calls, so they ask each other: hosts alone, as NCCL's own meet in a capture where they
 * connect.
 */
static enum reason agree_on_capture(struct nccl_unit *u)
{
    double some = 0;

    for (int i = 0; i < u->n; i++)
        some = some > 0 || registered_in_graph(u->c, u->part[i].call);
    return nccl_comm_largest(u->c, &some, 1) < 0 ? REASON_NOT_READY
           : some > 0                            ? REASON_MAPPED
                                                 : REASON_NONE;
}

ncclResult_t nccl_unit_reroute(struct nccl_unit *u, int way)
{
    enum reason why = u->captured ? agree_on_capture(u) : REASON_NONE;

    if (why)
        return nccl_unit_native(u, why);
    return nccl_unit_joined(u, way, u->set ? run_set : run_parts);
}

ncclResult_t nccl_unit_native(struct nccl_unit *u, enum reason why)
{
    if (u->set && why != REASON_VERIFIED)
        count_native(COLL_ALLTOALLV, why);
    for (int i = 0; i < u->n; i++)
        if (!u->part[i].why)
            u->part[i].why = why;
    return run_parts(u, 0);
}

/* The guard ----------------------------------------------------------------------------------- */

/* The library, or a reroute. why: if it is the library. */
static ncclResult_t run_way(struct nccl_unit *u, int way, enum reason why)
{
    return way == GUARD_NATIVE ? nccl_unit_native(u, why) : nccl_unit_reroute(u, way - 1);
}

static int record(const struct nccl_unit *u, CUevent *e)
{
    const struct cuda_calls *cu = u->c->cu;

    return !u->elsewhere && (*e || cu->EventCreate(e, CU_EVENT_DEFAULT) == CUDA_SUCCESS) &&
           cu->EventRecord(*e, u->stream) == CUDA_SUCCESS;
}

void nccl_unit_note_asking(struct nccl_unit *u)
{
    struct set_state *s = &u->c->sets;

    s->is_asking = choose_is_guarded(COLL_ALLTOALLV) && record(u, &s->asking);
}

/* A stream that has nothing else to do waits for hosts that ask each other. */
static int begin(struct nccl_unit *u, CUevent *e, int way)
{
    struct set_state *s = &u->c->sets;
    CUevent begun = s->asking;

    if (!u->set || way == GUARD_NATIVE || !s->is_asking)
        return record(u, e);
    s->asking = *e;
    s->is_asking = 0;
    *e = begun;
    return 1;
}

/* Events around one unit of a trial. */
static ncclResult_t run_timed(struct nccl_unit *u, struct nccl_events *t, int slot, int way)
{
    int begun = begin(u, &t->begin[slot], way);
    ncclResult_t result = run_way(u, way, REASON_TRIAL);

    t->row[slot] = u->n == 1 && !u->set ? nccl_site_row(u->c, u->lead->call) : NULL;
    t->recorded[slot] = begun && record(u, &t->end[slot]);
    return result;
}

/* A verdict holds for its size class; of single calls it is a row that a tuning profile can keep.
 */
static void tell_row(const struct nccl_unit *u, const struct plan_candidate *way)
{
    const struct topo *topo = u->c->topo;
    unsigned long long least = 1ull << (63 - __builtin_clzll(u->total));
    const char *recipe = way && way->recipe ? way->recipe : "";

    say(CFG_LEVEL_INFO, "profile: %s %dx%d %llu-%llu %s%s%s%s ppg=%d",
        plan_collective_name(u->collective), topo->nnodes, cost_largest_node(topo), least,
        2 * least - 1, way && way->algorithm ? way->algorithm->name : PROFILE_NATIVE,
        *recipe ? "(" : "", recipe, *recipe ? ")" : "", way ? way->ppg : 1);
}

static void tell_verdict(const struct nccl_unit *u, const struct guard_entry *e)
{
    const struct guard_verdict *v = &e->verdict;
    const struct plan_candidate *way = &e->reroute[v->rival ? v->rival - 1 : 0];

    if (!v->rival)
        return;
    say(CFG_LEVEL_INFO,
        "guard: NCCL %s of %llu bytes on %d ranks: %s (%s, %d process%s per rank: %.3g of the "
        "library's time, +-%.2g%%, after %u calls)",
        plan_collective_name(u->collective), (unsigned long long)u->total, u->c->nranks,
        e->best ? "rerouted" : "the library's own", name_of(way), way->ppg,
        way->ppg > 1 ? "es" : "", evidence_exp(v->against.mean), 100 * v->against.spread, e->calls);
    if (u->merged == 1)
        tell_row(u, e->best ? way : NULL);
}

/* Seconds of one turn; infinite: not known yet. */
static double seconds_of(const struct nccl_comm *c, const struct nccl_events *t, int slot)
{
    float ms = 0;

    return t->recorded[slot] &&
                   c->cu->EventElapsedTime(&ms, t->begin[slot], t->end[slot]) == CUDA_SUCCESS
               ? (double)ms / 1e3
               : INFINITY;
}

static int agree_on_largest(void *context, double *value, int n)
{
    _Static_assert(GUARD_VALUES * sizeof *value <= NOTICE_BYTES, "a note has room");
    return nccl_comm_largest(context, value, n);
}

/* Classes that are measured together: calls of one kind. Calls that scale their data have a class
   of their own, since scaling costs a pass. So have groups of several calls, by their number. */
static unsigned kind_of(const struct nccl_unit *u)
{
    const struct nccl_call *call = u->lead->call;
    unsigned scales = nccl_call_scales(call, CALL_BEFORE) || nccl_call_scales(call, CALL_BEHIND);
    unsigned merged = 31u - (unsigned)__builtin_clz((unsigned)u->merged);

    return 2 * merged + scales;
}

/* All turns of a round are behind: let the guard draw its conclusions. */
static void conclude(struct nccl_unit *u, struct guard_entry *e, const struct nccl_events *events)
{
    for (int slot = 0; slot < e->turns; slot++) {
        double took = seconds_of(u->c, events, slot);

        if (events->row[slot] && took < INFINITY)
            site_add_time(events->row[slot], e->turn[slot] != GUARD_NATIVE, (uint64_t)(took * 1e9));
        guard_note(e, slot, took, 0);
    }
    if (!guard_conclude(&u->c->guard, e, agree_on_largest, u->c))
        return;
    nccl_stored_learn(u->c, e, u->collective, kind_of(u));
    if (!guard_gains(&u->c->guard))
        nccl_comm_drop_scratch(u->c);
    if (u->c->rank == 0 && guard_is_news(e))
        tell_verdict(u, e);
}

ncclResult_t nccl_unit_guarded(struct nccl_unit *u)
{
    struct guard *g = &u->c->guard;
    struct guard_entry *e = guard_find(g, u->collective, kind_of(u), u->total);
    struct plan_candidate way[PLAN_CANDIDATES];
    struct nccl_events *events;
    int slot, contender;

    if (!e)
        return nccl_unit_native(u, REASON_FULL);
    events = &u->c->events[e - g->entry];
    if (guard_due(e))
        conclude(u, e, events);
    if (guard_wants_candidates(e)) {
        for (int i = 0; i < u->nways; i++)
            way[i] = *nccl_part_way(u->lead, i);
        guard_begin(g, e, u->total, way, u->nways, 0);
        nccl_stored_recall(u->c, e, u->collective, kind_of(u));
    }
    if (guard_settled(e)) {
        if (u->set)
            nccl_set_learn(u->c, e->best != GUARD_NATIVE);
        u->patient = e->verdict.known;
        return run_way(u, e->best, REASON_SLOWER);
    }
    contender = guard_pick(g, e, u->total, &slot);
    u->patient = e->verdict.known && slot == GUARD_UNTIMED;
    if (slot != GUARD_UNTIMED)
        return run_timed(u, events, slot, contender);
    return run_way(u, contender, REASON_TRIAL);
}

ncclResult_t nccl_unit_settled(struct nccl_unit *u)
{
    const struct guard_entry *e = guard_known(&u->c->guard, u->collective, kind_of(u), u->total);

    return e ? run_way(u, e->best, REASON_SLOWER) : nccl_unit_native(u, REASON_CAPTURE);
}

void nccl_guard_forget(struct nccl_comm *c)
{
    for (int i = 0; i < GUARD_ENTRIES * GUARD_TURNS; i++) {
        struct nccl_events *t = &c->events[i / GUARD_TURNS];
        CUevent begin = t->begin[i % GUARD_TURNS], end = t->end[i % GUARD_TURNS];

        if (begin)
            c->cu->EventDestroy(begin);
        if (end)
            c->cu->EventDestroy(end);
    }
    if (c->sets.asking)
        c->cu->EventDestroy(c->sets.asking);
    c->sets.asking = NULL;
    memset(c->events, 0, sizeof c->events);
    guard_open(&c->guard, 1, count_now);
}
