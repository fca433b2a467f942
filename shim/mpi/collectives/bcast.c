/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast: the root's buffer holds the vector; all other ranks receive it in theirs. */
#include <stdint.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/device.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/choose/reroute.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"
#include "transports/base/host_memory.h"

struct bcast_arguments {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;
    MPI_Comm comm;
    struct call_form form;
};

/*
 * The library's function, with bytes. Some algorithms of Open MPI cut the vector into segments of
 * whole elements, by each rank's own datatype. Ranks may have different datatypes, and then their
 * segments would not match. An int counts the bytes: variants_prepare() lets no other call through.
 */
static int native_bcast_bytes(const struct mpi_call *call)
{
    const struct bcast_arguments *a = call->arguments;
    int bytes = (int)call->total, rank;

    if (call->wrong)
        return a->form.native(call);
    if (call->output.layout.dense)
        return mpi.Bcast(a->buffer, bytes, MPI_BYTE, a->root, call->comm);
    mpi.Comm_rank(call->comm, &rank);
    void *packed = host_memory_take(call->total);
    int rc = packed ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS && rank == a->root)
        rc = device_pack(&call->output.layout, a->buffer, a->count, packed, call->comm);
    /* Without memory the rank takes part as it can: the others wait for it. */
    int sent =
        packed ? mpi.Bcast(packed, bytes, MPI_BYTE, a->root, call->comm) : a->form.native(call);
    rc = rc ? rc : sent;
    if (rc == MPI_SUCCESS && rank != a->root)
        rc = device_unpack(&call->output.layout, packed, a->buffer, a->count, call->comm);
    host_memory_give(packed);
    return rc;
}

static int bcast_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct bcast_arguments *a = call->arguments;
    int root = library_is_root(a->comm, a->root);

    list[0] = library_block(&a->buffer, a->count, a->type);
    list[0].reads = root == 1;
    list[0].writes = root == 0;
    return root >= 0;
}

static struct call_block buffer_block(const struct mpi_call *call, int i)
{
    const struct bcast_arguments *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->buffer, .count = a->count};
}

static int bcast_run(struct mpi_comm *c, const struct bcast_arguments *a, struct mpi_call *call)
{
    int at_root = c->rank == a->root;

    call->request.root = a->root;
    call->request.nbytes = (size_t)call->total;
    call->output.n = 1;
    call->output.block = buffer_block;
    call->output.held = at_root ? 0 : NO_BLOCK;
    call->output.unchanged = at_root;
    if (layout_of(a->type, &call->output.layout) < 0)
        return mpi_reroute_wrong(c, call, MPI_ERR_TYPE).rc;
    call->output.dense = call->output.layout.dense;
    return mpi_reroute(c, call).rc;
}

static int bcast(const struct bcast_arguments *a)
{
    FLOATS_OURS;
    struct mpi_call call =
        mpi_call_begin(COLL_BCAST, a->comm, &a->form, a, sizeof *a, bcast_buffers);
    enum reason why = mpi_process.verdict;
    struct mpi_comm *c = NULL;
    int size;

    call.native_alike = native_bcast_bytes;
    if (!why) {
        why = REASON_ARGUMENTS;
        if (a->comm != MPI_COMM_NULL && mpi.Comm_size(a->comm, &size) == MPI_SUCCESS &&
            a->root >= 0 && a->root < size && !bytes_of(a->count, a->type, &call.total))
            why = gate_size(call.total);
    }
    if (!why && refused_block(COLL_BCAST, REFUSED_SEND, a->buffer, a->count, a->type))
        why = REASON_ARGUMENTS;
    if (!why)
        c = mpi_gate_claimed(&call, size, &why);
    if (c)
        return bcast_run(c, a, &call);
    return library_serves(&call, why);
}

#define TEMPLATE "shim/mpi/collectives/bcast_wraps.h"
#include "shim/mpi/collectives/forms.h"
