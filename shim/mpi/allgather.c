/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allgather and MPI_Allgatherv. Sizes are taken from the receive side, which is the
 * same on all ranks and is there in place too.
 */
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/wrappers.h"

struct arguments {
    const void *sendbuf;
    int sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    int recvcount;         /* Allgather */
    const int *recvcounts; /* Allgatherv */
    const int *displs;
    const uint64_t *offset; /* where each block starts, packed */
    MPI_Datatype recvtype;
    MPI_Comm comm;
};

static int native_allgather(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Allgather(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount,
                         a->recvtype, a->comm);
}

static int native_allgatherv(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Allgatherv(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcounts,
                          a->displs, a->recvtype, a->comm);
}

static struct call_block allgather_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf +
                                       (MPI_Count)i * a->recvcount * call->output.extent,
                               .count = a->recvcount,
                               .packed = (uint64_t)i * call->request.nbytes};
}

static struct call_block allgatherv_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf + a->displs[i] * call->output.extent,
                               .count = a->recvcounts[i],
                               .packed = a->offset[i]};
}

/* What both have in common, once comm is known to take part. */
static int run(struct comm *c, const struct arguments *a, struct call *call)
{
    call->comm = a->comm;
    call->arguments = a;
    call->nblocks = c->size;
    call->request.grain = 1;
    call->request.in_place = a->sendbuf == MPI_IN_PLACE;
    call->held_block = call->request.in_place ? c->rank : NO_BLOCK;
    if (a->recvbuf == MPI_IN_PLACE || layout_is_nowhere(a->recvbuf, &call->output, call->total))
        return leave_to_library(call);
    if (!call->request.in_place) {
        size_t own = call->request.bytes ? call->request.bytes[c->rank] : call->request.nbytes;

        if (a->sendcount < 0 || layout_of(a->sendtype, &call->input) < 0 ||
            (MPI_Count)own != a->sendcount * call->input.size ||
            layout_is_nowhere(a->sendbuf, &call->input, own))
            return leave_to_library(call);
        call->input_block =
            (struct call_block){.user = (char *)(uintptr_t)a->sendbuf, .count = a->sendcount};
    }
    return reroute(c, call);
}

int wrap_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .sendcount = sendcount,
                          .sendtype = sendtype,
                          .recvbuf = recvbuf,
                          .recvcount = recvcount,
                          .recvtype = recvtype,
                          .comm = comm};
    enum reason why = REASON_ARGUMENTS;
    MPI_Count element;
    int size;

    if (recvcount >= 0 && recvtype != MPI_DATATYPE_NULL && comm != MPI_COMM_NULL &&
        mpi.Type_size_x(recvtype, &element) == MPI_SUCCESS && element >= 0 &&
        mpi.Comm_size(comm, &size) == MPI_SUCCESS) {
        uint64_t total = (uint64_t)recvcount * (uint64_t)element * (uint64_t)size;
        struct comm *c = NULL;

        why = gate_size(total);
        if (!why)
            c = gate_comm(comm, size, COLL_ALLGATHER, &why);
        if (c) {
            struct call call = {.collective = COLL_ALLGATHER,
                                .request = {.collective = COLL_ALLGATHER,
                                            .nbytes = (size_t)recvcount * (size_t)element},
                                .total = total,
                                .native = native_allgather,
                                .output_block = allgather_block};
            if (!layout_of(recvtype, &call.output)) {
                call.output_dense = call.output.dense;
                return run(c, &a, &call);
            }
            why = REASON_ARGUMENTS;
        }
    }
    count_native(COLL_ALLGATHER, why);
    return mpi.Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

/* Total bytes of all blocks; -1 if a count is negative. */
static int64_t sum_of(const int *counts, int n, MPI_Count element)
{
    int64_t total = 0;

    for (int i = 0; i < n; i++) {
        if (counts[i] < 0)
            return -1;
        total += counts[i] * (int64_t)element;
    }
    return total;
}

/* Do the blocks lie one behind the other, in rank order, as the packed output does? */
static int blocks_are_packed(const struct arguments *a, const struct call *call, int n)
{
    for (int i = 0; i < n; i++)
        if (a->recvcounts[i] && (uint64_t)(((MPI_Count)a->displs[i] - a->displs[0]) *
                                           call->output.extent) != a->offset[i])
            return 0;
    return call->output.dense;
}

int wrap_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const int *recvcounts, const int *displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct arguments a = {.sendbuf = sendbuf,
                          .sendcount = sendcount,
                          .sendtype = sendtype,
                          .recvbuf = recvbuf,
                          .recvcounts = recvcounts,
                          .displs = displs,
                          .recvtype = recvtype,
                          .comm = comm};
    enum reason why = REASON_ARGUMENTS;
    MPI_Count element;
    int size, inter = 0;
    int64_t total;

    /* An intercommunicator's counts are the remote group's: its size says nothing about them. */
    if (recvcounts && displs && recvtype != MPI_DATATYPE_NULL && comm != MPI_COMM_NULL &&
        mpi.Type_size_x(recvtype, &element) == MPI_SUCCESS && element >= 0 &&
        mpi.Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter &&
        mpi.Comm_size(comm, &size) == MPI_SUCCESS &&
        (total = sum_of(recvcounts, size, element)) >= 0) {
        struct comm *c = NULL;

        why = gate_size((uint64_t)total);
        if (!why)
            c = gate_comm(comm, size, COLL_ALLGATHERV, &why);
        if (c) {
            struct call call = {.collective = COLL_ALLGATHERV,
                                .request = {.collective = COLL_ALLGATHERV, .bytes = c->bytes},
                                .total = (uint64_t)total,
                                .native = native_allgatherv,
                                .output_block = allgatherv_block};
            uint64_t next = 0;

            for (int i = 0; i < size; i++) {
                c->bytes[i] = (size_t)recvcounts[i] * (size_t)element;
                c->offset[i] = next;
                next += c->bytes[i];
            }
            a.offset = c->offset;
            if (!layout_of(recvtype, &call.output)) {
                call.output_dense = blocks_are_packed(&a, &call, size);
                return run(c, &a, &call);
            }
            why = REASON_ARGUMENTS;
        }
    }
    if (inter)
        why = REASON_INTERCOMM;
    count_native(COLL_ALLGATHERV, why);
    return mpi.Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                          comm);
}
