/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allreduce.c; its parameters: forms.h. No include guard. */

static int FUNCTION(native_Allreduce, native_Iallreduce)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Allreduce, Iallreduce)(a->sendbuf, a->recvbuf, (COUNT)a->count,
                                                       a->type, a->op, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Allreduce, mpi_wrap_Iallreduce)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_ALLREDUCE, count, type, MPI_COMM_NULL))
        return mpi_library.FUNCTION(Allreduce, Iallreduce)(A_REDUCE, comm FORM_ARGUMENTS);
    return allreduce_run(
        &(struct allreduce_arguments){.collective = COLL_ALLREDUCE,
                                      .sendbuf = A_REDUCE,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Allreduce, native_Iallreduce)});
}

static int FUNCTION(native_Reduce, native_Ireduce)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Reduce, Ireduce)(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type,
                                                 a->op, a->root, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Reduce, mpi_wrap_Ireduce)(P_REDUCE, int root, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_REDUCE, count_rooted(count, root), type, MPI_COMM_NULL))
        return mpi_library.FUNCTION(Reduce, Ireduce)(A_REDUCE, root, comm FORM_ARGUMENTS);
    return allreduce_run(
        &(struct allreduce_arguments){.collective = COLL_REDUCE,
                                      .sendbuf = A_REDUCE,
                                      .root = root,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Reduce, native_Ireduce)});
}

static int FUNCTION(native_Reduce_scatter_block,
                    native_Ireduce_scatter_block)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Reduce_scatter_block, Ireduce_scatter_block)(
        a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Reduce_scatter_block,
             mpi_wrap_Ireduce_scatter_block)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_REDUCE_SCATTER_BLOCK, count, type, comm))
        return mpi_library.FUNCTION(Reduce_scatter_block,
                                    Ireduce_scatter_block)(A_REDUCE, comm FORM_ARGUMENTS);
    return allreduce_run(&(struct allreduce_arguments){
        .collective = COLL_REDUCE_SCATTER_BLOCK,
        .sendbuf = A_REDUCE,
        .comm = comm,
        .form = FORM_HERE(native_Reduce_scatter_block, native_Ireduce_scatter_block)});
}

static int FUNCTION(native_Reduce_scatter, native_Ireduce_scatter)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Reduce_scatter, Ireduce_scatter)(
        a->sendbuf, a->recvbuf, a->counts.WIDTH, a->type, a->op, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Reduce_scatter, mpi_wrap_Ireduce_scatter)(P_REDUCE_V,
                                                                MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_unjudged(COLL_REDUCE_SCATTER)))
        return mpi_library.FUNCTION(Reduce_scatter, Ireduce_scatter)(A_REDUCE_V,
                                                                     comm FORM_ARGUMENTS);
    return allreduce_run(&(struct allreduce_arguments){
        .collective = COLL_REDUCE_SCATTER,
        .sendbuf = sendbuf,
        .recvbuf = recvbuf,
        .counts.WIDTH = recvcounts,
        .type = type,
        .op = op,
        .comm = comm,
        .form = FORM_HERE(native_Reduce_scatter, native_Ireduce_scatter)});
}

static int FUNCTION(native_Scan, native_Iscan)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Scan, Iscan)(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type,
                                             a->op, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Scan, mpi_wrap_Iscan)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_SCAN, count, type, MPI_COMM_NULL))
        return mpi_library.FUNCTION(Scan, Iscan)(A_REDUCE, comm FORM_ARGUMENTS);
    return allreduce_run(
        &(struct allreduce_arguments){.collective = COLL_SCAN,
                                      .sendbuf = A_REDUCE,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Scan, native_Iscan)});
}

static int FUNCTION(native_Exscan, native_Iexscan)(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return mpi_library.FUNCTION(Exscan, Iexscan)(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type,
                                                 a->op, call->comm FORM_GIVEN);
}

int FUNCTION(mpi_wrap_Exscan, mpi_wrap_Iexscan)(P_REDUCE, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_SMALL(COLL_EXSCAN, count, type, MPI_COMM_NULL))
        return mpi_library.FUNCTION(Exscan, Iexscan)(A_REDUCE, comm FORM_ARGUMENTS);
    return allreduce_run(
        &(struct allreduce_arguments){.collective = COLL_EXSCAN,
                                      .sendbuf = A_REDUCE,
                                      .comm = comm,
                                      .form = FORM_HERE(native_Exscan, native_Iexscan)});
}
