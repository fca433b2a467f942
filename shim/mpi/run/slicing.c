/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/run/slicing.h"

#include <errno.h>
#include <string.h>

#include "planners/plan/flat.h"
#include "shim/decide/base/floats.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/comm/ipc_window.h"

int slicing_get(struct slicing *s, int i, struct slice *slice)
{
    const struct plan_request *whole = &s->call->request;
    uint64_t from;

    slice->plan = NULL;
    slice->engine = NULL;
    slice->request = slice_request(whole, s->n, i, &from);
    if (s->most_chunk && slice->request.chunk_bytes > s->most_chunk)
        slice->request.chunk_bytes = plan_chunk(&slice->request, s->most_chunk);
    slice->window = slice_window(whole, &slice->request, from);
    return mpi_comm_engine(s->comm, &slice->request, s->algorithm, &slice->plan, &slice->engine,
                           &slice->crossing);
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

int slicing_copy_in(const struct slicing *s, const struct slice_part *p, char *window)
{
    return p->n ? copy(s, window + p->window_at, p->length, whole_buffer(s, p->buffer) + p->at,
                       p->stride, p->length, p->n)
                : 0;
}

int slicing_copy_out(const struct slicing *s, const struct slice_part *p, const char *window)
{
    return p->n ? copy(s, whole_buffer(s, p->buffer) + p->at, p->stride, window + p->window_at,
                       p->length, p->length, p->n)
                : 0;
}

int slicing_is_staged(const struct slicing *s, int helper)
{
    return s->whole.device || settings.cfg.test_shm != CFG_SHM_ON || helpers_unreachable(helper);
}

char *slicing_lend(struct slicing *s, int i, const struct slice *slice, size_t *scratch_at)
{
    enum { ALIGNED = 256 };
    struct mpi_team *t = &s->comm->team;

    if (!s->whole.device || !t->lent)
        return NULL;
    *scratch_at = (slice->window.bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    return ipc_window_get(&t->lent[i], i ? i - 1 : IPC_WINDOW_OF_NOBODY, t->channel, s->whole.gpu,
                          *scratch_at + slice->plan->scratch_bytes, s->whole.place,
                          s->call->combines ? &s->call->reduction : NULL);
}

struct mailbox_pieces slicing_pieces(const struct slicing *s, const struct slice_part *p)
{
    return (struct mailbox_pieces){.address =
                                       (uint64_t)(uintptr_t)(whole_buffer(s, p->buffer) + p->at),
                                   .stride = p->stride,
                                   .length = p->length,
                                   .window_at = p->window_at,
                                   .n = p->n};
}

void slicing_add_crossing(struct slicing *s, const struct slice *slice)
{
    s->crossing.in += slice->crossing.in;
    s->crossing.out += slice->crossing.out;
}

int slicing_hand_out(struct slicing *s, int i, const struct slice *slice)
{
    int helper = slicing_helper(s, i), channel = s->comm->team.channel;
    const struct reduction *r = &s->call->reduction;
    char *window = NULL;

    size_t bytes = plan_flat_bytes(slice->plan);
    char *payload = helpers_payload(helper, channel, bytes);
    if (!payload)
        return 0;
    plan_flatten(slice->plan, payload);
    struct mailbox_order order = {.kind = MAILBOX_RUN,
                                  .plan_bytes = bytes,
                                  .window_bytes = slice->window.bytes,
                                  .input_at = slice->window.input_at,
                                  .output_at = slice->window.output_at,
                                  .kernel_type = s->call->combines ? r->kernel_type : KERNEL_NONE,
                                  .kernel_op = r->kernel_op,
                                  .grain = slice->request.grain,
                                  .mode = floats_of_program()};
    if (!slicing_is_staged(s, helper)) {
        order.fetch = slicing_pieces(s, &slice->window.fetch);
    } else {
        size_t scratch_at = 0;

        window = s->lent[i] = slicing_lend(s, i, slice, &scratch_at);
        order.on_device = window != NULL;
        order.scratch_at = scratch_at;
        if (!window)
            window = helpers_window(helper, channel, slice->window.bytes);
        if (!window || slicing_copy_in(s, &slice->window.fetch, window))
            return 0;
    }
    helpers_post(helper, channel, &order);
    slicing_add_crossing(s, slice);
    return 1;
}

void slicing_tell_others(struct slicing *s)
{
    MPI_Request sent;

    s->failed = 1;
    for (int r = 0; r < s->comm->size; r++)
        if (r != s->comm->rank && mpi.Isend(NULL, 0, MPI_BYTE, r, SLICING_NOTICE,
                                            s->comm->private_comm, &sent) == MPI_SUCCESS)
            mpi.Request_free(&sent);
}

int slicing_take(const struct slicing *s, int i, const struct slice_window *w)
{
    const char *window =
        s->lent[i] ? s->lent[i]
                   : helpers_window(slicing_helper(s, i), s->comm->team.channel, w->bytes);

    return window ? slicing_copy_out(s, &w->store, window) : -ENOMEM;
}

int slicing_look(struct slicing *s, int *next, int *rc)
{
    *rc = MPI_SUCCESS;
    while (*next < s->n && !s->failed && !s->heard) {
        switch (helpers_look(slicing_helper(s, *next), s->comm->team.channel)) {
        case HELPERS_DONE:
            ++*next;
            continue;
        case HELPERS_FAILED:
            slicing_tell_others(s);
            return 1;
        case HELPERS_WORKS:
            *rc = mpi.Iprobe(MPI_ANY_SOURCE, SLICING_NOTICE, s->comm->private_comm, &s->heard,
                             MPI_STATUS_IGNORE);
            return *rc != MPI_SUCCESS || s->heard;
        }
    }
    return 1;
}
