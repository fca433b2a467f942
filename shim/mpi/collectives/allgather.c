/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allgather and MPI_Allgatherv. Sizes are taken from the receive side, which is the
 * same on all ranks and is there in place too.
 */
#include <stdint.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/choose/reroute.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"

struct allgather_arguments {
    const void *sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count recvcount; /* of each block; Allgather */
    MPI_Datatype recvtype;
    struct counts recvcounts; /* Allgatherv */
    struct displs displs;
    struct vectors blocks;  /* the two, as a call reads them that has started */
    const uint64_t *offset; /* where each block starts, packed */
    MPI_Comm comm;
    struct call_form form;
};

static int allgather_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct allgather_arguments *a = call->arguments;
    struct library_buffer send = library_block(&a->sendbuf, a->sendcount, a->sendtype);
    struct library_buffer receive = library_block(&a->recvbuf, a->recvcount, a->recvtype);

    if (counts_given(a->recvcounts)) {
        receive.n = displs_given(a->displs) ? library_peers(a->comm) : 0;
        receive.counts = a->recvcounts;
        receive.displs = a->displs;
    } else {
        receive.count = library_times(a->recvcount, library_peers(a->comm));
    }
    return library_buffers(list, &send, &receive);
}

static struct call_block allgather_block(const struct mpi_call *call, int i)
{
    const struct allgather_arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf +
                                       i * a->recvcount * call->output.layout.extent,
                               .count = a->recvcount,
                               .packed = (uint64_t)i * call->request.nbytes};
}

static struct call_block allgatherv_block(const struct mpi_call *call, int i)
{
    const struct allgather_arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf +
                                       displs_at(a->blocks.displs, i) * call->output.layout.extent,
                               .count = counts_at(a->blocks.counts, i),
                               .packed = a->offset[i]};
}

/* The verdict of this rank's arguments alone, on an intracommunicator of n ranks (refused.h). */
static int allgather_refused(const struct allgather_arguments *a, enum plan_collective c, int n)
{
    int vector = counts_given(a->recvcounts), rank;
    MPI_Count count, displ;

    if (vector ? refused_blocks(c, REFUSED_RECEIVE, a->recvbuf, a->recvcounts, a->displs, n,
                                a->recvtype, NULL)
               : refused_block(c, REFUSED_RECEIVE, a->recvbuf, a->recvcount, a->recvtype))
        return 1;
    if (a->sendbuf == MPI_IN_PLACE)
        return 0;
    if (refused_block(c, REFUSED_SEND, a->sendbuf, a->sendcount, a->sendtype))
        return 1;
    if (a->sendtype != a->recvtype || mpi.Comm_rank(a->comm, &rank) != MPI_SUCCESS)
        return 0;
    count = vector ? counts_at(a->recvcounts, rank) : a->recvcount;
    displ = vector ? displs_at(a->displs, rank) : rank * count;
    return count == a->sendcount &&
           refused_alias(c, a->sendbuf, a->recvbuf, displ, count, a->recvtype);
}

/* The part that both have in common, once comm is known to take part. */
static int allgather_run(struct mpi_comm *c, const struct allgather_arguments *a,
                         struct mpi_call *call)
{
    call->output.n = c->size;
    call->request.in_place = a->sendbuf == MPI_IN_PLACE;
    call->output.held = call->request.in_place ? c->rank : NO_BLOCK;
    if (layout_of(a->recvtype, &call->output.layout) < 0)
        return mpi_reroute_wrong(c, call, MPI_ERR_TYPE).rc;
    call->output.dense =
        call->output.layout.dense &&
        (!call->request.bytes ||
         vectors_are_packed(&a->blocks, c->size, call->output.layout.extent, a->offset));
    if (!call->request.in_place) {
        uint64_t own = plan_block_bytes(&call->request, c->rank), sends;

        if (bytes_of(a->sendcount, a->sendtype, &sends) < 0 ||
            layout_of_elements(a->sendcount, a->sendtype, &call->input.layout) < 0)
            return mpi_reroute_wrong(c, call, MPI_ERR_TYPE).rc;
        if (sends != own)
            return mpi_reroute_wrong(c, call, MPI_ERR_TRUNCATE).rc;
        call->input.block =
            (struct call_block){.user = (char *)(uintptr_t)a->sendbuf, .count = a->sendcount};
    }
    return mpi_reroute(c, call).rc;
}

static int allgather(const struct allgather_arguments *a)
{
    FLOATS_OURS;
    struct mpi_call call =
        mpi_call_begin(COLL_ALLGATHER, a->comm, &a->form, a, sizeof *a, allgather_buffers);
    struct mpi_comm *c = NULL;
    uint64_t block;
    int size;
    enum reason why = gate_blocks(&call, a->recvcount, a->recvtype, &block, &size);

    if (!why && allgather_refused(a, COLL_ALLGATHER, size))
        why = REASON_ARGUMENTS;
    if (!why)
        c = mpi_gate_claimed(&call, size, &why);
    if (c) {
        call.request.nbytes = (size_t)block;
        call.output.block = allgather_block;
        return allgather_run(c, a, &call);
    }
    mpi_meet_if_small(&call, why);
    return library_serves(&call, why);
}

static int allgatherv(struct allgather_arguments *a)
{
    FLOATS_OURS;
    struct mpi_call call =
        mpi_call_begin(COLL_ALLGATHERV, a->comm, &a->form, a, sizeof *a, allgather_buffers);
    enum reason why = mpi_process.verdict;
    struct mpi_comm *c = NULL;
    int size, inter;

    if (!why) {
        why = REASON_ARGUMENTS;
        /* An intercommunicator's counts are the remote group's: its size says nothing about them.
         */
        if (a->comm != MPI_COMM_NULL && mpi.Comm_test_inter(a->comm, &inter) == MPI_SUCCESS) {
            if (inter)
                why = REASON_INTERCOMM;
            else if (mpi.Comm_size(a->comm, &size) == MPI_SUCCESS &&
                     !vectors_sizes(a->recvcounts, size, a->recvtype, NULL, NULL, &call.total))
                why = gate_size(call.total);
        }
    }
    if (!why && allgather_refused(a, COLL_ALLGATHERV, size))
        why = REASON_ARGUMENTS;
    if (!why)
        c = mpi_gate_claimed(&call, size, &why);
    if (c) {
        size_t *bytes;
        uint64_t *offset;

        nonblocking_room(c, &call, &bytes, &offset);
        vectors_sizes(a->recvcounts, size, a->recvtype, bytes, offset, &call.total);
        a->blocks = vectors_keep(a->recvcounts, a->displs, size, nonblocking_vectors(c, &call));
        a->offset = offset;
        call.request.bytes = bytes;
        call.output.block = allgatherv_block;
        return allgather_run(c, a, &call);
    }
    mpi_meet_if_small(&call, why);
    return library_serves(&call, why);
}

#define TEMPLATE "shim/mpi/collectives/allgather_wraps.h"
#include "shim/mpi/collectives/forms.h"
