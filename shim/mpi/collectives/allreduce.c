/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan.
 * Elements keep the form they have in memory, gaps of pair types included: predefined types only
 * (reduction.h).
 */
#include <stdint.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/vectors.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/choose/reduction_pairs.h"
#include "shim/mpi/choose/reroute.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"

struct allreduce_arguments {
    enum plan_collective collective;
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count; /* elements of the vector, or of each block */
    MPI_Datatype type;
    MPI_Op op;
    struct counts counts; /* Reduce_scatter */
    int root;
    MPI_Comm comm;
    struct call_form form;
};

/* Does each rank have the whole vector, with the same number of elements in and out? */
static int takes_vector(enum plan_collective c)
{
    return c == COLL_ALLREDUCE || plan_is_prefix(c);
}

/* In place, the vector lies where otherwise only the own block is. */
static int reduce_scatter_buffers(const struct allreduce_arguments *a, struct library_buffer send,
                                  struct library_buffer receive, struct library_buffer *list)
{
    int size, rank;

    if (mpi.Comm_size(a->comm, &size) != MPI_SUCCESS || mpi.Comm_rank(a->comm, &rank))
        return 0;
    send.count = library_times(a->count, size);
    if (a->collective == COLL_REDUCE_SCATTER) {
        if (!counts_given(a->counts))
            return 0;
        send.count = 0;
        for (int i = 0; i < size; i++)
            send.count += counts_at(a->counts, i);
        receive.count = counts_at(a->counts, rank);
    }
    if (a->sendbuf == MPI_IN_PLACE)
        receive.count = send.count;
    return library_buffers(list, &send, &receive);
}

/* Exscan's rank 0 receives nothing; in place, its contribution is in the receive buffer. */
static int allreduce_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct allreduce_arguments *a = call->arguments;
    struct library_buffer send = library_block(&a->sendbuf, a->count, a->type);
    struct library_buffer receive = library_block(&a->recvbuf, a->count, a->type);
    int root, rank;

    switch (a->collective) {
    case COLL_REDUCE:
        root = library_is_root(a->comm, a->root);
        return root < 0 ? 0
                        : library_buffers(list, a->root == MPI_ROOT ? NULL : &send,
                                          root ? &receive : NULL);
    case COLL_EXSCAN:
        if (mpi.Comm_rank(a->comm, &rank) != MPI_SUCCESS)
            return 0;
        return library_buffers(list, &send, rank || a->sendbuf == MPI_IN_PLACE ? &receive : NULL);
    case COLL_REDUCE_SCATTER:
    case COLL_REDUCE_SCATTER_BLOCK:
        return reduce_scatter_buffers(a, send, receive, list);
    default:
        return library_buffers(list, &send, &receive);
    }
}

/* The one block that the output is; its length is in own_bytes. */
static struct call_block allreduce_output_block(const struct mpi_call *call, int i)
{
    const struct allreduce_arguments *a = call->arguments;

    (void)i;
    return (struct call_block){
        .user = a->recvbuf,
        .count = (MPI_Count)(plan_output_bytes(&call->request, call->request.rank) /
                             call->request.grain)};
}

/*
 * The verdict of this rank's arguments alone (refused.h), on a vector of that many elements, or on
 * all blocks together. Types are predefined here. If counts differ, a rank without a block needs no
 * receive buffer.
 */
static int allreduce_refused(const struct allreduce_arguments *a, enum plan_collective c,
                             MPI_Count elements)
{
    int in_place = a->sendbuf == MPI_IN_PLACE, rank, receives = 1;
    MPI_Count received = counts_given(a->counts) ? elements : a->count;

    if (mpi.Comm_rank(a->comm, &rank) != MPI_SUCCESS)
        return 1;
    if (c == COLL_REDUCE) {
        receives = rank == a->root;
        if (in_place && !receives)
            return 1;
    } else if (c == COLL_EXSCAN) {
        receives = rank || in_place;
    } else if (c == COLL_REDUCE_SCATTER && !in_place) {
        receives = counts_at(a->counts, rank) > 0;
    }
    if (!in_place && refused_block(c, REFUSED_SEND, a->sendbuf, elements, a->type))
        return 1;
    if (receives && refused_block(c, REFUSED_RECEIVE, a->recvbuf, received, a->type))
        return 1;
    /* Libraries look at Exscan's receive buffer on rank 0, too. */
    return !in_place && (receives || c == COLL_EXSCAN) &&
           refused_alias(c, a->sendbuf, a->recvbuf, 0, received, a->type);
}

/* May the call be rerouted? Its communicator and REASON_NONE; or why the library serves it, and the
   communicator if it came that far. */
