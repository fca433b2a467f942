/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allreduce.c; its parameters: forms.h. No include guard. */

static int NATIVE(FORM(Scan, scan))(const struct mpi_call *call)
{
    const struct allreduce_arguments *a = call->arguments;

    return LIBRARY(FORM(Scan, scan))(a->sendbuf, a->recvbuf, (COUNT)a->count, a->type, a->op,
                                     call->comm FORM_GIVEN);
}

int WRAP(FORM(Scan, scan))(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type,
                           MPI_Op op, MPI_Comm comm FORM_PARAMETERS)
{
    if (FORM_PASSES(nonblocking_passes(COLL_SCAN, count, type, MPI_COMM_NULL)))
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
    if (FORM_PASSES(nonblocking_passes(COLL_EXSCAN, count, type, MPI_COMM_NULL)))
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
