/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/later/nonblocking.h"

#include <stdlib.h>

#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/grequest.h"
#include "shim/mpi/api/outlay.h"
#include "shim/mpi/later/late_sizes.h"
#include "shim/mpi/later/pending.h"
#include "shim/mpi/run/slices.h"
#include "shim/record/counts/count.h"

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

    free(s);
    grequest_complete(request, code);
}

/* All that a start needs. Returns an MPI code; on an error nothing is left of it, nor of what ready
   owns. */
static int open_started(struct started *s, struct mpi_comm *c, const struct ready *ready)
{
    int rc = grequest_open(&s->request, ready->call.nonblocking);

    if (rc != MPI_SUCCESS) {
        mpi_call_drop(&ready->call);
        late_sizes_close(ready->call.owned.late_sizes);
        return rc;
    }
    rc = pending_open(&s->pending, c, ready, 0, on_done);
    if (rc == MPI_SUCCESS && settings.cfg.mode == CFG_MODE_VERIFY &&
        (rc = pending_compare(&s->pending)) != MPI_SUCCESS)
        pending_close(&s->pending);
    if (rc != MPI_SUCCESS)
        grequest_drop(s->request);
    return rc;
}

int nonblocking_start(struct mpi_comm *c, const struct ready *ready, int lacks)
{
    struct started *s = lacks ? NULL : calloc(1, sizeof *s);
    int rc = MPI_ERR_NO_MEM;

    if (s) {
        rc = open_started(s, c, ready);
    } else {
        mpi_call_drop(&ready->call);
        late_sizes_close(ready->call.owned.late_sizes);
    }
    if (rc != MPI_SUCCESS) {
        free(s);
        *ready->call.nonblocking = MPI_REQUEST_NULL;
        return rc;
    }
    if (!ready->call.owned.late_sizes)
        count_started(ready->call.collective, ready->algorithm, pending_processes(&s->pending),
                      ready->call.total);
    pending_start(&s->pending);
    return MPI_SUCCESS;
}

int nonblocking_start_late(struct mpi_comm *c, const struct mpi_call *call, struct late_sizes *u,
                           int lacks)
{
    struct ready ready = {.call = *call, .ppg = 1};

    ready.call.owned.late_sizes = u;
    return nonblocking_start(c, &ready, lacks || !u);
}

/* Helpers that have not started yet are asked for in a blocking call. */
static void want_team(struct mpi_comm *c, const struct mpi_call *call)
{
    if (!c->team.starting || c->wants.team || !slices_possible(call))
        return;
    c->wants.team = 1;
    __atomic_add_fetch(&outlay_wanted, 1, __ATOMIC_RELAXED);
}

/* As run_prepare, by one process. Where helpers carry the call, this is what is done without
   them. */
static enum reason prepare_alone(struct mpi_comm *c, const struct mpi_call *call,
                                 const struct plan_candidate *r, struct ready *ready, int *rc)
{
    struct plan_candidate alone = *r;

    alone.ppg = 1;
    return run_prepare(c, call, &alone, ready, rc);
}

enum reason nonblocking_prepare(struct mpi_comm *c, const struct mpi_call *call,
                                const struct mpi_candidates *found, struct ready *ready, int *rc)
{
    enum reason why = REASON_SHAPE;

    for (int i = 0; i < found->n; i++) {
        const struct plan_candidate *one = &found->list[i];

        if (plan_variant_of(one->algorithm))
            why = REASON_VARIANT;
        else if (one->ppg > 1 && !background_possible(c, call))
            why = REASON_UNJUDGED;
        else if (!(why = prepare_alone(c, call, one, ready, rc)))
            return REASON_NONE;
    }
    return why;
}

struct mpi_outcome nonblocking_run(struct mpi_comm *c, const struct mpi_call *call,
                                   const struct mpi_candidates *found)
{
    struct ready ready;
    int rc = 0;
    enum reason why = found->why ? found->why : nonblocking_prepare(c, call, found, &ready, &rc);

    if (!why)
        want_team(c, call);
    if (!why && choose_way(&c->history.ab_count) == CHOOSE_NATIVE)
        why = REASON_TURN;
    if (why) {
        mpi_call_drop(call);
        return run_natively(call, why);
    }
    int lacks = rc || call->owned.lacks_room;
    return run_failed(nonblocking_start(c, &ready, lacks));
}

void *nonblocking_vectors(const struct mpi_comm *c, const struct mpi_call *call)
{
    return call->owned.room
               ? (char *)call->owned.room + (size_t)c->size * (sizeof(uint64_t) + sizeof(size_t))
               : NULL;
}

void nonblocking_room(struct mpi_comm *c, struct mpi_call *call, size_t **bytes, uint64_t **offset)
{
    size_t n = (size_t)c->size;
    uint64_t *room;

    *bytes = c->room.bytes;
    if (offset)
        *offset = c->room.offset;
    if (!call->nonblocking)
        return;
    call->owned.room = room = malloc(n * (sizeof *room + sizeof **bytes + VECTORS_EACH));
    call->owned.lacks_room = !room;
    if (!room)
        return;
    *bytes = (size_t *)(room + n);
    if (offset)
        *offset = room;
}
