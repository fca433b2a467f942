/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/unit.h"

#include <stdlib.h>

#include "shim/nccl/ppg.h"

static ncclResult_t run_native(const struct comm *c, const struct call *call, enum reason why)
{
    /* aborted while its ranks were waited for: the library may have freed it */
    if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE))
        return ncclInvalidArgument;
    if (call->kind == CALL_COLLECTIVE && why != REASON_VERIFIED)
        count_native(call->collective, why);
    return call->native(call);
}

const char *unit_algorithm(const struct plan_candidate *candidate)
{
    return candidate->algorithm ? candidate->algorithm->name : "library";
}

static ncclResult_t run_sliced(struct comm *c, const struct part *p)
{
    enum reason why;
    ncclResult_t result = ppg_run(c, p->call, &p->candidate, &why);

    if (why)
        count_native(p->call->collective, why);
    else
        count_rerouted(p->call->collective, unit_algorithm(&p->candidate),
                       call_block_bytes(p->call));
    return result;
}

/* Returns REASON_NONE and *result if it ran. */
static enum reason run_rerouted(struct comm *c, const struct part *p, ncclResult_t *result)
{
    if (ppg_slices(c, p->call) > 1) {
        *result = run_sliced(c, p);
        return REASON_NONE;
    }
    if (!p->candidate.algorithm) /* the helpers have gone meanwhile */
        return REASON_SIZE;
    struct plan_request q = schedule_request(p->call, c);
    const struct rounds *r;

    q.recipe = p->candidate.recipe;
    q.chunk_bytes = p->candidate.chunk_bytes;
    r = comm_rounds(c, &q, p->candidate.algorithm);
    if (!r)
        return REASON_NOT_READY;
    *result = schedule_run(c, p->call, r, &q);
    count_rerouted(p->call->collective, p->candidate.algorithm->name, plan_total_bytes(&q));
    return REASON_NONE;
}

/*
 * The collectives in their order, what is native between two reroutes as a group; behind them the
 * messages, as in NCCL's own groups.
 */
