/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a death becomes known. The rank of a dead helper sees it by looking. Other ranks' helpers may
 * wait for the dead one for ever, so that rank tells all others by a message. Each rank that has
 * ended, or got such a message, joins one small reduction. It counts the ranks that sent such
 * messages, and so how many messages each rank has to receive.
 */
#include "shim/mpi/slices.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "planners/flat.h"
#include "planners/slices.h"
#include "shim/helper/crew.h"
#include "shim/mpi/calls.h"
#include "shim/mpi/lent.h"

/* No lane has this number, and every MPI this tag. */
enum { NOTICE = 32767 };

/* One call in slices. */
struct slicing {
    struct mpi_comm *comm;
    const struct mpi_call *call;
    const struct plan_algorithm *algorithm;
    int ppg;
    struct slices_buffers whole;
    char *window;              /* owned: this rank's own slice, in host memory */
    char *own;                 /* where its result is */
    char *lent[CREW_MAX + 1];  /* slices that lie on the device, by number; else NULL */
    int code;                  /* with which the call has failed on this rank, or 0 */
    int failed;                /* a helper of this rank did, and the others have been told */
    int heard;                 /* of another rank's */
    struct load_link crossing; /* of the slices that were begun */
};

int slices_possible(const struct mpi_call *call)
{
    return !call->combines || call->reduction.kernel;
}

/* The request, the window and the plan of a slice; plan and engine as from mpi_comm_engine. */
struct slice {
    struct plan_request request;
    struct slice_window window;
    const struct plan *plan;
    struct engine *engine;
    struct load_link crossing;
};

static int slice_get(struct slicing *s, int i, struct slice *slice)
{
    const struct plan_request *whole = &s->call->request;
    uint64_t from;

    slice->request = slice_request(whole, s->ppg, i, &from);
    slice->window = slice_window(whole, &slice->request, from);
    return mpi_comm_engine(s->comm, &slice->request, s->algorithm, &slice->plan, &slice->engine,
                           &slice->crossing);
}

int slices_try(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg)
{
    struct slicing s = {.comm = c, .call = call, .algorithm = a, .ppg = ppg};
    struct slice first, last; /* one of them is the longest */
    int rc = slice_get(&s, 0, &first);

    if (!rc)
        rc = slice_get(&s, ppg - 1, &last);
    return rc ? rc : first.plan->host_bytes || last.plan->host_bytes ? -ENOTSUP : 0;
}

static char *whole_buffer(const struct slicing *s, enum plan_buffer which)
{
    return which == PLAN_INPUT ? s->whole.input : s->whole.output;
}

/* n pieces, evenly spaced on either side. Returns 0 or a negative code. */
static int copy(const struct slicing *s, char *dst, uint64_t dst_stride, const char *src,
                uint64_t src_stride, uint64_t length, uint64_t n)
{
    if (s->whole.device)
        return cuda_move_spaced(s->whole.place, dst, dst_stride, src, src_stride, length, n);
    for (uint64_t i = 0; i < n; i++)
        memcpy(dst + i * dst_stride, src + i * src_stride, length);
    return 0;
}

static int copy_in(const struct slicing *s, const struct slice_part *p, char *window)
{
    return p->n ? copy(s, window + p->window_at, p->length, whole_buffer(s, p->buffer) + p->at,
                       p->stride, p->length, p->n)
                : 0;
}

static int copy_out(const struct slicing *s, const struct slice_part *p, const char *window)
{
    return p->n ? copy(s, whole_buffer(s, p->buffer) + p->at, p->stride, window + p->window_at,
                       p->length, p->length, p->n)
                : 0;
}

/* Must the rank copy for this helper? */
static int is_staged(const struct slicing *s, int helper)
{
    return s->whole.device || settings.cfg.shm != CFG_SHM_ON || crew_unreachable(helper);
}

/* Room for slice i on the device, its window and behind that its scratch: the helper's, or with 0
   the rank's own. NULL: none, or not there. */
