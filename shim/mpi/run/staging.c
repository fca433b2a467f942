/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call runs on a device if all its buffers on this rank lie there, in memory of one context,
 * packed or with packed blocks. All other memory of the call is then on that device too. Other
 * calls are brought to the host first: one host buffer, a type with gaps, an operation without a
 * kernel, an odd address, or a device without free memory is enough. Both ways give the peers the
 * same bytes, so a rank chooses for itself.
 */
#include "shim/mpi/run/staging.h"

#include <errno.h>
#include <stdint.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/call/device.h"
#include "transports/base/host_memory.h"

/* What the rank has to offer: is it on a device, and can it stay there? */
struct staging_side {
    int used, on_device, stays;
    struct cuda_place place;
};

static struct staging_side look_at(const struct layout *l, struct call_block b, int used,
                                   size_t alignment)
{
    struct staging_side s = {.used = used};

    if (!used)
        return s;
    s.on_device = device_holds(l, b.user, b.count, &s.place);
    s.stays = s.on_device && l->dense && (uintptr_t)b.user % alignment == 0;
    return s;
}

/* The first block with anything in it: one that is empty may be anywhere. */
static struct call_block first_block(const struct mpi_call *call, int n,
                                     struct call_block (*block)(const struct mpi_call *, int))
{
    struct call_block b = {0};

    for (int i = 0; i < n && !b.count; i++)
        b = block(call, i);
    return b;
}

/* The context of both; NULL: they have no common one. Memory without a context, of pools for
   example, suits each of its device's. */
static const struct cuda_place *common_place(const struct staging_side *a,
                                             const struct staging_side *b)
{
    const struct cuda_place *x = &a->place, *y = &b->place;

    if (!a->used || !b->used)
        return a->used ? x : y;
    if (x->device != y->device || (x->context && y->context && x->context != y->context))
        return NULL;
    return x->context ? x : y;
}

/* Numbers of more than 8 bytes are aligned as their halves. */
static size_t alignment_of(const struct mpi_call *call)
{
    size_t extent = call->combines ? call->reduction.extent : 1;

    return extent > 8 ? 8 : extent;
}

/* The communicator's device for that place, or room for one; NULL: too many. */
static struct cuda_gpu **find_gpu(struct mpi_comm *c, const struct cuda_place *place)
{
    for (int i = 0; i < GPUS_KEPT; i++)
        if (!c->room.gpu[i] || cuda_gpu_is_at(c->room.gpu[i], place))
            return &c->room.gpu[i];
    return NULL;
}

/* The device that serves the call there; NULL if there is none. */
static struct cuda_gpu *get_gpu(struct mpi_comm *c, const struct mpi_call *call,
                                const struct cuda_place *place)
{
    const struct reduction *r = &call->reduction;
    struct cuda_gpu **gpu = find_gpu(c, place);

    if (!gpu || (!*gpu && cuda_gpu_open(place, gpu) < 0) ||
        (call->combines && !cuda_gpu_combines(*gpu, r->kernel_type, r->kernel_op)))
        return NULL;
    return *gpu;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 255) & ~(size_t)255;
}

/* The call's memory on the device, beside the application's buffers. Returns 1, or 0: no room. */
static int allocate_on_device(struct staging *s, const struct plan *plan, int own_input)
{
    size_t scratch = rounded(plan->scratch_bytes);
    size_t output = s->own_output ? rounded(plan->output_bytes) : 0;
    size_t input = own_input ? rounded(plan->input_bytes) : 0;
    char *all = cuda_gpu_scratch(s->gpu, scratch + output + input);

    s->host = cuda_gpu_pinned(s->gpu, plan->host_bytes);
    if ((!all && scratch + output + input) || (!s->host && plan->host_bytes))
        return 0;
    s->scratch = all;
    if (output)
        s->output = all + scratch;
    if (input)
        s->input = all + scratch + output;
    return 1;
}

