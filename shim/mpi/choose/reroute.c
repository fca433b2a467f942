/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow half of an intercepted call. All values that decide are equal on all ranks: the settings
 * (agreed at MPI_Init), the communicator's state (agreed when it was made), the collective's sizes
 * (equal by MPI's own rules) and the number of calls so far. The decision is final: a later failure
 * is an error of the call, as it would be inside the library.
 */
#include "shim/mpi/choose/reroute.h"

#include <stdint.h>

#include "planners/nimble/nimble.h"
#include "planners/slices.h"
#include "shim/decide/choose.h"
#include "shim/decide/count.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/run/gpus_agree.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/mpi/choose/reduction_pairs.h"
#include "shim/mpi/later/pending.h"
#include "shim/mpi/later/persistent.h"
#include "shim/mpi/rails/rails_follow.h"
#include "shim/mpi/run/run.h"
#include "shim/mpi/run/slices.h"
#include "shim/mpi/comm/stored.h"
#include "shim/mpi/run/variants.h"

enum { MOST_SKEW = 7 }; /* of exchanges that the guard tells apart */

/* The library's own algorithm that COLLSHIM_ALGORITHM or the profile names. */
static int find_variant(enum plan_collective c, struct plan_candidate *list)
{
    const struct plan_variant *v = variants_named(c);

    if (v)
        *list = (struct plan_candidate){.algorithm = &v->row, .ppg = 1};
    return v != NULL;
}

/* The classes that the guard measures apart: exchanges by their skew, others by the place of the
   buffers. */
static unsigned kind_of(const struct mpi_comm *c, const struct mpi_call *call)
{
    const uint64_t *demand = call->request.demand;
    unsigned skew = demand ? nimble_skew(demand, c->size) : 0;

    return !demand ? call->request.memory : skew < MOST_SKEW ? skew : MOST_SKEW;
}

/* Has the program's error handler run? It may have freed the communicator. */
static int left_alone(const struct mpi_outcome *o)
{
    return o->by_library && o->rc != MPI_SUCCESS;
}

/* The named algorithm, or else the model's choice. */
static int find_candidates(const struct mpi_call *call, const struct tuning_row *row,
                           struct plan_candidate *list)
{
    struct plan_request q = call->request;
    size_t chunk = settings.cfg.chunk_bytes ? plan_chunk(&q, settings.cfg.chunk_bytes) : 0;

    if (settings.choice[call->collective].variant[0])
        return find_variant(call->collective, list);

    q.chunk_bytes = chunk;
    if (!choose_named(&q, row, list))
        return settings.cfg.min_bytes ? plan_candidates(&q, list, PLAN_CANDIDATES)
                                      : plan_candidates_all(&q, list, PLAN_CANDIDATES);
    size_t chunks[PLAN_CHUNKS] = {chunk ? chunk : list[0].chunk_bytes};
    if (!chunks[0])
        plan_chunks(&q, chunks);
    list[0].chunk_bytes = chunks[0];
    return 1;
}

/* The first candidate that can serve the call. */
static struct mpi_outcome run_first(struct mpi_comm *c, const struct mpi_call *call,
                                    const struct tuning_row *row)
{
    struct plan_candidate list[GUARD_REROUTES];
    int n = find_candidates(call, row, list), rc;

    if (n)
        pending_drain(c);
    enum reason why = n ? REASON_SHAPE
                      : settings.choice[call->collective].variant[0]
                          ? REASON_VARIANT
                          : choose_why_nothing(&call->request);

    for (int i = 0; i < n; i++) {
        struct ready ready;

        why = run_prepare_all(c, call, &list[i], &ready, &rc);
        if (!why)
            return run_in_mode(c, &ready, rc);
    }
    return run_natively(call, why);
}

static int agree_on_largest(void *context, double *value, int n)
{
    const struct mpi_comm *c = context;

    return mpi.Allreduce(MPI_IN_PLACE, value, n, MPI_DOUBLE, MPI_MAX, c->private_comm) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

static void tell_verdict(const struct mpi_comm *c, const struct guard_entry *e,
                         enum plan_collective collective, unsigned long long total)
{
    const struct guard_verdict *v = &e->verdict;
    const struct plan_candidate *r = &e->reroute[v->rival ? v->rival - 1 : 0];
    const char *name = plan_collective_name(collective);
    double ratio = evidence_exp(v->against.mean), percent = 100 * v->against.spread;

    if (!v->rival)
        say(CFG_LEVEL_INFO, "guard: %s of %llu bytes on %d ranks: the library serves", name, total,
            c->size);
    else if (v->contender == GUARD_NATIVE)
        say(CFG_LEVEL_INFO,
            "guard: %s of %llu bytes on %d ranks: the library is at least as fast (%s takes %.3g "
            "of its time, +-%.2g%%)",
            name, total, c->size, r->algorithm->name, ratio, percent);
    else
        say(CFG_LEVEL_INFO,
            "guard: %s of %llu bytes on %d ranks: rerouted by %s in chunks of %zu bytes, %d "
            "process%s per rank, %.3g of the library's time, +-%.2g%%",
            name, total, c->size, r->algorithm->name, r->chunk_bytes, r->ppg > 1 ? r->ppg : 1,
            r->ppg > 1 ? "es" : "", ratio, percent);
}

static void tell_recalled(const struct mpi_comm *c, const struct guard_entry *e,
                          const struct mpi_call *call)
{
    const struct plan_candidate *way = guard_way(e, e->best);

    say(CFG_LEVEL_INFO, "guard: %s of %llu bytes on %d ranks: %s, as was found before",
        plan_collective_name(call->collective), (unsigned long long)call->total, c->size,
        way ? way->algorithm->name : "the library");
}

/*
 * If a round of the guard is over, let it draw its conclusions. They take a message. So they come
 * at once behind a call of ours, and before the communicator's next call behind one of the
 * library's: the program's error handler may hold a rank there.
 */
static void conclude(struct mpi_comm *c)
{
    struct mpi_due due = c->due;
    struct guard_entry *e = due.entry;

    c->due.entry = NULL;
    if (!e || !guard_due(e) || !guard_conclude(&c->guard, e, agree_on_largest, c))
        return;
    if (c->rank == 0)
        count_verdict(due.collective, due.total, &e->verdict, &e->before);
    stored_learn(c, e, due.collective, due.kind);
    if (guard_is_news(e))
        tell_verdict(c, e, due.collective, due.total);
}

/* One of the contenders. slot: as of guard_pick. why: the reason, if it is the library. */
static struct mpi_outcome run_contender(struct mpi_comm *c, struct guard_entry *e,
                                        const struct mpi_call *call, int contender, int slot,
                                        enum reason why)
{
    struct ready ready;
    struct mpi_outcome o;
    int timed = slot != GUARD_UNTIMED, rc = 0;

    if (timed || contender != GUARD_NATIVE)
        pending_drain(c); /* not in its time */
    if (contender != GUARD_NATIVE)
        why = run_prepare_all(c, call, &e->reroute[contender - 1], &ready, &rc);
    double start = !timed                                         ? 0
                   : contender != GUARD_NATIVE && call->begun > 0 ? call->begun
                                                                  : count_now();

    if (timed) {
        c->due = (struct mpi_due){e, call->collective, kind_of(c, call), call->total};
        if (why && contender != GUARD_NATIVE)
            guard_cannot(e, slot, why);
    }
    o = why ? run_natively(call, why) : run_in_mode(c, &ready, rc);
    if (!timed || left_alone(&o))
        return o;
    if (!why || contender == GUARD_NATIVE)
        guard_note(e, slot, count_now() - start);
    if (!o.by_library)
        conclude(c);
    return o;
}

/* Let the guard pick between the library and the candidates. */
static struct mpi_outcome run_guarded(struct mpi_comm *c, struct guard_entry *e,
                                      const struct mpi_call *call, const struct tuning_row *row)
{
    int slot;

    nonblocking_looked_at[call->collective] = 1;
    if (guard_wants_candidates(e)) {
        struct plan_candidate list[GUARD_REROUTES];
        int n = find_candidates(call, row, list);

        guard_begin(&c->guard, e, call->total, list, n);
        e->why = n ? REASON_NONE : choose_why_nothing(&call->request);
        if (!n)
            return run_natively(call, e->why);
        if (stored_recall(c, e, call->collective, kind_of(c, call)) && c->rank == 0)
            tell_recalled(c, e, call);
    }
    if (guard_settled(e))
        return run_contender(c, e, call, e->best, GUARD_UNTIMED, REASON_SLOWER);
    int contender = guard_pick(&c->guard, e, call->total, &slot);
    return run_contender(c, e, call, contender, slot, REASON_TRIAL);
}

/* Are helpers there, as many as the request's ppg says? Else why it runs natively. */
static enum reason find_helpers(struct mpi_comm *c, const struct mpi_call *call, int *ppg)
{
    int may_help = slices_possible(call), is_cut = may_help && slices_of(&call->request, 2) > 1;

    if (is_cut || c->wants_team)
        mpi_join_team(c, call->collective);
    if (c->team.starting && is_cut)
        return REASON_STARTING;
    if (c->team.helpers)
        pending_drain(c); /* a nonblocking call's ranks may find that one is lost */
    *ppg = may_help ? c->team.ppg : 1;
    return !c->team.ppg && is_cut ? REASON_HELPERS : REASON_NONE;
}

static struct mpi_outcome choose_and_run(struct mpi_comm *c, const struct mpi_call *call)
{
    const struct tuning_row *row = choose_row(&call->request, call->total);

    if (row && !row->algorithm)
        return run_natively(call, REASON_PROFILE);
    if (!choose_is_guarded(call->collective))
        return run_first(c, call, row);
    struct guard_entry *e = guard_find(&c->guard, call->collective, kind_of(c, call), call->total);
    if (!e)
        return run_natively(call, REASON_FULL);
    if (e->best == GUARD_NATIVE && guard_settled(e))
        return run_natively(call, e->why ? e->why : REASON_SLOWER);
    return run_guarded(c, e, call, row);
}

/* Is there anything that all ranks are to carry out together? REASON_NONE, or why not. */
static enum reason compare(struct mpi_comm *c, const struct mpi_call *call)
{
    enum reason why = calls_alike_asked() ? calls_alike(c, call) : REASON_NONE;

    return !why && !call->total ? REASON_EMPTY : why;
}

/* Questions of our rows before one of them is chosen. Returns an MPI code; why: the call runs
   natively. */
static int get_known(struct mpi_comm *c, struct mpi_call *call, enum reason *why)
{
    int rc = rails_learn(c, &call->request);

    if (rc == MPI_SUCCESS)
        rc = gpus_agree(c, call);
    if (rc == MPI_SUCCESS)
        *why = find_helpers(c, call, &call->request.ppg);
    return rc;
}

/*
 * Candidates for a call that can neither measure nor ask: what is forced, what the guard judged
 * best in blocking calls like it, else the tuning profile's row. REASON_NONE, or why there are
 * none.
 */
static enum reason find_judged(struct mpi_comm *c, const struct mpi_call *call,
                               struct plan_candidate list[GUARD_REROUTES], int *n)
{
    const struct tuning_row *row = choose_row(&call->request, call->total);
    const struct guard_entry *e = NULL;

    if (row && !row->algorithm)
        return REASON_PROFILE;
    if (choose_is_guarded(call->collective))
        e = guard_known(&c->guard, call->collective, kind_of(c, call), call->total);
    if (e && e->best == GUARD_NATIVE)
        return e->why ? (enum reason)e->why : REASON_SLOWER;
    if (e)
        list[(*n)++] = e->reroute[e->best - 1];
    else if (row || !choose_is_guarded(call->collective))
        *n = find_candidates(call, row, list);
    else
        return REASON_UNJUDGED;
    return *n ? REASON_NONE : choose_why_nothing(&call->request);
}

/* A call that runs later: a nonblocking or a persistent one. */
static struct mpi_outcome start(struct mpi_comm *c, struct mpi_call *call)
{
    struct mpi_candidates found;

    found.n = 0;
    found.why = call->total ? find_judged(c, call, found.list, &found.n) : REASON_EMPTY;
    return call->persistent ? persistent_run(c, call, &found) : nonblocking_run(c, call, &found);
}

/* What the call before has left to do. It is not in this call's time. */
static void catch_up(struct mpi_comm *c, struct mpi_call *call)
{
    if (!c->due.entry)
        return;
    double began = count_now();

    conclude(c);
    if (call->begun > 0)
        call->begun += count_now() - began;
}

struct mpi_outcome mpi_reroute(struct mpi_comm *c, const struct mpi_call *given)
{
    struct mpi_call call = *given; /* with the rest of its request */
    enum reason why = given->nonblocking && !given->persistent ? REASON_NONE : compare(c, given);
    struct mpi_outcome o;
    int rc;

    if (why) {
        mpi_call_drop(given);
        return run_natively(given, why);
    }
    call.request.topo = c->topo;
    call.request.rank = c->rank;
    call.request.host_threads = settings.cfg.test_host_threads;
    mpi_enter();
    if (!call.nonblocking)
        catch_up(c, &call);
    rc = call.nonblocking ? MPI_SUCCESS : get_known(c, &call, &why);
    o = rc                 ? run_failed(rc)
        : why              ? run_natively(&call, why)
        : call.nonblocking ? start(c, &call)
                           : choose_and_run(c, &call);
    if (!o.by_library) {
        if (!call.nonblocking)
            c->rerouted |= 1u << call.collective;
        rails_follow(c, call.comm);
        if (call.decided)
            call.decided(&call, o.native);
    }
    mpi_leave();
    /* Last: the application's handler may call MPI, on ranks that are not in here, too. */
    if (o.unhandled != MPI_SUCCESS)
        mpi.Comm_call_errhandler(call.comm, o.unhandled);
    return o;
}

struct mpi_outcome mpi_reroute_wrong(struct mpi_comm *c, const struct mpi_call *call, int wrong)
{
    struct mpi_call none = *call;

    none.wrong = wrong;
    none.ninputs = 0;
    none.nblocks = 0;
    return mpi_reroute(c, &none);
}