static char *lend(struct slicing *s, int i, const struct slice *slice, size_t *scratch_at)
{
    enum { ALIGNED = 256 };
    struct mpi_team *t = &s->comm->team;

    if (!s->whole.device || !t->lent)
        return NULL;
    *scratch_at = (slice->window.bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    return lent_get(&t->lent[i], i ? i - 1 : LENT_TO_NOBODY, t->channel, s->whole.gpu,
                    *scratch_at + slice->plan->scratch_bytes, s->whole.place,
                    s->call->combines ? &s->call->reduction : NULL);
}

static struct mailbox_pieces pieces(const struct slicing *s, const struct slice_part *p)
{
    return (struct mailbox_pieces){.address =
                                       (uint64_t)(uintptr_t)(whole_buffer(s, p->buffer) + p->at),
                                   .stride = p->stride,
                                   .length = p->length,
                                   .window_at = p->window_at,
                                   .n = p->n};
}

static void add_crossing(struct slicing *s, const struct slice *slice)
{
    s->crossing.in += slice->crossing.in;
    s->crossing.out += slice->crossing.out;
}

/* Give the slice to its helper. Returns 0 if it cannot be given. */
static int hand_out(struct slicing *s, int i)
{
    int helper = i - 1, channel = s->comm->team.channel;
    const struct reduction *r = &s->call->reduction;
    struct slice slice;
    char *window = NULL;

    if (slice_get(s, i, &slice))
        return 0;
    size_t bytes = plan_flat_bytes(slice.plan);
    char *papers = crew_papers(helper, channel, bytes);
    if (!papers)
        return 0;
    plan_flatten(slice.plan, papers);
    struct mailbox_order order = {.kind = MAILBOX_RUN,
                                  .plan_bytes = bytes,
                                  .window_bytes = slice.window.bytes,
                                  .input_at = slice.window.input_at,
                                  .output_at = slice.window.output_at,
                                  .kernel_type = s->call->combines ? r->kernel_type : KERNEL_NONE,
                                  .kernel_op = r->kernel_op,
                                  .grain = slice.request.grain};
    if (!is_staged(s, helper)) {
        order.fetch = pieces(s, &slice.window.fetch);
    } else {
        size_t scratch_at = 0;

        window = s->lent[i] = lend(s, i, &slice, &scratch_at);
        order.on_device = window != NULL;
        order.scratch_at = scratch_at;
        if (!window)
            window = crew_window(helper, channel, slice.window.bytes);
        if (!window || copy_in(s, &slice.window.fetch, window))
            return 0;
    }
    crew_post(helper, channel, &order);
    add_crossing(s, &slice);
    return 1;
}

/* The place where the rank itself carries a slice: the device if there is room, otherwise host
   memory. */
struct room {
    struct device *device;
    char *window, *scratch;
    char *allocated; /* owned: scratch in host memory */
};

/* Returns 0 or -ENOMEM. */
static int find_room(struct slicing *s, const struct slice *slice, struct room *room)
{
    size_t scratch = slice->plan->scratch_bytes, scratch_at;
    char *lent = lend(s, 0, slice, &scratch_at);

    *room = (struct room){.device = lent ? s->whole.device : NULL, .window = lent};
    if (lent) {
        room->scratch = lent + scratch_at;
        return 0;
    }
    room->window = realloc(s->window, slice->window.bytes + 1);
    if (!room->window)
        return -ENOMEM;
    s->window = room->window;
    room->scratch = room->allocated = scratch ? malloc(scratch) : NULL;
    return scratch && !room->scratch ? -ENOMEM : 0;
}

static int run_plan(struct slicing *s, const struct slice *slice, const struct room *room)
{
    char *window = room->window;

    return engine_run(slice->engine, &(struct engine_buffers){
                                         .input = window ? window + slice->window.input_at : NULL,
                                         .output = window ? window + slice->window.output_at : NULL,
                                         .scratch = room->scratch,
                                         .combine = reduction_combine,
                                         .combine_context = (void *)(uintptr_t)&s->call->reduction,
                                         .grain = slice->request.grain,
                                         .device = room->device,
                                         .failed = s->code});
}

static void slices_note(struct slicing *s, int rc)
{
    if (!s->code)
        s->code = rc;
}

/* Carry a slice here; its result is in s->own then. A rank whose call has failed takes part all the
   same (engine.h). */
static void carry(struct slicing *s, int i, struct slice *slice)
{
    int rc = slice_get(s, i, slice);

    if (!rc) {
        struct room room;

        slices_note(s, find_room(s, slice, &room));
        if (!s->code)
            slices_note(s, copy_in(s, &slice->window.fetch, room.window));
        rc = run_plan(s, slice, &room);
        add_crossing(s, slice);
        s->own = room.window;
        free(room.allocated);
    }
    slices_note(s, rc);
}

static void tell_others(struct slicing *s)
{
    MPI_Request sent;

    s->failed = 1;
    for (int r = 0; r < s->comm->size; r++)
        if (r != s->comm->rank &&
            mpi.Isend(NULL, 0, MPI_BYTE, r, NOTICE, s->comm->private_comm, &sent) == MPI_SUCCESS)
            mpi.Request_free(&sent);
}

/* Wait until the helpers are through, or that is not to be expected any more. */
static int await_helpers(struct slicing *s)
{
    int rc = MPI_SUCCESS;

    for (int next = 1; rc == MPI_SUCCESS && next < s->ppg && !s->heard;) {
        switch (crew_look(next - 1, s->comm->team.channel)) {
        case CREW_DONE:
            next++;
            continue;
        case CREW_FAILED:
            tell_others(s);
            return MPI_SUCCESS;
        case CREW_WORKS:
            break;
        }
        rc =
            mpi.Iprobe(MPI_ANY_SOURCE, NOTICE, s->comm->private_comm, &s->heard, MPI_STATUS_IGNORE);
        sched_yield();
    }
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

        rc = mpi.Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, NOTICE, comm, &heard);
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

    for (int i = 1; i < s->ppg; i++) {
        uint64_t from;
        struct plan_request request = slice_request(whole, s->ppg, i, &from);
        struct slice_window w = slice_window(whole, &request, from);

        if (!is_staged(s, i - 1))
            crew_post(i - 1, channel,
                      &(struct mailbox_order){.kind = MAILBOX_STORE, .store = pieces(s, &w.store)});
    }
    for (int i = 1; i < s->ppg; i++) {
        uint64_t from;
        struct plan_request request = slice_request(whole, s->ppg, i, &from);
        struct slice_window w = slice_window(whole, &request, from);
        enum crew_state state = CREW_FAILED;

        while (!is_staged(s, i - 1) && (state = crew_look(i - 1, channel)) == CREW_WORKS)
            sched_yield();
        if (state == CREW_DONE)
            continue;
        const char *window = s->lent[i] ? s->lent[i] : crew_window(i - 1, channel, w.bytes);
        int rc = window ? copy_out(s, &w.store, window) : -ENOMEM;
        if (rc)
            return rc;
    }
    return 0;
}

