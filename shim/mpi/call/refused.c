/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libraries differ, and each can be told not to check at all: MPICH and Intel MPI refuse
 * coinciding buffers everywhere, Open MPI in Allreduce of more than one element and Reduce. So the
 * answer is the library's own, and not a table of versions.
 *
 * The question must do no harm if the library does not check: MPICH aborts the process when it
 * copies a buffer onto itself. So it uses elements of no bytes, which the checks treat as any
 * other. For a reduction that needs an operation of ours, which never runs. The question is asked
 * when a call has the fault, not before: a correct program never asks. Open MPI raises some of
 * these errors on MPI_COMM_WORLD, so the handlers there are replaced for the moment.
 */
#include "shim/mpi/call/refused.h"

#include <pthread.h>
#include <stddef.h>

#include "shim/mpi/api/process.h"
#include "shim/mpi/call/layout.h"

enum fault { ALIAS_OF_ONE, ALIAS_OF_MORE, SEND_TYPE, RECEIVE_TYPE, FAULTS };
enum answer { UNKNOWN, ACCEPTED, REFUSED };

static MPI_Comm self = MPI_COMM_NULL; /* this process alone; returns errors */
static unsigned char answers[REFUSED_FUNCTIONS][FAULTS];
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* one collective at a time on self */

void refused_open(void)
{
    MPI_Group group;

    if (mpi.Comm_group(MPI_COMM_SELF, &group) != MPI_SUCCESS)
        return;
    if (mpi.Comm_create(MPI_COMM_SELF, group, &self) != MPI_SUCCESS ||
        mpi.Comm_set_errhandler(self, mpi_process.errors_return) != MPI_SUCCESS)
        self = MPI_COMM_NULL;
    mpi.Group_free(&group);
}

void refused_close(void)
{
    if (self != MPI_COMM_NULL)
        mpi.Comm_free(&self);
}

/* A call of one rank: count elements each way. */
struct trial {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype send_type, receive_type;
    MPI_Op op;
};

/* The same of neighbour collectives: the one rank is its own neighbour. */
static int try_neighbors(int function, const struct trial *t)
{
    const int zero[1] = {0};
    MPI_Comm loop;

    if (mpi.Dist_graph_create_adjacent(self, 1, zero, zero, 1, zero, zero, MPI_INFO_NULL, 0,
                                       &loop) != MPI_SUCCESS)
        return MPI_SUCCESS;
    mpi.Comm_set_errhandler(loop, mpi_process.errors_return);
    int rc = function == COLL_NEIGHBOR_ALLGATHER
                 ? mpi.Neighbor_allgather(t->send, t->count, t->send_type, t->receive, t->count,
                                          t->receive_type, loop)
                 : mpi.Neighbor_alltoall(t->send, t->count, t->send_type, t->receive, t->count,
                                         t->receive_type, loop);
    mpi.Comm_free(&loop);
    return rc;
}

/* Returns what the library's function returns. */
static int try(int function, const struct trial *t)
{
    const int zero[1] = {0}, n[1] = {t->count};
    const MPI_Datatype st[1] = {t->send_type}, rt[1] = {t->receive_type};

    switch (function) {
    case COLL_ALLGATHER:
        return mpi.Allgather(t->send, t->count, *st, t->receive, t->count, *rt, self);
    case COLL_ALLGATHERV:
        return mpi.Allgatherv(t->send, t->count, *st, t->receive, n, zero, *rt, self);
    case COLL_ALLREDUCE:
        return mpi.Allreduce(t->send, t->receive, t->count, *st, t->op, self);
    case COLL_REDUCE_SCATTER:
        return mpi.Reduce_scatter(t->send, t->receive, n, *st, t->op, self);
    case COLL_REDUCE_SCATTER_BLOCK:
        return mpi.Reduce_scatter_block(t->send, t->receive, t->count, *st, t->op, self);
    case COLL_REDUCE:
        return mpi.Reduce(t->send, t->receive, t->count, *st, t->op, 0, self);
    case COLL_SCAN:
        return mpi.Scan(t->send, t->receive, t->count, *st, t->op, self);
    case COLL_EXSCAN:
        return mpi.Exscan(t->send, t->receive, t->count, *st, t->op, self);
    case COLL_BCAST:
        return mpi.Bcast(t->receive, t->count, *st, 0, self);
    case COLL_GATHER:
        return mpi.Gather(t->send, t->count, *st, t->receive, t->count, *rt, 0, self);
    case COLL_GATHERV:
        return mpi.Gatherv(t->send, t->count, *st, t->receive, n, zero, *rt, 0, self);
    case COLL_SCATTER:
        return mpi.Scatter(t->send, t->count, *st, t->receive, t->count, *rt, 0, self);
    case COLL_SCATTERV:
        return mpi.Scatterv(t->send, n, zero, *st, t->receive, t->count, *rt, 0, self);
    case COLL_ALLTOALL:
        return mpi.Alltoall(t->send, t->count, *st, t->receive, t->count, *rt, self);
    case COLL_ALLTOALLV:
        return mpi.Alltoallv(t->send, n, zero, *st, t->receive, n, zero, *rt, self);
    case REFUSED_ALLTOALLW: /* coinciding buffers count as such only if the types' lists do too */
        return mpi.Alltoallw(t->send, n, zero, st, t->receive, n, zero, *st == *rt ? st : rt, self);
    case COLL_NEIGHBOR_ALLGATHER:
    case COLL_NEIGHBOR_ALLTOALL:
        return try_neighbors(function, t);
    default:
        return MPI_SUCCESS;
    }
}