static ncclResult_t run_parts(struct unit *u)
{
    const struct nccl_calls *nccl = &u->part[0].call->copy->real;
    ncclResult_t result = ncclSuccess, ended;
    int open = 0;

    for (int i = 0; i < 2 * u->n && !result; i++) {
        const struct part *p = &u->part[i % u->n];
        enum reason why = p->why;

        if ((p->call->kind == CALL_COLLECTIVE) != (i < u->n))
            continue;
        if (!why && open) {
            result = nccl->GroupEnd();
            open = 0;
        }
        if (!why && !result)
            why = run_rerouted(u->c, p, &result);
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

static ncclResult_t run_set(struct unit *u)
{
    struct plan_request q = schedule_set_request(u->set, u->c);
    const struct rounds *r;
    ncclResult_t result;

    q.recipe = u->set_candidate.recipe;
    q.chunk_bytes = u->set_candidate.chunk_bytes;
    r = comm_rounds(u->c, &q, u->set_candidate.algorithm);
    if (!r)
        return unit_native(u, REASON_NOT_READY);
    result = schedule_run_set(u->c, u->part[0].call, u->set, r);
    count_rerouted(COLL_ALLTOALLV, u->set_candidate.algorithm->name, u->total);
    return result;
}

/* Let one stream wait for what is on the other. */
static void order(const struct cuda_calls *cu, CUstream first, CUstream then)
{
    CUevent e;

    if (first == then || cu->EventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return;
    if (cu->EventRecord(e, first) == CUDA_SUCCESS)
        cu->StreamWaitEvent(then, e, 0);
    cu->EventDestroy(e);
}

/* That is what NCCL says of a group with several streams. */
ncclResult_t unit_joined(struct unit *u, ncclResult_t (*run)(struct unit *u))
{
    CUstream *other = u->several_streams ? calloc((size_t)u->n, sizeof *other) : NULL;
    ncclResult_t result;

    if (u->several_streams && !other)
        return ncclSystemError;
    for (int i = 0; other && i < u->n; i++) {
        other[i] = (CUstream)u->part[i].call->stream;
        u->part[i].call->stream = (cudaStream_t)u->stream;
        order(u->c->cu, other[i], u->stream);
    }
    result = run(u);
    for (int i = 0; other && i < u->n; i++)
        order(u->c->cu, u->stream, other[i]);
    free(other);
    return result;
}

ncclResult_t unit_reroute(struct unit *u)
{
    return unit_joined(u, u->set ? run_set : run_parts);
}

ncclResult_t unit_native(struct unit *u, enum reason why)
{
    if (u->set && why != REASON_VERIFIED)
        count_native(COLL_ALLTOALLV, why);
    for (int i = 0; i < u->n; i++)
        if (!u->part[i].why)
            u->part[i].why = why;
    return run_parts(u);
}

/* The guard ----------------------------------------------------------------------------------- */

/* Events around one unit of a trial. */
static ncclResult_t run_timed(struct unit *u, struct trial *t, int sample, enum trial_turn way)
{
    const struct cuda_calls *cu = u->c->cu;
    CUevent *begin = &t->begin[way][sample], *end = &t->end[way][sample];
    ncclResult_t result;

    if (!*begin)
        cu->EventCreate(begin, CU_EVENT_DEFAULT);
    if (!*end)
        cu->EventCreate(end, CU_EVENT_DEFAULT);
    if (*begin)
        cu->EventRecord(*begin, u->stream);
    result = way == TRIAL_REROUTED ? unit_reroute(u) : unit_native(u, REASON_TRIAL);
    if (*end)
        cu->EventRecord(*end, u->stream);
    return result;
}

static void compare(const struct unit *u, struct trial *t)
{
    double seconds[2];

    trial_best(t, u->c->cu, seconds);
    if (comm_largest(u->c, seconds, 2) < 0)
        seconds[TRIAL_REROUTED] = seconds[TRIAL_NATIVE]; /* on all ranks */
    if (trial_settle(t, seconds) && u->c->rank == 0)
        say(CFG_LEVEL_INFO,
            "guard: NCCL %s of %llu bytes on %d ranks: %s, %.3g of the library's time",
            plan_collective_name(u->collective), (unsigned long long)u->total, u->c->nranks,
            t->best ? u->algorithm : "the library's own",
            seconds[TRIAL_REROUTED] / seconds[TRIAL_NATIVE]);
}

/* What is measured together: calls of one kind; groups of several apart from single calls, by how
 * many there are. */
static unsigned kind_of(const struct unit *u)
{
    return (unsigned)u->collective +
           (unsigned)COLL_COUNT * (31u - (unsigned)__builtin_clz((unsigned)u->merged));
}

ncclResult_t unit_guarded(struct unit *u)
{
    struct trial *t = trial_find(&u->c->trials, kind_of(u), u->total);
    enum trial_turn turn;
    int sample, wants_compare;

    if (!t)
        return unit_native(u, REASON_SLOWER);
    turn = trial_pick(t, &sample, &wants_compare);
    if (wants_compare) {
        compare(u, t);
        turn = t->settled ? (enum trial_turn)t->best : TRIAL_NATIVE;
    }
    if (u->set && t->settled)
        set_learn(u->c, t->best == TRIAL_REROUTED);
    if (sample >= 0)
        return run_timed(u, t, sample, turn);
    return turn == TRIAL_REROUTED ? unit_reroute(u)
                                  : unit_native(u, t->settled ? REASON_SLOWER : REASON_TRIAL);
}

ncclResult_t unit_settled(struct unit *u)
{
    const struct trial *t = trial_known(&u->c->trials, kind_of(u), u->total);

    if (!t || !t->ended)
        return unit_native(u, REASON_CAPTURE);
    return t->best == TRIAL_REROUTED ? unit_reroute(u) : unit_native(u, REASON_SLOWER);
}
