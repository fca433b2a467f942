/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Neighbor_allgather(v) and MPI_Neighbor_alltoall(v, w): exchanges in which a rank has a block
 * for each of its neighbours, behind alltoallv.h. No rank knows what the others send, so sizes are
 * agreed on as Alltoallv's are, those of the forms with equal blocks too: ranks without neighbours
 * may have any.
 *
 * A rank that is a neighbour twice (a periodic grid of one or two ranks) runs natively: MPI pairs
 * the block sent down with the one received from above, and libraries pair them in the order of
 * the neighbours.
 */
#include "shim/decide/base/floats.h"
#include "shim/mpi/api/freeing.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/collectives/alltoallv.h"
#include "shim/mpi/collectives/grid.h"
#include "shim/mpi/collectives/neighbors.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"

/* One side of a call. */
struct neighbor_side {
    const void *buffer;
    MPI_Count count; /* elements of the one block, or of each; or, if the function takes vectors, */
    int varies;      /* 1, and */
    struct counts counts;
    struct displs displs;
    MPI_Datatype type;         /* of all blocks, or */
    const MPI_Datatype *types; /* of each */
};

struct neighbor_arguments {
    enum plan_collective collective;
    struct neighbor_side send, receive;
    MPI_Comm comm;
    struct call_form form;
};

/* The arguments of a call; their buffers may be images of the application's (library.h). */
static const struct neighbor_arguments *arguments_of(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;

    return a->arguments;
}

/* The blocks of a side, as MPI numbers them. */
static struct library_buffer buffer_of(const struct neighbor_side *s, int n, int shared)
{
    struct library_buffer b = {.argument = (const void **)(uintptr_t)&s->buffer,
                               .n = n,
                               .counts = s->counts,
                               .displs = s->displs,
                               .type = s->type,
                               .types = s->types};

    if (s->varies)
        return b;
    return library_block(&s->buffer, shared ? s->count : library_times(s->count, n), s->type);
}

static int neighbor_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbors *nb = a->comm == MPI_COMM_NULL ? NULL : neighbors_of(a->comm);

    if (!nb || nb->unknown)
        return 0;
    struct library_buffer send =
        buffer_of(&a->send, nb->to.n, call->collective == COLL_NEIGHBOR_ALLGATHER);
    struct library_buffer receive = buffer_of(&a->receive, nb->from.n, 0);

    return library_buffers(list, &send, &receive);
}

/* step: elements from one of the equal blocks to the next. */
static struct alltoallv_side side_of(const struct neighbor_side *s, struct neighbors_side *peers,
                                     MPI_Count step)
{
    struct alltoallv_side side = {.buffer = s->buffer,
                                  .counts = s->counts,
                                  .displs = s->displs,
                                  .type = s->type,
                                  .types = s->types,
                                  .peer = peers->rank,
                                  .n = peers->n};

    if (s->varies)
        return side;
    for (int i = 0; i < peers->n; i++) {
        peers->counts[i] = s->count;
        peers->displs[i] = i * step;
    }
    side.counts = (struct counts){.wide = peers->counts};
    side.displs = (struct displs){.wide = peers->displs};
    return side;
}

/* Why the library serves the call on all ranks alike, before any rank is asked; or, if that is not
   known, REASON_NONE. Arguments that this rank sees to be wrong are the library's too. */
static enum reason look_at(const struct neighbor_arguments *a, struct neighbors **nb)
{
    int inter;

    if (mpi_process.verdict)
        return mpi_process.verdict;
    if (a->comm == MPI_COMM_NULL || a->send.buffer == MPI_IN_PLACE ||
        a->receive.buffer == MPI_IN_PLACE)
        return REASON_ARGUMENTS;
    if (mpi.Comm_test_inter(a->comm, &inter) != MPI_SUCCESS || inter)
        return REASON_INTERCOMM;
    if (freeing_is(a->comm))
        return REASON_FREED;
    *nb = neighbors_of(a->comm);
    return !*nb ? REASON_NO_NEIGHBORS : (*nb)->is_grid && (*nb)->twice ? REASON_TWICE : REASON_NONE;
}

static int neighbor_run(const struct neighbor_arguments *a)
{
    FLOATS_OURS;
    struct neighbors *nb = NULL;
    enum reason why = look_at(a, &nb);
    struct alltoallv_arguments x = {.collective = a->collective,
                                    .comm = a->comm,
                                    .form = a->form,
                                    .arguments = a,
                                    .buffers = neighbor_buffers};
    struct mpi_call call =
        mpi_call_begin(a->collective, a->comm, &a->form, &x, sizeof x, neighbor_buffers);

    if (why) {
        return library_serves(&call, why);
    }
    if (nb->unknown && call.nonblocking && !call.persistent) {
        *call.nonblocking = MPI_REQUEST_NULL; /* the others may know that it is rerouted */
        mpi.Comm_call_errhandler(a->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    x.single = nb->is_grid;
    x.grid = nb->is_grid && !a->send.varies && !a->receive.varies;
    x.send =
        side_of(&a->send, &nb->to, a->collective == COLL_NEIGHBOR_ALLGATHER ? 0 : a->send.count);
    x.receive = side_of(&a->receive, &nb->from, a->receive.count);
    x.cannot = nb->unknown ? REASON_MEMORY : nb->twice ? REASON_TWICE : REASON_NONE;
    return alltoallv_run(&x);
}

static int is_on_grid(MPI_Comm comm)
{
    const struct neighbors *nb = comm == MPI_COMM_NULL ? NULL : neighbors_of(comm);

    return nb && !nb->unknown && nb->is_grid;
}

/* As nonblocking_passes, of equal blocks. It goes by the larger one of this rank's two sizes: on a
   grid, all ranks know both. In a graph, only their own. */
static int passes(enum plan_collective collective, MPI_Count sendcount, MPI_Datatype sendtype,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    uint64_t sends, receives, most;
    enum reason why;

    if (nonblocking_unjudged(collective))
        return 1;
    if (bytes_of(sendcount, sendtype, &sends) < 0 || bytes_of(recvcount, recvtype, &receives) < 0 ||
        bytes_of_all(sends > receives ? sends : receives, 2 * GRID_DIMENSIONS, &most) < 0)
        return 0;
    why = gate_bytes(most);
    if (!why || !is_on_grid(comm))
        return 0;
    count_native(collective, why);
    return 1;
}

#define TEMPLATE "shim/mpi/collectives/neighbor_wraps.h"
#include "shim/mpi/collectives/forms.h"
