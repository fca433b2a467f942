/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast: the root holds the vector in the buffer that everybody else receives it in. */
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/wrappers.h"

struct arguments {
    void *buffer;
    int count;
    MPI_Datatype type;
    int root;
    MPI_Comm comm;
};

static int native_bcast(const struct call *call)
{
    const struct arguments *a = call->arguments;

    return mpi.Bcast(a->buffer, a->count, a->type, a->root, a->comm);
}

static struct call_block buffer_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->buffer, .count = a->count};
}

int wrap_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct arguments a = {
        .buffer = buffer, .count = count, .type = type, .root = root, .comm = comm};
    enum reason why = REASON_ARGUMENTS;
    struct comm *c = NULL;
    MPI_Count element;
    int size;

    if (count >= 0 && type != MPI_DATATYPE_NULL && comm != MPI_COMM_NULL &&
        mpi.Type_size_x(type, &element) == MPI_SUCCESS && element >= 0 &&
        mpi.Comm_size(comm, &size) == MPI_SUCCESS && root >= 0 && root < size) {
        uint64_t total = (uint64_t)count * (uint64_t)element;

        why = gate_size(total);
        if (!why)
            c = gate_comm(comm, size, COLL_BCAST, &why);
        if (c) {
            struct call call = {.collective = COLL_BCAST,
                                .comm = comm,
                                .request = {.collective = COLL_BCAST,
                                            .root = root,
                                            .grain = 1,
                                            .nbytes = (size_t)total},
                                .total = total,
                                .arguments = &a,
                                .native = native_bcast,
                                .nblocks = 1,
                                .output_block = buffer_block,
                                .held_block = c->rank == root ? 0 : NO_BLOCK};

            if (!layout_of(type, &call.output)) {
                if (layout_is_nowhere(buffer, &call.output, total))
                    return leave_to_library(&call);
                call.output_dense = call.output.dense;
                call.output_unchanged = c->rank == root;
                return reroute(c, &call);
            }
            why = REASON_ARGUMENTS;
        }
    }
    count_native(COLL_BCAST, why);
    return mpi.Bcast(buffer, count, type, root, comm);
}
