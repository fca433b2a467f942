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
#include "shim/decide/count.h"
#include "shim/mpi/alltoallv.h"
#include "shim/mpi/library.h"
#include "shim/mpi/neighbors.h"
#include "shim/mpi/wrappers.h"

/* One side of a call. */
struct neighbor_side {
    const void *buffer;
    MPI_Count count; /* elements of the one block, or of each; or */
    struct counts counts;
    struct displs displs;
    MPI_Datatype type;         /* of all blocks, or */
    const MPI_Datatype *types; /* of each */
};

struct neighbor_arguments {
    struct neighbor_side send, receive;
    MPI_Comm comm;
    int by_neighbor; /* counts of the side that has them (v, w) */
    int large;       /* called by its _c name */
};

/* The arguments of a call; their buffers may be images of the application's (library.h). */
static const struct neighbor_arguments *arguments_of(const struct mpi_call *call)
{
    const struct alltoallv_arguments *a = call->arguments;

    return a->arguments;
}

static int native_allgather(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;
    void *into = (void *)(uintptr_t)r->buffer;

    if (a->by_neighbor && a->large)
        return mpi.Neighbor_allgatherv_c(s->buffer, s->count, s->type, into, r->counts.wide,
                                         r->displs.wide, r->type, call->comm);
    if (a->by_neighbor)
        return mpi.Neighbor_allgatherv(s->buffer, (int)s->count, s->type, into, r->counts.narrow,
                                       r->displs.narrow, r->type, call->comm);
    if (a->large)
        return mpi.Neighbor_allgather_c(s->buffer, s->count, s->type, into, r->count, r->type,
                                        call->comm);
    return mpi.Neighbor_allgather(s->buffer, (int)s->count, s->type, into, (int)r->count, r->type,
                                  call->comm);
}

static int native_alltoallv(const struct mpi_call *call, void *into)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;

    if (s->types && a->large)
        return mpi.Neighbor_alltoallw_c(s->buffer, s->counts.wide, s->displs.wide, s->types, into,
                                        r->counts.wide, r->displs.wide, r->types, call->comm);
    if (s->types)
        return mpi.Neighbor_alltoallw(s->buffer, s->counts.narrow, s->displs.wide, s->types, into,
                                      r->counts.narrow, r->displs.wide, r->types, call->comm);
    if (a->large)
        return mpi.Neighbor_alltoallv_c(s->buffer, s->counts.wide, s->displs.wide, s->type, into,
                                        r->counts.wide, r->displs.wide, r->type, call->comm);
    return mpi.Neighbor_alltoallv(s->buffer, s->counts.narrow, s->displs.narrow, s->type, into,
                                  r->counts.narrow, r->displs.narrow, r->type, call->comm);
}

static int native_alltoall(const struct mpi_call *call)
{
    const struct neighbor_arguments *a = arguments_of(call);
    const struct neighbor_side *s = &a->send, *r = &a->receive;
    void *into = (void *)(uintptr_t)r->buffer;

    if (a->by_neighbor)
        return native_alltoallv(call, into);
    if (a->large)
        return mpi.Neighbor_alltoall_c(s->buffer, s->count, s->type, into, r->count, r->type,
                                       call->comm);
    return mpi.Neighbor_alltoall(s->buffer, (int)s->count, s->type, into, (int)r->count, r->type,
                                 call->comm);
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

    if (counts_given(s->counts) || displs_given(s->displs))
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
static struct side side_of(const struct neighbor_side *s, struct neighbors_side *peers,
                           MPI_Count step)
{
    struct side side = {.buffer = s->buffer,
                        .counts = s->counts,
                        .displs = s->displs,
                        .type = s->type,
                        .types = s->types,
                        .peer = peers->rank,
                        .n = peers->n};

    if (counts_given(s->counts) || displs_given(s->displs))
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
    *nb = neighbors_of(a->comm);
    return !*nb ? REASON_NO_NEIGHBORS : (*nb)->is_grid && (*nb)->twice ? REASON_TWICE : REASON_NONE;
}

static int neighbor_run(const struct neighbor_arguments *a, struct alltoallv_arguments *x)
{
    struct neighbors *nb = NULL;
    enum reason why = look_at(a, &nb);
    struct mpi_call call = {.collective = x->collective,
                            .comm = a->comm,
                            .arguments = x,
                            .native = x->native,
                            .buffers = neighbor_buffers};

    x->comm = a->comm;
    x->arguments = a;
    x->buffers = neighbor_buffers;
    if (why) {
        count_native(x->collective, why);
        return library_call(&call);
    }
    x->send =
        side_of(&a->send, &nb->to, x->collective == COLL_NEIGHBOR_ALLGATHER ? 0 : a->send.count);
    x->receive = side_of(&a->receive, &nb->from, a->receive.count);
    x->cannot = nb->unknown ? REASON_MEMORY : nb->twice ? REASON_TWICE : REASON_NONE;
    return alltoallv_run(x);
}

static int neighbor_allgather(const struct neighbor_arguments *a)
{
    return neighbor_run(a, &(struct alltoallv_arguments){.collective = COLL_NEIGHBOR_ALLGATHER,
                                                         .native = native_allgather});
}

static int neighbor_alltoall(const struct neighbor_arguments *a)
{
    return neighbor_run(a, &(struct alltoallv_arguments){.collective = COLL_NEIGHBOR_ALLTOALL,
                                                         .native = native_alltoall});
}

#include "shim/mpi/width_int.h"
#include "shim/mpi/neighbor_wraps.h"

#include "shim/mpi/width_large.h"
#include "shim/mpi/neighbor_wraps.h"
