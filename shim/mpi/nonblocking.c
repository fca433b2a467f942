/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/nonblocking.h"

#include <stdlib.h>

#include "shim/decide/choose.h"
#include "shim/decide/count.h"
#include "shim/mpi/first.h"
#include "shim/mpi/grequest.h"
#include "shim/mpi/pending.h"
#include "shim/mpi/slices.h"
#include "shim/mpi/unsized.h"

unsigned char nonblocking_looked_at[COLL_COUNT];

struct started {
    struct pending pending; /* first */
    struct grequest *request;
};

static void on_done(struct pending *p)
{
    struct started *s = (struct started *)p;
    struct grequest *request = s->request;
    int code = p->code;

    pending_close(p);
    free(s);
    grequest_complete(request, code);
}

int nonblocking_start(struct mpi_comm *c, const struct ready *ready)
{
    struct started *s = malloc(sizeof *s);

    if (!s) {
        mpi_call_drop(&ready->call);
        unsized_close(ready->call.unsized);
        return MPI_ERR_NO_MEM;
    }
    int rc = pending_open(&s->pending, c, ready, 0, on_done);
    if (rc != MPI_SUCCESS) {
        free(s);
        return rc;
    }
    if (settings.cfg.mode == CFG_MODE_VERIFY)
        rc = pending_compare(&s->pending);
    if (rc == MPI_SUCCESS)
        rc = grequest_open(&s->request, ready->call.nonblocking);
    if (rc != MPI_SUCCESS) {
        pending_close(&s->pending);
        free(s);
        return rc;
    }
    if (!ready->call.unsized)
        count_started(ready->call.collective, ready->algorithm, pending_processes(&s->pending),
                      ready->call.total);
    pending_start(&s->pending);
    return MPI_SUCCESS;
}

/* Helpers that have not started yet are asked for in a blocking call. */
static void want_team(struct mpi_comm *c, const struct mpi_call *call)
{
    if (!c->team.starting || c->wants_team || !slices_possible(call))
        return;
    c->wants_team = 1;
    __atomic_add_fetch(&first_wanted, 1, __ATOMIC_RELAXED);
}

/* As serve_prepare, by one process. Where helpers carry the call, this is what is done without
   them. */
static enum reason prepare_alone(struct mpi_comm *c, const struct mpi_call *call,
                                 const struct plan_candidate *r, struct ready *ready, int *rc)
{
    struct plan_candidate alone = *r;

    alone.ppg = 1;
    return serve_prepare(c, call, &alone, ready, rc);
}

enum reason nonblocking_prepare(struct mpi_comm *c, const struct mpi_call *call,
                                const struct plan_candidate *list, int n, struct ready *ready,
                                int *rc)
{
    enum reason why = REASON_SHAPE;

    for (int i = 0; i < n; i++) {
        if (plan_variant_of(list[i].algorithm))
            why = REASON_VARIANT;
        else if (list[i].ppg > 1 && !background_possible(c, call))
            why = REASON_UNJUDGED;
        else if (!(why = prepare_alone(c, call, &list[i], ready, rc)))
            return REASON_NONE;
    }
    return why;
}

struct mpi_outcome nonblocking_run(struct mpi_comm *c, const struct mpi_call *call)
{
    struct plan_candidate list[GUARD_REROUTES];
    struct ready ready;
    int n = 0, rc = 0;
    enum reason why = call->total ? mpi_find_judged(c, call, list, &n) : REASON_EMPTY;

    if (!why)
        why = nonblocking_prepare(c, call, list, n, &ready, &rc);
    if (!why)
        want_team(c, call);
    if (!why && !rc && choose_way(&c->turn) == CHOOSE_NATIVE)
        why = REASON_TURN;
    if (why || rc)
        mpi_call_drop(call);
    if (why)
        return serve_natively(call, why);
    if (!rc)
        rc = nonblocking_start(c, &ready);
    if (rc)
        *call->nonblocking = MPI_REQUEST_NULL;
    return serve_failed(serve_code(rc));
}

void *nonblocking_vectors(const struct mpi_comm *c, const struct mpi_call *call)
{
    return call->room ? (char *)call->room + (size_t)c->size * (sizeof(uint64_t) + sizeof(size_t))
                      : NULL;
}

int nonblocking_room(struct mpi_comm *c, struct mpi_call *call, size_t **bytes, uint64_t **offset)
{
    size_t n = (size_t)c->size;
    uint64_t *room;

    *bytes = c->bytes;
    if (offset)
        *offset = c->offset;
    if (!call->nonblocking)
        return MPI_SUCCESS;
    call->room = room = malloc(n * (sizeof *room + sizeof **bytes + VECTORS_EACH));
    if (!room && call->persistent)
        return MPI_SUCCESS; /* persistent_run sees it */
    if (!room) {
        *call->nonblocking = MPI_REQUEST_NULL;
        mpi.Comm_call_errhandler(call->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    *bytes = (size_t *)(room + n);
    if (offset)
        *offset = room;
    return MPI_SUCCESS;
}
