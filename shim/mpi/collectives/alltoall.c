/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoall. Sizes are taken from the receive side, which is there in place too. In place, the
 * data is copied aside first: blocks arrive where others still have to leave.
 */
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

struct alltoall_arguments {
    const void *sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count recvcount;
    MPI_Datatype recvtype;
    MPI_Comm comm;
    struct call_form form;
    int size;
};

/* The data of a side, packed: the application's own, or a copy in *room, owned. NULL: no memory. */
static void *packed_side(const struct mpi_call *call, const struct layout *layout,
                         const void *buffer, void **room)
{
    if (layout->dense)
        return (void *)(uintptr_t)buffer;
    *room = host_memory_take((size_t)call->total);
    return *room;
}

/*
 * The library's function, with bytes. Open MPI's modified Bruck measures received blocks by the
 * extent of the sent ones (4.1.4), and MPICH's Bruck expects every rank's type to be its own
 * (4.0.2). Without memory the rank takes part as it can: the others wait for it. An int counts the
 * bytes: variants_prepare() lets no other call through.
 */
static int native_alltoall_bytes(const struct mpi_call *call)
{
    const struct alltoall_arguments *a = call->arguments;
    int block = (int)(call->total / (uint64_t)a->size), in_place = a->sendbuf == MPI_IN_PLACE;
    void *room[2] = {NULL, NULL}, *out, *in = NULL;

    if (call->wrong)
        return a->form.native(call);
    out = packed_side(call, &call->output.layout, a->recvbuf, &room[0]);
    if (!in_place)
        in = packed_side(call, &call->input.layout, a->sendbuf, &room[1]);
    int ready = out && (in_place || in), rc = ready ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (ready && in_place && room[0])
        rc = device_pack(&call->output.layout, a->recvbuf, a->recvcount * a->size, out, call->comm);
    else if (ready && room[1])
        rc = device_pack(&call->input.layout, a->sendbuf, a->sendcount * a->size, in, call->comm);
    int sent = !ready ? a->form.native(call)
               : in_place
                   ? mpi.Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, out, block, MPI_BYTE, call->comm)
                   : mpi.Alltoall(in, block, MPI_BYTE, out, block, MPI_BYTE, call->comm);
    rc = rc ? rc : sent;
    if (rc == MPI_SUCCESS && ready && room[0])
        rc = device_unpack(&call->output.layout, out, a->recvbuf, a->recvcount * a->size,
                           call->comm);
    host_memory_give(room[0]);
    host_memory_give(room[1]);
    return rc;
}

static int alltoall_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct alltoall_arguments *a = call->arguments;
    int peers = library_peers(a->comm);
    struct library_buffer send =
        library_block(&a->sendbuf, library_times(a->sendcount, peers), a->sendtype);
    struct library_buffer receive =
        library_block(&a->recvbuf, library_times(a->recvcount, peers), a->recvtype);

    return library_buffers(list, &send, &receive);
}

/* All blocks, which lie one behind the other. */
static struct call_block alltoall_all_blocks(const struct mpi_call *call, int i)
{
    const struct alltoall_arguments *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->recvbuf, .count = a->recvcount * a->size};
}

/* The verdict of this rank's arguments alone (refused.h). */
static int alltoall_refused(const struct alltoall_arguments *a)
{
    const int c = COLL_ALLTOALL;

    if (refused_block(c, REFUSED_RECEIVE, a->recvbuf, a->recvcount, a->recvtype))
        return 1;
    if (a->sendbuf == MPI_IN_PLACE)
        return 0;
    return refused_block(c, REFUSED_SEND, a->sendbuf, a->sendcount, a->sendtype) ||
           (a->sendtype == a->recvtype && a->sendcount == a->recvcount &&
            refused_alias(c, a->sendbuf, a->recvbuf, 0, a->recvcount, a->recvtype));
}

static int alltoall_run(struct mpi_comm *c, const struct alltoall_arguments *a,
                        struct mpi_call *call)
{
    uint64_t sends;

    call->output.held = NO_BLOCK;
    call->output.n = 1;
    call->output.block = alltoall_all_blocks;
    if (layout_of(a->recvtype, &call->output.layout) < 0)
        return mpi_reroute_wrong(c, call, MPI_ERR_TYPE).rc;
    call->output.dense = call->output.layout.dense;
    if (a->sendbuf == MPI_IN_PLACE) {
        call->input.layout = call->output.layout;
        call->input.block = alltoall_all_blocks(call, 0);
        call->input.stage = 1;
        return mpi_reroute(c, call).rc;
    }
    if (bytes_of(a->sendcount, a->sendtype, &sends) < 0 ||
        layout_of(a->sendtype, &call->input.layout) < 0)
        return mpi_reroute_wrong(c, call, MPI_ERR_TYPE).rc;
    if (sends != call->request.nbytes)
        return mpi_reroute_wrong(c, call, MPI_ERR_TRUNCATE).rc;
    call->input.block =
        (struct call_block){.user = (char *)(uintptr_t)a->sendbuf, .count = a->sendcount * a->size};
    return mpi_reroute(c, call).rc;
}

static int alltoall(struct alltoall_arguments *a)
{
    FLOATS_OURS;
    struct mpi_call call =
        mpi_call_begin(COLL_ALLTOALL, a->comm, &a->form, a, sizeof *a, alltoall_buffers);
    struct mpi_comm *c = NULL;
    uint64_t block;
    enum reason why = gate_blocks(&call, a->recvcount, a->recvtype, &block, &a->size);

    call.native_alike = native_alltoall_bytes;
    if (!why && alltoall_refused(a))
        why = REASON_ARGUMENTS;
    if (!why)
        c = mpi_gate_claimed(&call, a->size, &why);
    if (c) {
        call.request.nbytes = (size_t)block;
        return alltoall_run(c, a, &call);
    }
    mpi_meet_if_small(&call, why);
    return library_serves(&call, why);
}

#define TEMPLATE "shim/mpi/collectives/alltoall_wraps.h"
#include "shim/mpi/collectives/forms.h"