static void never_runs(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

/* Have the library judge one fault, all else being right. */
static int try_fault(int function, enum fault fault)
{
    int alias = fault == ALIAS_OF_ONE || fault == ALIAS_OF_MORE, refused = 0;
    char a[1] = {0}, b[1] = {0};
    MPI_Datatype empty, uncommitted;
    MPI_Op op;

    if (mpi.Type_contiguous(0, MPI_BYTE, &empty) != MPI_SUCCESS)
        return 0;
    if (mpi.Type_contiguous(0, MPI_BYTE, &uncommitted) != MPI_SUCCESS)
        goto free_empty;
    if (mpi.Op_create(never_runs, 1, &op) != MPI_SUCCESS)
        goto free_uncommitted;
    if (mpi.Type_commit(&empty) == MPI_SUCCESS)
        refused = try(function,
                      &(struct trial){.send = a,
                                      .receive = alias ? a : b,
                                      .count = fault == ALIAS_OF_MORE ? 2 : 1,
                                      .send_type = fault == SEND_TYPE ? uncommitted : empty,
                                      .receive_type = fault == RECEIVE_TYPE ? uncommitted : empty,
                                      .op = op}) != MPI_SUCCESS;
    mpi.Op_free(&op);
free_uncommitted:
    mpi.Type_free(&uncommitted);
free_empty:
    mpi.Type_free(&empty);
    return refused;
}

/* A communicator's handler, set aside for a while. */
struct handler {
    MPI_Comm comm;
    MPI_Errhandler was;
    int kept;
};

static struct handler set_aside(MPI_Comm comm)
{
    struct handler h = {.comm = comm};

    h.kept = mpi.Comm_get_errhandler(comm, &h.was) == MPI_SUCCESS &&
             mpi.Comm_set_errhandler(comm, mpi_process.errors_return) == MPI_SUCCESS;
    return h;
}

static void put_back(struct handler *h)
{
    if (!h->kept)
        return;
    mpi.Comm_set_errhandler(h->comm, h->was);
    mpi.Errhandler_free(&h->was);
}

/* Does the library refuse that? */
static int is_refused(int function, enum fault fault)
{
    unsigned char *answer = &answers[function][fault];

    if (self == MPI_COMM_NULL)
        return 0;
    pthread_mutex_lock(&asking);
    if (*answer == UNKNOWN) {
        struct handler world = set_aside(MPI_COMM_WORLD), alone = set_aside(MPI_COMM_SELF);

        if (world.kept && alone.kept)
            *answer = try_fault(function, fault) ? REFUSED : ACCEPTED;
        put_back(&alone);
        put_back(&world);
    }
    int refused = *answer == REFUSED;
    pthread_mutex_unlock(&asking);
    return refused;
}

/* No function says whether a type is committed. MPI_Pack of no element refuses one that is not. */
int refused_type(int function, enum refused_side side, MPI_Datatype type)
{
    char nothing[1] = {0};
    int position = 0;

    if (type == MPI_DATATYPE_NULL)
        return 1;
    if (self == MPI_COMM_NULL ||
        mpi.Pack(nothing, 0, type, nothing, sizeof nothing, &position, self) == MPI_SUCCESS)
        return 0;
    return is_refused(function, side == REFUSED_SEND ? SEND_TYPE : RECEIVE_TYPE);
}

/* Data of a type that starts at the buffer, which is nowhere. With displacements, MPI_BOTTOM is as
   good as any other address. */
static int has_no_address(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Aint displ)
{
    struct layout l;

    if (buffer == MPI_IN_PLACE)
        return 1;
    return !buffer && !displ && !layout_of(type, &l) &&
           layout_is_nowhere(buffer, &l, (size_t)(count * l.size));
}

/* Without elements, not every library checks type and address. */
int refused_block(int function, enum refused_side side, const void *buffer, MPI_Count count,
                  MPI_Datatype type)
{
    return count < 0 || (count && (refused_type(function, side, type) ||
                                   has_no_address(buffer, count, type, 0)));
}

int refused_blocks(int function, enum refused_side side, const void *buffer, struct counts counts,
                   struct displs displs, int n, MPI_Datatype type, const MPI_Datatype *types)
{
    MPI_Datatype looked = MPI_DATATYPE_NULL; /* at this type, last */

    if (n && !counts_given(counts))
        return 1;
    for (int i = 0; i < n; i++) {
        MPI_Count count = counts_at(counts, i);

        if (count < 0)
            return 1;
        if (!count)
            continue;
        MPI_Datatype t = types ? types[i] : type;
        if ((t != looked || t == MPI_DATATYPE_NULL) && refused_type(function, side, t))
            return 1;
        looked = t;
        if (!displs_given(displs) || has_no_address(buffer, count, t, displs_at(displs, i)))
            return 1;
    }
    return 0;
}

int refused_alias(int function, const void *own, const void *all, MPI_Count displ, MPI_Count count,
                  MPI_Datatype type)
{
    MPI_Count size, extent, lower;

    if (count <= 0 || !own || own == MPI_IN_PLACE)
        return 0;
    if (displ == 0)
        return own == all && is_refused(function, count == 1 ? ALIAS_OF_ONE : ALIAS_OF_MORE);
    /* MPICH measures the distance by the type's size, where others may go by its extent. */
    if (mpi.Type_size_x(type, &size) != MPI_SUCCESS ||
        (uintptr_t)own != (uintptr_t)all + (uintptr_t)(displ * size) ||
        mpi.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS || extent != size)
        return 0;
    return is_refused(function, count == 1 ? ALIAS_OF_ONE : ALIAS_OF_MORE);
}
