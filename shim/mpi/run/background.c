/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices.c tells how a death becomes known. Here nothing waits: the ranks agree by a plan of ours,
 * on the communicator's own transport.
 *
 * Rejected: helpers that write to the application's output at once. It holds the input of a call in
 * place, which is needed if another helper is lost.
 * Rejected: MPI_Iallreduce for the agreement. Libraries do not promise that a collective can be
 * started inside their progress engine.
 */
#include "shim/mpi/run/background.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/run/slices.h"
#include "shim/record/counts/count.h"

/* UCX sends such chunks over TCP without a handshake, which would need both helpers awake.
   Emulated, 100 Mbit/s: Allreduce of 4 MiB takes 349 ms by them, and 492 ms by the guard's first
   chunk. */
enum { HELPERS_CHUNK = 64 << 10 };

enum stage { CARRIED, AGREED_ON, NOTICES };

/* One helper's slice, and its plan, held. */
struct part {
    struct slice slice;
    struct mpi_plan *plan;
};

struct background {
    struct slicing slicing;
    struct part *part; /* [slicing.n] owned */
    enum stage stage;
    int next;           /* the slice to look at */
    int looks;          /* at the helpers */
    int tellers;        /* ranks that lost a helper */
    int heard;          /* notices that have come, or were this rank's */
    MPI_Request notice; /* the next one */
};

int background_possible(const struct mpi_comm *c, const struct mpi_call *call)
{
    return c->team.helpers > 0 && slices_possible(call);
}

static int open_parts(struct background *b)
{
    struct slicing *s = &b->slicing;

    for (int i = 0; i < s->n; i++) {
        struct part *p = &b->part[i];
        int rc = slicing_get(s, i, &p->slice);

        if (rc)
            return rc;
        p->plan = mpi_comm_hold(s->comm, p->slice.plan);
        if (p->slice.plan->host_bytes)
            return -ENOTSUP;
    }
    return 0;
}

int background_open(struct mpi_comm *c, const struct ready *ready, struct background **b_p)
{
    struct background *b;
    int rc = -ENOMEM;

    *b_p = NULL;
    if (!background_possible(c, &ready->call))
        return 0;
    b = calloc(1, sizeof *b);
    if (!b)
        return rc;
    b->slicing = (struct slicing){.comm = c,
                                  .call = &ready->call,
                                  .algorithm = ready->algorithm,
                                  .most_chunk = settings.cfg.chunk_bytes ? 0 : HELPERS_CHUNK,
                                  .n = slices_of(&ready->call.request, c->team.helpers)};
    b->part = calloc((size_t)b->slicing.n, sizeof *b->part);
    if (b->part)
        rc = open_parts(b);
    if (rc)
        background_close(b);
    else
        *b_p = b;
    return rc == -ENOTSUP ? 0 : rc;
}

void background_close(struct background *b)
{
    if (!b)
        return;
    for (int i = 0; b->part && i < b->slicing.n; i++)
        mpi_plan_release(b->part[i].plan);
    free(b->part);
    free(b);
}

int background_helpers(const struct background *b)
{
    return b ? b->slicing.n : 0;
}

int background_begin(struct background *b, const struct staging *staging, int failed)
{
    struct slicing *s = &b->slicing;
    int handed = 0;

    if (!s->comm->team.ppg)
        return 0;
    s->whole = (struct slicing_buffers){
        .input = staging->input, .output = staging->output, .failed = failed};
    s->failed = s->heard = 0;
    s->code = failed;
    b->stage = CARRIED;
    b->next = b->looks = 0;
    while (!failed && handed < s->n && slicing_hand_out(s, handed, &b->part[handed].slice))
        handed++;
    if (handed < s->n)
        slicing_tell_others(s);
    return 1;
}

/* The helpers are through, or one is lost. */
static int agree(struct background *b)
{
    b->stage = AGREED_ON;
    b->heard = b->slicing.failed;
    return ask_begin(&b->slicing.comm->ask, b->slicing.failed);
}

/* All ranks' helpers are done. Returns 0 or a negative code. */
static int take_all(struct background *b)
{
    int rc = 0;

    for (int i = 0; !rc && i < b->slicing.n; i++)
        rc = slicing_take(&b->slicing, i, &b->part[i].slice.window);
    return rc;
}

static void count(const struct background *b)
{
    const struct mpi_call *call = b->slicing.call;

    count_carried_meanwhile(call->collective, b->looks == 1 && !b->tellers, b->tellers > 0);
    if (b->tellers)
        say(CFG_LEVEL_WARN,
            "%s of %llu bytes: a rank's helper died; the ranks finish the nonblocking call "
            "themselves, and helpers carry no more calls on this communicator",
            plan_collective_name(call->collective), (unsigned long long)call->total);
}

/* Receive the notices of all that lost a helper. */
static enum background_state hear(struct background *b, int *rc)
{
    int there = 1;

    if (b->notice != MPI_REQUEST_NULL)
        *rc = mpi.Test(&b->notice, &there, MPI_STATUS_IGNORE);
    if (*rc || !there)
        return *rc ? BACKGROUND_DONE : BACKGROUND_IDLE;
    if (b->heard == b->tellers) {
        team_give_up(&b->slicing.comm->team);
        count(b);
        return BACKGROUND_LOST;
    }
    b->heard++;
    *rc = mpi.Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, SLICING_NOTICE,
                    b->slicing.comm->private_comm, &b->notice);
    return *rc ? BACKGROUND_DONE : BACKGROUND_MOVED;
}

static enum background_state step_agreement(struct background *b, int *rc)
{
    enum engine_state state;

    *rc = ask_step(&b->slicing.comm->ask, &state);
    if (*rc)
        return BACKGROUND_DONE;
    if (state != ENGINE_DONE)
        return state == ENGINE_IDLE ? BACKGROUND_IDLE : BACKGROUND_MOVED;
    b->tellers = b->slicing.comm->ask.value;
    if (b->tellers) {
        b->stage = NOTICES;
        b->notice = MPI_REQUEST_NULL;
        return BACKGROUND_MOVED;
    }
    count(b);
    *rc = take_all(b);
    return BACKGROUND_DONE;
}

static enum background_state look(struct background *b, int *rc)
{
    b->looks++;
    if (!slicing_look(&b->slicing, &b->next, rc))
        return BACKGROUND_IDLE;
    if (!*rc)
        *rc = agree(b);
    return *rc ? BACKGROUND_DONE : BACKGROUND_MOVED;
}

enum background_state background_step(struct background *b, int *rc)
{
    *rc = 0;
    return b->stage == CARRIED     ? look(b, rc)
           : b->stage == AGREED_ON ? step_agreement(b, rc)
                                   : hear(b, rc);
}