static struct mpi_comm *allreduce_gate(const struct allreduce_arguments *a, struct mpi_call *call,
                                       MPI_Count elements, enum reason *why)
{
    struct mpi_comm *c = NULL;
    int size;

    *why = mpi_process.verdict;
    if (!*why)
        *why = a->comm == MPI_COMM_NULL || bytes_of(elements, a->type, &call->total) < 0
                   ? REASON_ARGUMENTS
                   : gate_size(call->total);
    if (!*why && !reduction_of(a->type, a->op, &call->reduction))
        *why = REASON_OPERATION;
    if (!*why)
        *why = gate_rounding(call->reduction.rounds);
    if (!*why && allreduce_refused(a, call->collective, elements))
        *why = REASON_ARGUMENTS;
    if (!*why && mpi.Comm_size(a->comm, &size) == MPI_SUCCESS)
        c = mpi_gate_claimed(call, size, why);
    if (c)
        *why = mpi_gate_reduction(c, call);
    return c;
}

static void allreduce_request(struct mpi_comm *c, const struct allreduce_arguments *a,
                              struct mpi_call *call)
{
    size_t extent = call->reduction.extent, *bytes;

    call->request = (struct plan_request){.collective = call->collective,
                                          .topo = c->topo,
                                          .rank = c->rank,
                                          .root = a->root,
                                          .nbytes = (size_t)a->count * extent,
                                          .grain = extent,
                                          .in_place = takes_vector(a->collective) &&
                                                      a->sendbuf == MPI_IN_PLACE};
    if (!counts_given(a->counts))
        return;
    nonblocking_room(c, call, &bytes, NULL);
    for (int r = 0; r < c->size; r++)
        bytes[r] = (size_t)counts_at(a->counts, r) * extent;
    call->request.bytes = bytes;
}

static void allreduce_fill(struct mpi_comm *c, const struct allreduce_arguments *a,
                           struct mpi_call *call, MPI_Count elements)
{
    const struct plan_request *q = &call->request;
    size_t extent = call->reduction.extent;
    int in_place = a->sendbuf == MPI_IN_PLACE;

    allreduce_request(c, a, call);
    call->total = (uint64_t)elements * extent;
    call->combines = 1;
    call->input.layout = call->output.layout = (struct layout){
        .type = a->type, .size = (MPI_Count)extent, .extent = (MPI_Count)extent, .dense = 1};
    /* A contribution in the receive buffer would be overwritten by the result too early. */
    int takes_output = plan_in_place(q, c->rank);
    call->output.n = plan_output_bytes(q, c->rank) > 0;
    call->input.stage = in_place && !takes_output && call->output.n;
    call->input.block =
        (struct call_block){.user = in_place ? a->recvbuf : (char *)(uintptr_t)a->sendbuf,
                            .count = (MPI_Count)(plan_input_bytes(q, c->rank) / extent)};
    call->output.block = allreduce_output_block;
    call->output.dense = 1;
    call->output.held = takes_output ? 0 : NO_BLOCK;
}

/* The vector's elements, or those of all blocks; equal on all ranks. -1: the library judges. */
static MPI_Count elements_of(const struct allreduce_arguments *a)
{
    MPI_Count elements;
    uint64_t sum;
    int size;

    if (takes_vector(a->collective))
        return a->count;
    if (a->comm == MPI_COMM_NULL || mpi.Comm_size(a->comm, &size) != MPI_SUCCESS)
        return -1;
    /* The library refuses a root that does not exist; on all ranks alike, as MPI requires. */
    if (a->collective == COLL_REDUCE)
        return a->root < 0 || a->root >= size ? -1 : a->count;
    if (a->collective == COLL_REDUCE_SCATTER)
        return vectors_sizes(a->counts, size, MPI_BYTE, NULL, NULL, &sum) < 0 ? -1 : (MPI_Count)sum;
    return a->count < 0 || __builtin_mul_overflow(a->count, size, &elements) ? -1 : elements;
}

/* Each call. Handles are equal on all ranks. Returns what MPI returns. */
static int allreduce_run(const struct allreduce_arguments *a)
{
    FLOATS_OURS;
    struct mpi_call call =
        mpi_call_begin(a->collective, a->comm, &a->form, a, sizeof *a, allreduce_buffers);
    MPI_Count elements = elements_of(a);
    enum reason why;
    struct mpi_comm *c = allreduce_gate(a, &call, elements, &why);

    if (!why) {
        allreduce_fill(c, a, &call, elements);
        return mpi_reroute(c, &call).rc;
    }
    if (a->collective != COLL_REDUCE)
        mpi_meet_if_small(&call, why);
    int rc = library_serves(&call, why);
    if (why == REASON_UNTRIED)
        reduction_pairs_served(c, &call.reduction, rc);
    return rc;
}

#define TEMPLATE "shim/mpi/collectives/allreduce_wraps.h"
#include "shim/mpi/collectives/forms.h"