static int allocate_on_host(struct staging *s, const struct plan *plan, int own_input)
{
    if (s->own_output)
        s->output = s->allocated[0] = host_memory_take(plan->output_bytes);
    if (own_input)
        s->input = s->allocated[1] = host_memory_take(plan->input_bytes);
    if (plan->scratch_bytes)
        s->scratch = s->allocated[2] = host_memory_take(plan->scratch_bytes);
    if (plan->host_bytes)
        s->host = s->allocated[3] = host_memory_take(plan->host_bytes);
    return (s->output || !plan->output_bytes) && (s->input || !plan->input_bytes) &&
           (s->scratch || !plan->scratch_bytes) && (s->host || !plan->host_bytes);
}

static int staging_fill(struct staging *s, const struct mpi_call *call, MPI_Comm comm,
                        int own_input)
{
    const struct call_input *in = &call->input;
    const struct call_output *out = &call->output;
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && own_input && i < in->n; i++) {
        struct call_block b = in->blocks(call, i);
        rc = device_pack(call_block_layout(&b, &in->layout), b.user, b.count, s->input + b.packed,
                         comm);
    }
    if (own_input && !in->n)
        rc = device_pack(&in->layout, in->block.user, in->block.count, s->input, comm);
    if (rc == MPI_SUCCESS && s->own_output && out->held != NO_BLOCK) {
        struct call_block own = out->block(call, out->held);
        rc = device_pack(&out->layout, own.user, own.count, s->output + own.packed, comm);
    }
    return rc;
}

/* Both sides of a call that reads and writes so many packed bytes here. */
static void look_at_both(const struct mpi_call *call, uint64_t input_bytes, uint64_t output_bytes,
                         struct staging_side *in, struct staging_side *out)
{
    size_t alignment = alignment_of(call);

    struct call_block from =
        call->input.n ? first_block(call, call->input.n, call->input.blocks) : call->input.block;
    struct call_block to = first_block(call, call->output.n, call->output.block);

    *in = look_at(call_block_layout(&from, &call->input.layout), from, input_bytes > 0, alignment);
    *out = look_at(call_block_layout(&to, &call->output.layout), to,
                   output_bytes > 0 && call->output.n, alignment);
    in->stays &= !from.is_own;
    out->stays &= !to.is_own;
}

/* The device that runs the call; NULL if the call cannot stay on one. */
static struct cuda_gpu *stay(struct mpi_comm *c, const struct mpi_call *call,
                             const struct staging_side *in, const struct staging_side *out)
{
    const struct cuda_place *place = common_place(in, out);

    if ((!in->stays && in->used) || (!out->stays && out->used) || !place ||
        (!in->used && !out->used))
        return NULL;
    return get_gpu(c, call, place);
}

int staging_stays(struct mpi_comm *c, const struct mpi_call *call)
{
    const struct plan_request *q = &call->request;
    struct staging_side in, out;

    if (!cuda_present() || call->wrong)
        return 0;
    look_at_both(call, plan_input_bytes(q, c->rank), plan_output_bytes(q, c->rank), &in, &out);
    return stay(c, call, &in, &out) != NULL;
}

/* Try to leave everything on the device. Returns 1 if it stays. */
static int open_on_device(struct staging *s, struct mpi_comm *c, const struct mpi_call *call,
                          const struct plan *plan, const struct staging_side *in,
                          const struct staging_side *out, int own_input)
{
    s->gpu = stay(c, call, in, out);
    if (!s->gpu)
        return 0;
    s->place = *common_place(in, out);
    s->device = cuda_gpu_begin(s->gpu, call->combines ? call->reduction.kernel_type : KERNEL_NONE,
                               call->reduction.kernel_op);
    if (!s->device)
        return 0;
    if (allocate_on_device(s, plan, own_input))
        return 1;
    cuda_gpu_end(s->gpu);
    s->device = NULL;
    s->gpu = NULL;
    return 0;
}

/* Where the application's buffers are, and which of them it cannot use. Returns 1 if it needs an
   input of its own. */
static int begin_staging(struct staging *s, const struct mpi_call *call, const struct plan *plan,
                         int own_output, struct staging_side *in, struct staging_side *out)
{
    *s = (struct staging){.own_output = own_output || !call->output.dense};
    if (cuda_present())
        look_at_both(call, plan->input_bytes, plan->output_bytes, in, out);
    s->input = call->input.block.user;
    if (!s->own_output)
        s->output = call->output.n ? call->output.block(call, 0).user : NULL;
    return plan->input_bytes && (!call->input.layout.dense || call->input.stage);
}

