/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/guarded.h"

#include <math.h>

#include "planners/links/cost.h"
#include "shim/decide/choose/choose.h"
#include "shim/nccl/choose/sets.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/comm/stored.h"
#include "shim/record/sites/call_site.h"

static const char *name_of(const struct plan_candidate *way)
{
    return way->algorithm ? way->algorithm->name : "library";
}

/* The library, or a reroute. why: if it is the library. */
static ncclResult_t run_way(struct nccl_bundle *b, int way, enum reason why)
{
    return way == GUARD_NATIVE ? nccl_run_native(b, why) : nccl_run_reroute(b, way - 1);
}

static int record(const struct nccl_bundle *b, CUevent *e)
{
    const struct cuda_calls *cu = b->c->cu;

    return !b->elsewhere && (*e || cu->EventCreate(e, CU_EVENT_DEFAULT) == CUDA_SUCCESS) &&
           cu->EventRecord(*e, b->stream) == CUDA_SUCCESS;
}

void nccl_guarded_note_asking(struct nccl_bundle *b)
{
    struct set_state *s = &b->c->sets;

    s->is_asking = choose_is_guarded(COLL_ALLTOALLV) && record(b, &s->asking);
}

/* A stream that has nothing else to do waits for hosts that ask each other. */
static int begin(struct nccl_bundle *b, CUevent *e, int way)
{
    struct set_state *s = &b->c->sets;
    CUevent begun = s->asking;

    if (!b->set || way == GUARD_NATIVE || !s->is_asking)
        return record(b, e);
    s->asking = *e;
    s->is_asking = 0;
    *e = begun;
    return 1;
}

/* Events around one bundle of a trial. */
static ncclResult_t run_timed(struct nccl_bundle *b, struct nccl_events *t, int slot, int way)
{
    int begun = begin(b, &t->begin[slot], way);
    ncclResult_t result = run_way(b, way, REASON_TRIAL);

    t->row[slot] = b->n == 1 && !b->set ? nccl_site_row(b->c, b->lead->call) : NULL;
    t->recorded[slot] = begun && record(b, &t->end[slot]);
    return result;
}

/* A verdict holds for its size class; of single calls it is a row that a tuning profile can keep.
 */
static void say_row(const struct nccl_bundle *b, const struct plan_candidate *way)
{
    const struct topo *topo = b->c->topo;
    unsigned long long least = 1ull << (63 - __builtin_clzll(b->total));
    const char *recipe = way && way->recipe ? way->recipe : "";

    say(CFG_LEVEL_INFO, "profile: %s %dx%d %llu-%llu %s%s%s%s ppg=%d",
        plan_collective_name(b->collective), topo->nnodes, cost_largest_node(topo), least,
        2 * least - 1, way && way->algorithm ? way->algorithm->name : PROFILE_NATIVE,
        *recipe ? "(" : "", recipe, *recipe ? ")" : "", way ? way->ppg : 1);
}

static void say_verdict(const struct nccl_bundle *b, const struct guard_entry *e)
{
    const struct guard_verdict *v = &e->verdict;
    const struct plan_candidate *way = &e->reroute[v->rival ? v->rival - 1 : 0];

    if (!v->rival)
        return;
    say(CFG_LEVEL_INFO,
        "guard: NCCL %s of %llu bytes on %d ranks: %s (%s, %d process%s per rank: %.3g of the "
        "library's time, +-%.2g%%, after %u calls)",
        plan_collective_name(b->collective), (unsigned long long)b->total, b->c->nranks,
        e->best ? "rerouted" : "the library's own", name_of(way), way->ppg,
        way->ppg > 1 ? "es" : "", evidence_exp(v->against.mean), 100 * v->against.spread, e->calls);
    if (b->merged == 1)
        say_row(b, e->best ? way : NULL);
}

static void say_recalled(const struct nccl_bundle *b, const struct guard_entry *e)
{
    const struct plan_candidate *way = guard_way(e, e->best);

    say(CFG_LEVEL_INFO, "guard: NCCL %s of %llu bytes on %d ranks: %s, as was found before",
        plan_collective_name(b->collective), (unsigned long long)b->total, b->c->nranks,
        way ? name_of(way) : "the library");
}

/* Seconds of one slot; infinite: not known yet. */
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
static unsigned kind_of(const struct nccl_bundle *b)
{
    const struct nccl_call *call = b->lead->call;
    unsigned scales = nccl_call_scales(call, CALL_BEFORE) || nccl_call_scales(call, CALL_BEHIND);
    unsigned merged = 31u - (unsigned)__builtin_clz((unsigned)b->merged);

    return 2 * merged + scales;
}

/* All slots of a round are behind: let the guard draw its conclusions. */
static void conclude(struct nccl_bundle *b, struct guard_entry *e, const struct nccl_events *events)
{
    for (int slot = 0; slot < e->slots.n; slot++) {
        double took = seconds_of(b->c, events, slot);

        if (events->row[slot] && took < INFINITY)
            site_add_time(events->row[slot], e->slots.contender[slot] != GUARD_NATIVE,
                          (uint64_t)(took * 1e9));
        guard_note(e, slot, took);
    }
    if (!guard_conclude(&b->c->measured.guard, e, agree_on_largest, b->c))
        return;
    nccl_stored_learn(b->c, e, b->collective, kind_of(b));
    if (!guard_gains(&b->c->measured.guard))
        nccl_comm_drop_scratch(b->c);
    if (b->c->rank == 0 && guard_is_news(e))
        say_verdict(b, e);
}

ncclResult_t nccl_guarded(struct nccl_bundle *b)
{
    struct guard *g = &b->c->measured.guard;
    struct guard_entry *e = guard_find(g, b->collective, kind_of(b), b->total);
    struct plan_candidate way[PLAN_CANDIDATES];
    struct nccl_events *events;
    int slot, contender;

    if (!e)
        return nccl_run_native(b, REASON_FULL);
    events = &b->c->measured.events[e - g->entry];
    if (guard_due(e))
        conclude(b, e, events);
    if (guard_wants_candidates(e)) {
        for (int i = 0; i < b->nways; i++)
            way[i] = *nccl_part_way(b->lead, i);
        guard_begin(g, e, b->total, way, b->nways);
        if (nccl_stored_recall(b->c, e, b->collective, kind_of(b)) && b->c->rank == 0)
            say_recalled(b, e);
    }
    if (guard_settled(e)) {
        if (b->set)
            nccl_set_learn(b->c, e->best != GUARD_NATIVE);
        b->patient = e->verdict.known;
        return run_way(b, e->best, REASON_SLOWER);
    }
    contender = guard_pick(g, e, b->total, &slot);
    b->patient = e->verdict.known && slot == GUARD_UNTIMED;
    if (slot != GUARD_UNTIMED)
        return run_timed(b, events, slot, contender);
    return run_way(b, contender, REASON_TRIAL);
}

ncclResult_t nccl_guarded_capture(struct nccl_bundle *b)
{
    const struct guard_entry *e =
        guard_known(&b->c->measured.guard, b->collective, kind_of(b), b->total);

    return e ? run_way(b, e->best, REASON_SLOWER) : nccl_run_native(b, REASON_CAPTURE);
}
