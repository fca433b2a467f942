/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run: the slice comes from the owner's memory into the window, the plan runs there, and only a
 * later order takes the result back. Until then the owner's memory is unchanged. So if a helper
 * fails, the owners can do its work themselves.
 */
#define _GNU_SOURCE
#include "shim/helper/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "planners/plan/flat.h"
#include "shim/helper/owner_device.h"
#include "shim/helper/work.h"
#include "transports/base/host_memory.h"
#include "transports/base/kernels.h"
#include "transports/engine/engine.h"

struct channel_combining {
    kernel_fn kernel;
    size_t grain;
    struct float_mode mode;
};

struct channel {
    struct mailbox *box;          /* borrowed */
    struct mailbox_channel *post; /* borrowed */
    int fd, index;
    struct ucx *ucx; /* borrowed */
    uint32_t taken;  /* orders */
    struct mailbox_map payload, window;
    char *addresses;                  /* owned */
    struct owner_device owner_device; /* on the owner's device, if it has lent memory there */
    struct xport xport;
    /* State of the run under way: */
    struct plan plan;      /* lies in the payload */
    struct engine *engine; /* owned; NULL: no run */
    char *scratch;         /* owned, unless it is lent */
    struct device *device; /* NULL: it runs in host memory */
    struct channel_combining combining;
};

struct channel *channel_open(struct mailbox *box, int fd, int index, struct ucx *ucx)
{
    struct channel *c = calloc(1, sizeof *c);

    if (c)
        *c = (struct channel){
            .box = box, .post = &box->channel[index], .fd = fd, .index = index, .ucx = ucx};
    return c;
}

static void answer(struct channel *c, int status)
{
    c->post->status = status;
    atomic_store_explicit(&c->post->finished, c->taken, memory_order_release);
}

static int begin_team(struct channel *c, const struct mailbox_order *o)
{
    size_t bytes = (size_t)o->nranks * o->address_bytes;
    int rc = mailbox_map_payload(c->fd, c->index, bytes, &c->payload);

    if (rc)
        return rc;
    c->addresses = malloc(bytes);
    if (!c->addresses)
        return -ENOMEM;
    memcpy(c->addresses, c->payload.at, bytes);
    return xport_ucx_open(c->ucx, o->team, o->rank, o->nranks, c->addresses, o->address_bytes,
                          &c->xport);
}

static int end_team(struct channel *c)
{
    xport_ucx_close(&c->xport);
    owner_device_close(&c->owner_device);
    free(c->addresses);
    c->addresses = NULL;
    mailbox_unmap_part(&c->payload);
    mailbox_unmap_part(&c->window);
    mailbox_clear(c->fd, c->index);
    return 0;
}

typedef ssize_t (*transfer)(pid_t pid, const struct iovec *own, unsigned long nown,
                            const struct iovec *others, unsigned long nothers, unsigned long flags);

/* Pieces between the owner's memory and the window. */
static int move(struct channel *c, const struct mailbox_pieces *p, transfer move_bytes)
{
    enum { BEAT_BYTES = 64 << 20 };

    for (uint64_t i = 0; i < p->n; i++)
        for (uint64_t done = 0; done < p->length;) {
            uint64_t left = p->length - done, bytes = left < BEAT_BYTES ? left : BEAT_BYTES;
            struct iovec own = {c->window.at + p->window_at + i * p->length + done, bytes},
                         theirs = {(char *)(uintptr_t)(p->address + i * p->stride) + done, bytes};
            ssize_t n = move_bytes(c->box->owner_pid, &own, 1, &theirs, 1, 0);

            work_beat(c->box);

            if (n <= 0)
                return n < 0 ? -errno : -EFAULT;
            done += (uint64_t)n;
        }
    return 0;
}

static void combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const struct channel_combining *k = context;
    struct float_mode own;

    float_mode_read(&own);
    float_mode_write(&k->mode, &own);
    k->kernel(a, b, dst, bytes / k->grain);
    float_mode_write(&own, &k->mode);
}

/* The place of the slice, and the run's scratch beside it. */
static int find_room(struct channel *c, const struct mailbox_order *o, char **window)
{
    size_t scratch = c->plan.scratch_bytes;

    if (!o->on_device) {
        int rc = mailbox_map_window(c->fd, c->index, o->window_bytes, &c->window);

        rc = rc ? rc : move(c, &o->fetch, process_vm_readv);
        *window = c->window.at;
        c->scratch = !rc && scratch ? host_memory_take(scratch) : NULL;
        return !rc && scratch && !c->scratch ? -ENOMEM : rc;
    }
    if (!c->owner_device.at)
        return -EPROTO;
    *window = c->owner_device.at;
    c->scratch = c->owner_device.at + o->scratch_at;
    c->device = cuda_gpu_begin(c->owner_device.gpu, (enum kernel_type)o->kernel_type,
                               (enum kernel_op)o->kernel_op);
    return c->device ? 0 : -EIO;
}

static int begin_run(struct channel *c, const struct mailbox_order *o)
{
    int rc = mailbox_map_payload(c->fd, c->index, o->plan_at + o->plan_bytes, &c->payload);
    char *window = NULL;

    rc = rc ? rc : plan_flat_open(c->payload.at + o->plan_at, o->plan_bytes, &c->plan);
    rc = rc ? rc : find_room(c, o, &window);
    rc = rc ? rc : engine_create(&c->plan, &c->xport, &c->engine);
    if (rc)
        return rc;
    c->combining = (struct channel_combining){
        kernel_find((enum kernel_type)o->kernel_type, (enum kernel_op)o->kernel_op), o->grain,
        o->mode};
    return engine_begin(c->engine, &(struct engine_buffers){.input = window + o->input_at,
                                                            .output = window + o->output_at,
                                                            .scratch = c->scratch,
                                                            .combine = combine,
                                                            .combine_context = &c->combining,
                                                            .grain = o->grain,
                                                            .device = c->device});
}

static void end_run(struct channel *c, int status)
{
    engine_free(c->engine);
    c->engine = NULL;
    if (c->device)
        cuda_gpu_end(c->owner_device.gpu);
    if (!c->post->order.on_device)
        host_memory_give(c->scratch);
    c->device = NULL;
    c->scratch = NULL;
    answer(c, status);
}

/* A run goes on after this; everything else is done at once. */
static void begin(struct channel *c)
{
    const struct mailbox_order *o = &c->post->order;
    int rc;

    switch ((enum mailbox_kind)o->kind) {
    case MAILBOX_OPEN:
        answer(c, begin_team(c, o));
        break;
    case MAILBOX_DEVICE:
        answer(c, owner_device_open(&c->owner_device, o, c->box->processes));
        break;
    case MAILBOX_RUN:
        rc = begin_run(c, o);
        if (rc)
            end_run(c, rc);
        break;
    case MAILBOX_STORE:
        answer(c, move(c, &o->store, process_vm_writev));
        break;
    case MAILBOX_CLOSE:
        answer(c, end_team(c));
        break;
    }
}

enum channel_state channel_step(struct channel *c)
{
    enum engine_state state;

    if (!c->engine) {
        uint32_t posted = atomic_load_explicit(&c->post->posted, memory_order_acquire);

        if (posted == c->taken)
            return CHANNEL_IDLE;
        c->taken = posted;
        begin(c);
        return CHANNEL_MOVED;
    }
    int rc = engine_step(c->engine, &state);
    if (rc || state == ENGINE_DONE)
        end_run(c, rc);
    return state != ENGINE_IDLE ? CHANNEL_MOVED : c->device ? CHANNEL_POLLS : CHANNEL_WAITS;
}
