/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast: the root holds the vector in the buffer that everybody else receives it in. */
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"
#include "shim/mpi/library.h"
#include "shim/mpi/refused.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/vectors.h"
#include "shim/mpi/wrappers.h"

struct arguments {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;
    MPI_Comm comm;
    int large; /* called by its _c name */
};

static int native_bcast(const struct call *call)
{
    const struct arguments *a = call->arguments;

    if (a->large)
        return mpi.Bcast_c(a->buffer, a->count, a->type, a->root, a->comm);
    return mpi.Bcast(a->buffer, (int)a->count, a->type, a->root, a->comm);
}

static int buffers(const struct call *call, struct library_buffer *list)
{
    const struct arguments *a = call->arguments;
    int root = library_is_root(a->comm, a->root);

    list[0] = library_block(&a->buffer, a->count, a->type);
    list[0].reads = root == 1;
    list[0].writes = root == 0;
    return root >= 0;
}

static struct call_block buffer_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->buffer, .count = a->count};
}

static int run(struct comm *c, const struct arguments *a, struct call *call)
{
    int at_root = c->rank == a->root;

    call->request.root = a->root;
    call->request.grain = 1;
    call->request.nbytes = (size_t)call->total;
    call->nblocks = 1;
    call->output_block = buffer_block;
    call->held_block = at_root ? 0 : NO_BLOCK;
    call->output_unchanged = at_root;
    if (layout_of(a->type, &call->output) < 0)
        return reroute_wrong(c, call, MPI_ERR_TYPE);
    call->output_dense = call->output.dense;
    return reroute(c, call);
}

static int bcast(const struct arguments *a)
{
    struct call call = {.collective = COLL_BCAST,
                        .comm = a->comm,
                        .request = {.collective = COLL_BCAST},
                        .arguments = a,
                        .native = native_bcast,
                        .buffers = buffers};
    enum reason why = process.verdict;
    struct comm *c = NULL;
    int size;

    if (!why) {
        why = REASON_ARGUMENTS;
        if (a->comm != MPI_COMM_NULL && !bytes_of(a->count, a->type, &call.total) &&
            mpi.Comm_size(a->comm, &size) == MPI_SUCCESS && a->root >= 0 && a->root < size)
            why = gate_size(call.total);
    }
    if (!why && refused_block(COLL_BCAST, REFUSED_SEND, a->buffer, a->count, a->type))
        why = REASON_ARGUMENTS;
    if (!why)
        c = gate_comm(a->comm, size, COLL_BCAST, SIZES_CLAIMED, &why);
    if (c)
        return run(c, a, &call);
    count_native(COLL_BCAST, why);
    return library_call(&call);
}

int wrap_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast(&(struct arguments){
        .buffer = buffer, .count = count, .type = type, .root = root, .comm = comm});
}

int wrap_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast(&(struct arguments){
        .buffer = buffer, .count = count, .type = type, .root = root, .comm = comm, .large = 1});
}
