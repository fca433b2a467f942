/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allreduce.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Allreduce, allreduce))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Allreduce, allreduce))(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type,
                                               a->op, call->comm FORM_GIVEN);
}

int WRAP(FORM(Allreduce, allreduce))(const void *sendbuf, void *recvbuf, COUNT count,
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLREDUCE, count, type, MPI_COMM_NULL))
        return LIBRARY(FORM(Allreduce, allreduce))(sendbuf, recvbuf, count, type, op,
                                                   comm FORM_ARGUMENTS);
    return allreduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                   .recvbuf = recvbuf,
                                                   .count = count,
                                                   .type = type,
                                                   .op = op,
                                                   .comm = comm,
                                                   .form = FORM_HERE(Allreduce, allreduce)});
}

static int NATIVE(FORM(Reduce, reduce))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Reduce, reduce))(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op,
                                         a->root, call->comm FORM_GIVEN);
}

int WRAP(FORM(Reduce, reduce))(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type,
                               MPI_Op op, int root, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_REDUCE, count_rooted(count, root), type, MPI_COMM_NULL))
        return LIBRARY(FORM(Reduce, reduce))(sendbuf, recvbuf, count, type, op, root,
                                             comm FORM_ARGUMENTS);
    return reduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .root = root,
                                                .comm = comm,
                                                .form = FORM_HERE(Reduce, reduce)});
}

static int NATIVE(FORM(Reduce_scatter_block, reduce_scatter_block))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Reduce_scatter_block, reduce_scatter_block))(
        a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op, call->comm FORM_GIVEN);
}

int WRAP(FORM(Reduce_scatter_block, reduce_scatter_block))(const void *sendbuf, void *recvbuf,
                                                           COUNT recvcount, MPI_Datatype type,
                                                           MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_REDUCE_SCATTER_BLOCK, recvcount, type, comm))
        return LIBRARY(FORM(Reduce_scatter_block, reduce_scatter_block))(
            sendbuf, recvbuf, recvcount, type, op, comm FORM_ARGUMENTS);
    return reduce_scatter_block(&(struct allreduce_arguments){
        .sendbuf = sendbuf,
        .recvbuf = recvbuf,
        .count = recvcount,
        .type = type,
        .op = op,
        .comm = comm,
        .form = FORM_HERE(Reduce_scatter_block, reduce_scatter_block)});
}

static int NATIVE(FORM(Reduce_scatter, reduce_scatter))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Reduce_scatter, reduce_scatter))(a->sendbuf, a->recvbuf, a->counts.WIDTH,
                                                         a->type, a->op, call->comm FORM_GIVEN);
}

int WRAP(FORM(Reduce_scatter, reduce_scatter))(const void *sendbuf, void *recvbuf,
                                               const COUNT *recvcounts, MPI_Datatype type,
                                               MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_REDUCE_SCATTER)))
        return LIBRARY(FORM(Reduce_scatter, reduce_scatter))(sendbuf, recvbuf, recvcounts, type, op,
                                                             comm FORM_ARGUMENTS);
    return reduce_scatter(
        &(struct allreduce_arguments){.sendbuf = sendbuf,
                                      .recvbuf = recvbuf,
                                      .counts = {.WIDTH = recvcounts},
                                      .type = type,
                                      .op = op,
                                      .comm = comm,
                                      .form = FORM_HERE(Reduce_scatter, reduce_scatter)});
}

static int NATIVE(FORM(Scan, scan))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Scan, scan))(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op,
                                     call->comm FORM_GIVEN);
}

int WRAP(FORM(Scan, scan))(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type,
                           MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_SCAN, count, type, MPI_COMM_NULL))
        return LIBRARY(FORM(Scan, scan))(sendbuf, recvbuf, count, type, op, comm FORM_ARGUMENTS);
    return scan(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                              .recvbuf = recvbuf,
                                              .count = count,
                                              .type = type,
                                              .op = op,
                                              .comm = comm,
                                              .form = FORM_HERE(Scan, scan)});
}

static int NATIVE(FORM(Exscan, exscan))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Exscan, exscan))(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op,
                                         call->comm FORM_GIVEN);
}

int WRAP(FORM(Exscan, exscan))(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_EXSCAN, count, type, MPI_COMM_NULL))
        return LIBRARY(FORM(Exscan, exscan))(sendbuf, recvbuf, count, type, op,
                                             comm FORM_ARGUMENTS);
    return exscan(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .comm = comm,
                                                .form = FORM_HERE(Exscan, exscan)});
}