/* The slices of all helpers once more, without them. */
static void redo(struct slicing *s)
{
    for (int i = 1; i < s->ppg; i++) {
        struct slice slice;

        carry(s, i, &slice);
        if (!s->code)
            slices_note(s, copy_out(s, &slice.window.store, s->own));
    }
}

int slices_run(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg, const struct slices_buffers *buffers, struct slices_result *result)
{
    struct slicing s = {.comm = c,
                        .call = call,
                        .algorithm = a,
                        .ppg = ppg,
                        .whole = *buffers,
                        .code = buffers->failed};
    struct slice own;
    int handed = 1, all_done = 0, rc;

    while (!s.code && handed < ppg && hand_out(&s, handed))
        handed++;
    if (handed < ppg)
        tell_others(&s);
    carry(&s, 0, &own);
    if (!s.code && !s.failed)
        s.code = await_helpers(&s);
    rc = agree(&s, &all_done);
    slices_note(&s, rc);
    if (!s.code)
        s.code = copy_out(&s, &own.window.store, s.own);
    *result = (struct slices_result){.redone = !rc && !all_done, .on_device = s.lent[1] != NULL};
    if (result->redone) {
        team_give_up(&c->team);
        redo(&s);
    } else if (!s.code) {
        s.code = collect(&s);
    }
    result->crossing = s.crossing;
    free(s.window);
    return s.code;
}
