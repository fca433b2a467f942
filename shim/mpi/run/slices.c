/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a death becomes known. The rank of a dead helper sees it by looking. Other ranks' helpers may
 * wait for the dead one for ever, so that rank tells all others by a message. Each rank that has
 * ended, or got such a message, joins one small reduction. It counts the ranks that sent such
 * messages, and so how many messages each rank has to receive.
 */
#include "shim/mpi/run/slices.h"

#include <errno.h>
#include <sched.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/run/staging.h"
#include "shim/mpi/run/watched.h"
#include "transports/base/host_memory.h"

/* The blocking call, and the slice that the rank itself carries. */
struct blocking {
    struct slicing slicing;
    char *window; /* owned: this rank's own slice, in host memory */
    char *own;    /* where its result is */
};

int slices_possible(const struct mpi_call *call)
{
    return !call->combines || call->reduction.kernel;
}

int slices_try(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg)
{
    struct slicing s = {.comm = c, .call = call, .algorithm = a, .n = ppg, .own = 1};
    int rc = 0;

    /* All of them, after a failure too: ranks use plans in one order. */
    for (int i = 0; i < ppg; i++) {
        struct slice slice;
        int code = slicing_get(&s, i, &slice);

        if (!rc)
            rc = code ? code : slice.plan->host_bytes ? -ENOTSUP : 0;
    }
    return rc;
}

/* The place where the rank itself carries a slice: the device if there is room, otherwise host
   memory. */
struct room {
    struct device *device;
    char *window, *scratch;
    char *allocated; /* owned: scratch in host memory */
};

/* Returns 0 or -ENOMEM. */
static int find_room(struct blocking *b, const struct slice *slice, struct room *room)
{
    size_t scratch = slice->plan->scratch_bytes, scratch_at;
    char *lent = slicing_lend(&b->slicing, 0, slice, &scratch_at);

    *room = (struct room){.device = lent ? b->slicing.whole.device : NULL, .window = lent};
    if (lent) {
        room->scratch = lent + scratch_at;
        return 0;
    }
    host_memory_give(b->window);
    b->window = room->window = host_memory_take(slice->window.bytes);
    if (!room->window)
        return -ENOMEM;
    room->scratch = room->allocated = scratch ? host_memory_take(scratch) : NULL;
    return scratch && !room->scratch ? -ENOMEM : 0;
}

static int run_plan(struct slicing *s, const struct slice *slice, const struct room *room)
{
    char *window = room->window;
    struct engine_buffers buffers = {.input = window ? window + slice->window.input_at : NULL,
                                     .output = window ? window + slice->window.output_at : NULL,
                                     .scratch = room->scratch,
                                     .combine = reduction_combine,
                                     .combine_context = (void *)(uintptr_t)&s->call->reduction,
                                     .grain = slice->request.grain,
                                     .device = room->device,
                                     .failed = s->code};

    watched(s->comm, s->call, &buffers);
    return staging_run(slice->engine, &buffers);
}

static void slices_note(struct slicing *s, int rc)
{
    if (!s->code)
        s->code = rc;
}

/* Carry a slice here; its result is in b->own then. A rank whose call has failed takes part all the
   same (engine.h). */
static void carry(struct blocking *b, int i, struct slice *slice)
{
    struct slicing *s = &b->slicing;
    int rc = slicing_get(s, i, slice);

    slices_note(s, rc);
    if (slice->engine) {
        struct room room;

        slices_note(s, find_room(b, slice, &room));
        if (!s->code)
            slices_note(s, slicing_copy_in(s, &slice->window.fetch, room.window));
        rc = run_plan(s, slice, &room);
        slicing_add_crossing(s, slice);
        b->own = room.window;
        host_memory_give(room.allocated);
    }
    slices_note(s, rc);
}

/* Wait until the helpers are through, or that is not to be expected any more. */
static int await_helpers(struct slicing *s)
{
    int next = s->own, rc;

    while (!slicing_look(s, &next, &rc))
        sched_yield();
    return rc;
}

/* Did all helpers of all ranks do their slices? Returns an MPI code. */
static int agree(struct slicing *s, int *all_done)
{
    MPI_Comm comm = s->comm->private_comm;
    int tellers = 0;
    int rc = mpi.Allreduce(&s->failed, &tellers, 1, MPI_INT, MPI_SUM, comm);

    for (int i = s->failed; rc == MPI_SUCCESS && i < tellers; i++) {
        MPI_Request heard;

        rc = mpi.Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, SLICING_NOTICE, comm, &heard);
        if (rc == MPI_SUCCESS)
            rc = mpi.Waitall(1, &heard, MPI_STATUSES_IGNORE);
    }
    *all_done = tellers == 0;
    return rc;
}

/* Take the results of slices 1 and up; a helper that dies only now has left its result behind. */
static int collect(struct slicing *s)
{
    int channel = s->comm->team.channel;
    const struct plan_request *whole = &s->call->request;

    for (int i = 1; i < s->n; i++) {
        uint64_t from;
        struct plan_request request = slice_request(whole, s->n, i, &from);
        struct slice_window w = slice_window(whole, &request, from);

        if (!slicing_is_staged(s, i - 1))
            helpers_post(i - 1, channel,
                         &(struct mailbox_order){.kind = MAILBOX_STORE,
                                                 .store = slicing_pieces(s, &w.store)});
    }
    for (int i = 1; i < s->n; i++) {
        uint64_t from;
        struct plan_request request = slice_request(whole, s->n, i, &from);
        struct slice_window w = slice_window(whole, &request, from);
        enum helpers_state state = HELPERS_FAILED;

        while (!slicing_is_staged(s, i - 1) &&
               (state = helpers_look(i - 1, channel)) == HELPERS_WORKS)
            sched_yield();
        int rc = state == HELPERS_DONE ? 0 : slicing_take(s, i, &w);
        if (rc)
            return rc;
    }
    return 0;
}

/* The slices of all helpers once more, without them. */
static void redo(struct blocking *b)
{
    struct slicing *s = &b->slicing;

    for (int i = 1; i < s->n; i++) {
        struct slice slice;

        carry(b, i, &slice);
        if (!s->code)
            slices_note(s, slicing_copy_out(s, &slice.window.store, b->own));
    }
}

static void hand_out_all(struct slicing *s)
{
    int handed = s->own;
    struct slice slice;

    while (!s->code && handed < s->n && !slicing_get(s, handed, &slice) &&
           slicing_hand_out(s, handed, &slice))
        handed++;
    if (handed < s->n)
        slicing_tell_others(s);
}

int slices_run(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg, const struct slicing_buffers *buffers, struct slices_result *result)
{
    struct blocking b = {.slicing = {.comm = c,
                                     .call = call,
                                     .algorithm = a,
                                     .n = ppg,
                                     .own = 1,
                                     .whole = *buffers,
                                     .code = buffers->failed}};
    struct slicing *s = &b.slicing;
    struct slice own;
    int all_done = 0, rc;

    hand_out_all(s);
    carry(&b, 0, &own);
    if (!s->code && !s->failed)
        s->code = await_helpers(s);
    rc = agree(s, &all_done);
    slices_note(s, rc);
    if (!s->code)
        s->code = slicing_copy_out(s, &own.window.store, b.own);
    *result = (struct slices_result){.redone = !rc && !all_done, .on_device = s->lent[1] != NULL};
    if (result->redone) {
        team_give_up(&c->team);
        redo(&b);
    } else if (!s->code) {
        s->code = collect(s);
    }
    result->crossing = s->crossing;
    host_memory_give(b.window);
    return s->code;
}
