/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rejected: the library's own nonblocking call for sizes that turn out small. It would be started
 * inside the library's progress engine, with types that the application may have freed by then.
 * Rejected: MPI_Iallgather for the sizes: for the same reason, where calls are pending already.
 * Rejected: the guard's verdict once the sizes are known. Ranks are there at different times, and
 * blocking calls change it.
 */
#include "shim/mpi/later/late_sizes.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/linear.h"
#include "planners/algorithms/nimble/nimble.h"
#include "shim/decide/base/floats.h"
#include "shim/decide/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/record/counts/count.h"

struct late_sizes {
    struct plan_candidate judged; /* algorithm NULL: as COLLSHIM_ALGORITHM or the profile says */
    MPI_Datatype type[2];         /* owned */
    int ntypes;
    struct plan_request telling;
    const struct plan *plan;
    struct engine *engine;
    struct mpi_plan *held;
    uint64_t *told; /* borrowed */
    char *scratch;  /* owned */
    late_sizes_fill fill;
};

/* Does the profile name an algorithm for such calls, of any size from COLLSHIM_MIN_BYTES on? */
static int profile_favours(const struct mpi_comm *c, const struct mpi_call *call)
{
    enum { MOST_BITS = 40 };
    struct plan_request q = call->request;

    q.topo = c->topo;
    for (int bits = 0; settings.tuning.nrows && bits < MOST_BITS; bits++) {
        const struct tuning_row *row = choose_row(&q, (uint64_t)1 << bits);

        if (row && row->algorithm && !gate_bytes((uint64_t)1 << bits))
            return 1;
    }
    return 0;
}

/* Why the call is not rerouted; or REASON_NONE, and the guard's choice, if it has one. */
static enum reason judge(struct mpi_comm *c, const struct mpi_call *call, int favoured,
                         struct plan_candidate *judged)
{
    const struct guard_entry *e;

    if (settings.cfg.mode == CFG_MODE_VERIFY)
        return REASON_WAITING;
    if (settings.choice[call->collective].variant[0])
        return REASON_VARIANT;
    if (gate_always(call->collective) || profile_favours(c, call))
        return REASON_NONE;
    if (!choose_is_guarded(call->collective))
        return favoured ? REASON_NONE : REASON_AGREE;
    e = guard_favours(&c->measured.guard, call->collective);
    if (!e)
        return REASON_AGREE;
    *judged = e->reroute[e->best - 1];
    return REASON_NONE;
}

static int open_telling(struct late_sizes *u, struct mpi_comm *c, int root, size_t words)
{
    struct plan_request *q = &u->telling;
    struct load_link crossing;
    size_t chunk[PLAN_CHUNKS];

    *q = (struct plan_request){.collective = root == NO_ROOT ? COLL_ALLGATHER : COLL_BCAST,
                               .topo = c->topo,
                               .root = root == NO_ROOT ? 0 : root,
                               .nbytes = words * sizeof *u->told,
                               .in_place = root == NO_ROOT,
                               .grain = 1};
    plan_chunks(q, chunk);
    q->chunk_bytes = chunk[0];
    int rc = mpi_comm_engine(c, q, &plan_lane, &u->plan, &u->engine, &crossing);
    if (rc)
        return rc;
    u->held = mpi_comm_hold(c, u->plan);
    u->scratch = malloc(u->plan->scratch_bytes + 1);
    return u->scratch ? 0 : -ENOMEM;
}

enum reason late_sizes_judge(struct mpi_comm *c, const struct mpi_call *call, int root,
                             size_t words, int favoured, struct late_sizes **u_p)
{
    struct plan_candidate judged = {0};
    enum reason why = judge(c, call, favoured, &judged);
    struct late_sizes *u;
    int rc = -ENOMEM;

    if (!why && choose_way(&c->history.ab_count) == CHOOSE_NATIVE)
        why = REASON_TURN;
    if (why)
        return why;
    u = calloc(1, sizeof *u);
    if (u) {
        u->judged = judged;
        rc = open_telling(u, c, root, words);
    }
    if (rc) {
        late_sizes_close(u);
        u = NULL;
    }
    *u_p = u;
    return rc == -ENOTSUP ? REASON_SHAPE : REASON_NONE;
}

