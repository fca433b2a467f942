/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/choose/gate.h"

#include <stdint.h>

#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/freeing.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/api/outlay.h"
#include "shim/mpi/choose/reduction_pairs.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/comm_setup.h"
#include "shim/mpi/later/pending.h"

static enum reason gate_here(enum plan_collective collective)
{
    return mpi_is_inside()                          ? REASON_NESTED
           : settings.choice[collective].variant[0] ? REASON_NONE
                                                    : gate_collective(collective);
}

enum reason mpi_gate_call(MPI_Comm comm, int nranks, enum plan_collective collective)
{
    enum reason why = gate_here(collective);
    int inter = 0;

    if (why)
        return why;
    if (nranks < 2)
        return REASON_ONE_RANK;
    if (freeing_is(comm))
        return REASON_FREED;
    if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return REASON_INTERCOMM;
    return REASON_NONE;
}

enum reason mpi_gate_rooted(MPI_Comm comm, int root, enum plan_collective collective, int *size,
                            int *rank)
{
    if (mpi_process.verdict)
        return mpi_process.verdict;
    if (comm == MPI_COMM_NULL || mpi.Comm_size(comm, size) != MPI_SUCCESS ||
        mpi.Comm_rank(comm, rank) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    enum reason why = mpi_gate_call(comm, *size, collective);
    return why ? why : root < 0 || root >= *size ? REASON_ARGUMENTS : REASON_NONE;
}

/* Is the call the library's because it is the collective's first since the ranks have met? The
   library checks its arguments as it does without collshim: ranks whose sizes disagree get its
   error, where ours would wait for each other. And the guard needs a call of the library's anyway.
 */
static int is_first(struct mpi_comm *c, enum plan_collective collective)
{
    uint32_t bit = 1u << collective;
    int first = choose_is_guarded(collective) && !c->measured.guard.spared &&
                !(c->history.first_done & bit);

    c->history.first_done |= bit;
    return first;
}

/* The ranks meet, if that is paid for (outlay.h). *why: the verdict, or why they have not. */
static struct mpi_comm *meet(MPI_Comm comm, int nranks, enum plan_collective collective,
                             uint64_t total, enum reason *why)
{
    struct mpi_comm *c = NULL;

    mpi_enter();
    int pays = outlay_pays(comm, nranks, collective, total);
    if (pays && !(c = mpi_comm_make(comm)))
        outlay_later(comm);
    mpi_leave();
    *why = c ? c->verdict : pays ? REASON_DUPLICATING : REASON_UNPAID;
    return c;
}

struct mpi_comm *mpi_gate_comm(MPI_Comm comm, int nranks, enum plan_collective collective,
                               enum gate_sizes sizes, uint64_t total, enum reason *why)
{
    struct mpi_comm *c = gate_here(collective) ? NULL : mpi_comm_find(comm);

    *why =
        c ? REASON_NONE : mpi_gate_call(comm, nranks, collective); /* it passed when it was made */
    if (!*why)
        *why = gate_bytes(total);
    if (!*why && !c)
        c = meet(comm, nranks, collective, total, why);
    else if (!*why)
        *why = c->verdict;
    if (!*why && sizes == SIZES_CLAIMED && is_first(c, collective))
        *why = REASON_FIRST;
    return *why ? NULL : c;
}

/* Nothing here asks other ranks or waits, but for a persistent call that no guard has to judge. MPI
   lets that call wait, so its ranks may meet. total: as of mpi_gate_comm. */
static struct mpi_comm *gate_started(const struct mpi_call *call, int nranks, uint64_t total,
                                     enum reason *why)
{
    struct mpi_comm *c = NULL;

    *why = gate_here(call->collective);
    if (!*why)
        *why = !settings.cfg.nonblocking ? REASON_WAITING
               : !mpi_process.progresses ? REASON_PROGRESS
                                         : gate_bytes(total);
    if (!*why && !(c = mpi_comm_find(call->comm)))
        *why = mpi_gate_call(call->comm, nranks, call->collective);
    if (!*why && !c && call->persistent && !choose_is_guarded(call->collective)) {
        mpi_enter();
        c = mpi_comm_make(call->comm);
        mpi_leave();
    }
    if (!*why)
        *why = !c                                    ? REASON_NOT_MET
               : c->ask.limited && !call->persistent ? REASON_LIMITED
                                                     : c->verdict;
    if (*why == REASON_NOT_MET && !choose_is_guarded(call->collective))
        outlay_want_meeting(call->comm);
    return *why ? NULL : c;
}

/* A nonblocking call's missing parts, except in calls that the guard judges: it has to see them
   anyway. */
static void want_pair(struct mpi_comm *c, const struct mpi_call *call)
{
    if (!call->reduction.kernel || choose_is_guarded(call->collective) || c->wants.pair)
        return;
    c->wants.reduction = call->reduction;
    c->wants.pair = 1;
    __atomic_add_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
}

/* A user who wants no measuring wants every call to be the same. */
void mpi_join_team(struct mpi_comm *c, enum plan_collective collective)
{
    if (!c->team.starting)
        return;
    pending_drain(c);
    team_join(&c->team, c->private_comm, c->topo, c->rank, !choose_is_guarded(collective));
    if (c->wants.team && !c->team.starting) {
        c->wants.team = 0;
        __atomic_sub_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
    }
}

void mpi_meet_where_wanted(const struct mpi_call *call)
{
    struct mpi_comm *c = NULL;

    if (call->nonblocking || gate_here(call->collective) ||
        (!(c = mpi_comm_find(call->comm)) && !outlay_meeting_is_wanted(call->comm)))
        return;
    mpi_enter();
    if (!c) {
        mpi_comm_make(call->comm);
    } else if (c->wants.pair) {
        c->wants.pair = 0;
        __atomic_sub_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
        reduction_pairs_agree(c, &c->wants.reduction);
    } else if (c->wants.team) {
        mpi_join_team(c, call->collective);
    }
    mpi_leave();
}

struct mpi_comm *mpi_gate_claimed(const struct mpi_call *call, int nranks, enum reason *why)
{
    return call->nonblocking ? gate_started(call, nranks, call->total, why)
                             : mpi_gate_comm(call->comm, nranks, call->collective, SIZES_CLAIMED,
                                             call->total, why);
}

struct mpi_comm *mpi_gate_agreed(const struct mpi_call *call, int nranks, enum reason *why)
{
    uint64_t known = call->total ? call->total : settings.cfg.min_bytes;
    uint64_t total = known > UINT64_MAX >> 32 ? known : known * (1 + call->passed);

    return call->nonblocking
               ? gate_started(call, nranks, total, why)
               : mpi_gate_comm(call->comm, nranks, call->collective, SIZES_AGREED, total, why);
}

enum reason mpi_gate_reduction(struct mpi_comm *c, struct mpi_call *call)
{
    /* A blocking call tries out a reduction that has no kernel of ours. */
    if (call->nonblocking && (!call->persistent || !call->reduction.kernel)) {
        enum reason known = reduction_pairs_known(c, &call->reduction);

        if (known == REASON_AGREE)
            want_pair(c, call);
        return known;
    }
    mpi_enter();
    enum reason why =
        calls_alike_asked() && !call->nonblocking ? calls_alike_in_pair(c, call) : REASON_NONE;
    if (!why)
        why = reduction_pairs_agree(c, &call->reduction);
    mpi_leave();
    return why;
}
