/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/choose/candidates.h"

#include "planners/algorithms/nimble/nimble.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/run/variants.h"

enum { MOST_SKEW = 7 }; /* of exchanges that the guard tells apart */

unsigned mpi_guard_kind(const struct mpi_comm *c, const struct mpi_call *call)
{
    const uint64_t *demand = call->request.demand;
    unsigned skew = demand ? nimble_skew(demand, c->size) : 0;

    return !demand ? call->request.memory : skew < MOST_SKEW ? skew : MOST_SKEW;
}

/* The library's own algorithm that COLLSHIM_ALGORITHM or the profile names. */
static int find_variant(enum plan_collective c, struct plan_candidate *list)
{
    const struct plan_variant *v = variants_named(c);

    if (v)
        *list = (struct plan_candidate){.algorithm = &v->row, .ppg = 1};
    return v != NULL;
}

int mpi_find_candidates(const struct mpi_call *call, const struct tuning_row *row,
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

/* REASON_NONE, or why there are none. */
static enum reason find_judged(struct mpi_comm *c, const struct mpi_call *call,
                               struct mpi_candidates *found)
{
    const struct tuning_row *row = choose_row(&call->request, call->total);
    const struct guard_entry *e = NULL;

    if (!call->total)
        return REASON_EMPTY;
    if (row && !row->algorithm)
        return REASON_PROFILE;
    if (choose_is_guarded(call->collective))
        e = guard_known(&c->measured.guard, call->collective, mpi_guard_kind(c, call), call->total);
    if (e && e->best == GUARD_NATIVE)
        return e->why ? (enum reason)e->why : REASON_SLOWER;
    if (e)
        found->list[found->n++] = e->reroute[e->best - 1];
    else if (row || !choose_is_guarded(call->collective))
        found->n = mpi_find_candidates(call, row, found->list);
    else
        return REASON_UNJUDGED;
    return found->n ? REASON_NONE : choose_why_nothing(&call->request);
}

struct mpi_candidates mpi_find_judged(struct mpi_comm *c, const struct mpi_call *call)
{
    struct mpi_candidates found;

    found.n = 0;
    found.why = find_judged(c, call, &found);
    return found;
}