int late_sizes_keep(struct late_sizes *u, MPI_Datatype *type)
{
    MPI_Datatype *kept = &u->type[u->ntypes];
    int rc = mpi.Type_contiguous(1, *type, kept);

    if (rc != MPI_SUCCESS)
        return rc;
    u->ntypes++;
    *type = *kept;
    return mpi.Type_commit(kept);
}

void late_sizes_tells(struct late_sizes *u, uint64_t *told, late_sizes_fill fill)
{
    if (!u)
        return;
    u->told = told;
    u->fill = fill;
}

int late_sizes_begin(struct late_sizes *u)
{
    return engine_begin(u->engine,
                        &(struct engine_buffers){.output = u->told, .scratch = u->scratch});
}

int late_sizes_step(struct late_sizes *u, enum engine_state *state)
{
    return engine_step(u->engine, state);
}

/* By what the call may run, the best first. The last one serves any shape. */
static int find(const struct late_sizes *u, const struct plan_request *q, uint64_t total,
                struct plan_candidate *list)
{
    int n = 0;

    if (!gate_bytes(total)) {
        const struct tuning_row *row = choose_row(q, total);

        if (u->judged.algorithm) {
            list[0] = u->judged;
            n = 1;
        } else if (!choose_named(q, row, list)) {
            n = plan_candidates(q, list, PLAN_CANDIDATES);
            if (!n) /* the start promised a call of ours */
                n = plan_candidates_all(q, list, PLAN_CANDIDATES);
        } else {
            n = list[0].algorithm != NULL;
        }
    }
    list[n++] = (struct plan_candidate){.algorithm = plan_has_demand(q->collective) ? &plan_pairwise
                                                                                    : &plan_linear};
    return n;
}

/* As mpi_comm_own_plan, by that candidate. */
static int plan_by(struct mpi_comm *c, struct ready *ready, const struct plan_candidate *by,
                   struct mpi_plan **plan)
{
    struct plan_request *q = &ready->call.request;
    size_t chunk[PLAN_CHUNKS] = {settings.cfg.chunk_bytes ? settings.cfg.chunk_bytes
                                                          : by->chunk_bytes};
    char why[256];

    q->recipe = by->recipe;
    if (plan_variant_of(by->algorithm) ||
        (q->recipe && by->algorithm->accepts && by->algorithm->accepts(q, why, sizeof why)))
        return -ENOTSUP;
    if (!chunk[0])
        plan_chunks(q, chunk);
    q->chunk_bytes = plan_chunk(q, chunk[0]);
    ready->algorithm = by->algorithm;
    return mpi_comm_own_plan(c, q, by->algorithm, plan, &ready->plan, &ready->engine);
}

int late_sizes_finish(struct late_sizes *u, struct mpi_comm *c, struct ready *ready,
                      struct mpi_plan **plan)
{
    FLOATS_OURS;
    struct plan_candidate list[PLAN_CANDIDATES + 1];
    struct mpi_call *call = &ready->call;
    struct plan_request *q = &call->request;
    int rc = u->fill(c, call, u->told), n;

    if (rc < 0)
        return MPI_ERR_TRUNCATE;
    if (rc) {
        call->wrong = rc;
        call->input.n = call->output.n = 0;
    }
    if (!call->total) {
        count_native(call->collective, REASON_EMPTY);
        return 0;
    }
    q->topo = c->topo;
    q->rank = c->rank;
    n = find(u, q, call->total, list);
    rc = -ENOTSUP;
    for (int i = 0; rc == -ENOTSUP && i < n; i++)
        rc = plan_by(c, ready, &list[i], plan);
    if (!rc)
        count_sized(call->collective, ready->algorithm, call->total);
    return rc;
}

void late_sizes_close(struct late_sizes *u)
{
    if (!u)
        return;
    for (int i = 0; i < u->ntypes; i++)
        mpi.Type_free(&u->type[i]);
    mpi_plan_release(u->held);
    free(u->scratch);
    free(u);
}
