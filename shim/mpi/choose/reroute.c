/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow half of an intercepted call. All values that decide are equal on all ranks: the settings
 * (agreed at MPI_Init), the communicator's state (agreed when it was made), the collective's sizes
 * (equal by MPI's own rules) and the number of calls so far. The decision is final: a later failure
 * is an error of the call, as it would be inside the library.
 */
#include "shim/mpi/choose/reroute.h"

#include <stdint.h>

#include "planners/choose/slices.h"
#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/choose/candidates.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/choose/guarded.h"
#include "shim/mpi/choose/reduction_pairs.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/mpi/later/pending.h"
#include "shim/mpi/later/persistent.h"
#include "shim/mpi/rails/rails_follow.h"
#include "shim/mpi/run/gpus_agree.h"
#include "shim/mpi/run/run.h"
#include "shim/mpi/run/slices.h"

/* Do all ranks make the call, and is there anything to carry out? REASON_NONE, or why not. */
static enum reason ask_if_alike(struct mpi_comm *c, const struct mpi_call *call)
{
    enum reason why = calls_alike_asked() ? calls_alike(c, call) : REASON_NONE;

    return !why && !call->total ? REASON_EMPTY : why;
}

/* Are helpers there, as many as the request's ppg says? Else why it runs natively. */
static enum reason find_helpers(struct mpi_comm *c, const struct mpi_call *call, int *ppg)
{
    int may_help = !c->ask.limited && slices_possible(call),
        is_cut = may_help && slices_of(&call->request, 2) > 1;

    if (is_cut || c->wants.team)
        mpi_join_team(c, call->collective);
    if (c->team.starting && is_cut)
        return REASON_STARTING;
    if (c->team.helpers)
        pending_drain(c); /* a nonblocking call's ranks may find that one is lost */
    *ppg = may_help ? c->team.ppg : 1;
    return !c->team.ppg && is_cut ? REASON_HELPERS : REASON_NONE;
}

/* The choice depends on these: rails, where buffers lie, helpers. Returns an MPI code; why: the
   call runs natively. */
static int ask_ranks(struct mpi_comm *c, struct mpi_call *call, enum reason *why)
{
    int rc = rails_learn(c, &call->request);

    if (rc == MPI_SUCCESS)
        rc = gpus_agree(c, call);
    if (rc == MPI_SUCCESS)
        *why = find_helpers(c, call, &call->request.ppg);
    return rc;
}

/* The first candidate that can serve the call. */
static struct mpi_outcome run_first(struct mpi_comm *c, const struct mpi_call *call,
                                    const struct tuning_row *row)
{
    struct plan_candidate list[GUARD_REROUTES];
    int n = mpi_find_candidates(call, row, list), rc;

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

/* The library, a candidate, or one of both as the guard decides. */
static struct mpi_outcome choose_and_run(struct mpi_comm *c, const struct mpi_call *call)
{
    const struct tuning_row *row = choose_row(&call->request, call->total);

    return row && !row->algorithm                ? run_natively(call, REASON_PROFILE)
           : choose_is_guarded(call->collective) ? mpi_guarded(c, call, row)
                                                 : run_first(c, call, row);
}

/* A call that runs later: a nonblocking or a persistent one. */
static struct mpi_outcome start(struct mpi_comm *c, struct mpi_call *call)
{
    struct mpi_candidates found = mpi_find_judged(c, call);

    return call->persistent ? persistent_run(c, call, &found) : nonblocking_run(c, call, &found);
}

struct mpi_outcome mpi_reroute(struct mpi_comm *c, const struct mpi_call *given)
{
    struct mpi_call call = *given; /* with the rest of its request */
    enum reason why =
        given->nonblocking && !given->persistent ? REASON_NONE : ask_if_alike(c, given);
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
        mpi_guarded_catch_up(c, &call);
    rc = call.nonblocking ? MPI_SUCCESS : ask_ranks(c, &call, &why);
    o = rc                 ? run_failed(rc)
        : why              ? run_natively(&call, why)
        : call.nonblocking ? start(c, &call)
                           : choose_and_run(c, &call);
    if (!o.by_library) {
        if (!call.nonblocking)
            c->history.rerouted |= 1u << call.collective;
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
    none.input.n = 0;
    none.output.n = 0;
    return mpi_reroute(c, &none);
}
