/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/choose/guarded.h"

#include <string.h>

#include "planners/choose/simulated.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/choose/candidates.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/stored.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/mpi/later/pending.h"
#include "shim/record/counts/count.h"

/* Has the program's error handler run? It may have freed the communicator. */
static int left_alone(const struct mpi_outcome *o)
{
    return o->by_library && o->rc != MPI_SUCCESS;
}

static int agree_on_largest(void *context, double *value, int n)
{
    const struct mpi_comm *c = context;

    return mpi.Allreduce(MPI_IN_PLACE, value, n, MPI_DOUBLE, MPI_MAX, c->private_comm) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

static void say_verdict(const struct mpi_comm *c, const struct guard_entry *e,
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

static void say_recalled(const struct mpi_comm *c, const struct guard_entry *e,
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
    struct mpi_due due = c->measured.due;
    struct guard_entry *e = due.entry;

    c->measured.due.entry = NULL;
    if (!e || !guard_due(e) || !guard_conclude(&c->measured.guard, e, agree_on_largest, c))
        return;
    if (c->rank == 0)
        count_verdict(due.collective, due.total, &e->verdict, &e->before);
    stored_learn(c, e, due.collective, due.kind);
    if (guard_is_news(e))
        say_verdict(c, e, due.collective, due.total);
}

/* One of the contenders. slot: as of guard_pick. why: the reason, if it is the library. */
static struct mpi_outcome run_contender(struct mpi_comm *c, struct guard_entry *e,
                                        const struct mpi_call *call, int contender, int slot,
                                        enum reason why)
{
    struct ready ready = {.asking = 0};
    struct mpi_outcome o;
    int timed = slot != GUARD_UNTIMED, rc = 0;

    if (timed || contender != GUARD_NATIVE)
        pending_drain(c); /* not in its time */
    if (contender != GUARD_NATIVE)
        why = run_prepare_all(c, call, &e->reroute[contender - 1], &ready, &rc);
    double start = !timed                                         ? 0
                   : contender != GUARD_NATIVE && call->begun > 0 ? call->begun
                                                                  : count_now() - ready.asking;

    if (timed) {
        c->measured.due =
            (struct mpi_due){e, call->collective, mpi_guard_kind(c, call), call->total};
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

/* The model looks on rank 0 for a better way than costs do, and the guard gets it as one more
   contender. Where the call's time runs already, it begins later by so much: `later` is that call.
 */
static const struct mpi_call *offer_simulated(struct mpi_comm *c, struct guard_entry *e,
                                              const struct mpi_call *call, struct mpi_call *later)
{
    struct plan_candidate list[GUARD_REROUTES];
    double found[SIMULATED] = {0}, began = count_now();
    int n = e->n - 1;

    memcpy(list, e->reroute, sizeof list);
    if (!simulated_is_worth_it(&call->request, list, n))
        return call;
    if (c->rank == 0)
        simulated_find(&call->request, list, found);
    if (!agree_on_largest(c, found, SIMULATED) &&
        simulated_prefer(found, list, n, GUARD_REROUTES) > n) {
        guard_offer(e, &list[0]);
        if (c->rank == 0)
            say(CFG_LEVEL_INFO,
                "guard: %s of %llu bytes on %d ranks: %s may be faster by the model, and is tried",
                plan_collective_name(call->collective), (unsigned long long)call->total, c->size,
                list[0].algorithm->name);
    }
    if (call->begun <= 0)
        return call;
    *later = *call;
    later->begun += count_now() - began;
    return later;
}

/* Let the guard pick between the library and the candidates. */
static struct mpi_outcome pick_and_run(struct mpi_comm *c, struct guard_entry *e,
                                       const struct mpi_call *call, const struct tuning_row *row)
{
    struct mpi_call later;
    int slot;

    nonblocking_looked_at[call->collective] = 1;
    if (guard_wants_candidates(e)) {
        struct plan_candidate list[GUARD_REROUTES];
        int n = mpi_find_candidates(call, row, list);

        guard_begin(&c->measured.guard, e, call->total, list, n);
        e->why = n ? REASON_NONE : choose_why_nothing(&call->request);
        if (!n)
            return run_natively(call, e->why);
        if (stored_recall(c, e, call->collective, mpi_guard_kind(c, call)) && c->rank == 0)
            say_recalled(c, e, call);
    }
    if (guard_settled(e))
        return run_contender(c, e, call, e->best, GUARD_UNTIMED, REASON_SLOWER);
    if (!row && guard_affords(e, simulated_cost(&call->request, &e->reroute[0])))
        call = offer_simulated(c, e, call, &later);
    int contender = guard_pick(&c->measured.guard, e, call->total, &slot);
    return run_contender(c, e, call, contender, slot, REASON_TRIAL);
}

struct mpi_outcome mpi_guarded(struct mpi_comm *c, const struct mpi_call *call,
                               const struct tuning_row *row)
{
    unsigned kind = mpi_guard_kind(c, call);
    struct guard_entry *e = guard_find(&c->measured.guard, call->collective, kind, call->total);

    if (!e)
        return run_natively(call, REASON_FULL);
    if (e->best == GUARD_NATIVE && guard_settled(e))
        return run_natively(call, e->why ? e->why : REASON_SLOWER);
    return pick_and_run(c, e, call, row);
}

void mpi_guarded_catch_up(struct mpi_comm *c, struct mpi_call *call)
{
    if (!c->measured.due.entry)
        return;
    double began = count_now();

    conclude(c);
    if (call->begun > 0)
        call->begun += count_now() - began;
}