/* In host memory. own_input: besides what lies on a device. *own_input: what it then is. */
static int stage_on_host(struct staging *s, const struct plan *plan, const struct staging_side *in,
                         const struct staging_side *out, int *own_input)
{
    *own_input |= in->on_device;
    s->own_output |= out->on_device;
    return allocate_on_host(s, plan, *own_input) ? 0 : -ENOMEM;
}

int staging_open(struct staging *s, struct mpi_comm *c, const struct mpi_call *call,
                 const struct plan *plan, int own_output)
{
    const struct plan buffers_alone = {.input_bytes = plan_input_bytes(&call->request, c->rank),
                                       .output_bytes = plan_output_bytes(&call->request, c->rank)};
    struct staging_side in = {0}, out = {0};

    plan = plan ? plan : &buffers_alone;
    int own_input = begin_staging(s, call, plan, own_output, &in, &out);
    if ((in.on_device || out.on_device) && !call->nonblocking &&
        open_on_device(s, c, call, plan, &in, &out, own_input))
        return staging_fill(s, call, c->private_comm, own_input);
    int rc = stage_on_host(s, plan, &in, &out, &own_input);
    return rc ? rc : staging_fill(s, call, c->private_comm, own_input);
}

int staging_reserve(struct staging *s, const struct mpi_call *call, const struct plan *plan)
{
    struct staging_side in = {0}, out = {0};
    int own_input = begin_staging(s, call, plan, 0, &in, &out);

    return stage_on_host(s, plan, &in, &out, &own_input);
}

int staging_again(struct staging *s, const struct mpi_call *call, MPI_Comm comm)
{
    return staging_fill(s, call, comm, s->allocated[1] != NULL);
}

void staging_close(struct staging *s)
{
    for (int i = 0; i < 4; i++)
        host_memory_give(s->allocated[i]);
    if (s->device)
        cuda_gpu_end(s->gpu);
}

int staging_deliver(const struct staging *s, const struct mpi_call *call, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;

    if (!s->own_output || call->output.unchanged)
        return rc;
    for (int i = 0; rc == MPI_SUCCESS && i < call->output.n; i++) {
        struct call_block b = call->output.block(call, i);
        rc = device_unpack(call_block_layout(&b, &call->output.layout), s->output + b.packed,
                           b.user, b.count, comm);
    }
    return rc;
}

/* Are two packed outputs equal? */
static int blocks_equal(const struct mpi_call *call, const char *a, const char *b, size_t bytes)
{
    for (int i = 0; i < call->output.n; i++) {
        struct call_block block = call->output.block(call, i);

        if (!block.is_own)
            return layout_equal(&call->output.layout, a, b, bytes);
        if (!layout_equal(&block.own, a + block.packed, b + block.packed,
                          (size_t)(block.count * block.own.size)))
            return 0;
    }
    return 1;
}

int staging_verify(const struct staging *s, const struct mpi_call *call, const struct mpi_comm *c)
{
    size_t bytes = plan_output_bytes(&call->request, c->rank);
    char *expected = host_memory_take(bytes), *fetched = NULL;
    const char *got = s->output;
    int rc = expected ? MPI_SUCCESS : MPI_ERR_NO_MEM, equal = -1;

    for (int i = 0; rc == MPI_SUCCESS && i < call->output.n; i++) {
        struct call_block b = call->output.block(call, i);
        rc = device_pack(call_block_layout(&b, &call->output.layout), b.user, b.count,
                         expected + b.packed, c->private_comm);
    }
    if (rc == MPI_SUCCESS && s->device) {
        got = fetched = host_memory_take(bytes);
        if (!fetched || cuda_move(&s->place, fetched, s->output, bytes) < 0)
            rc = MPI_ERR_OTHER;
    }
    if (rc == MPI_SUCCESS)
        equal = call->combines ? reduction_equal(&call->reduction, expected, got, bytes, c->size)
                               : blocks_equal(call, expected, got, bytes);
    host_memory_give(expected);
    host_memory_give(fetched);
    return equal;
}

int staging_run(struct engine *e, const struct engine_buffers *buffers)
{
    FLOATS_THEIRS;
    return engine_run(e, buffers);
}
