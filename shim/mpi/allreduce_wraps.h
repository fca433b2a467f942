/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allreduce.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Allreduce)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm)
{
    return allreduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                   .recvbuf = recvbuf,
                                                   .count = count,
                                                   .type = type,
                                                   .op = op,
                                                   .comm = comm,
                                                   .large = LARGE});
}

int WRAP(Reduce)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                 int root, MPI_Comm comm)
{
    return reduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .root = root,
                                                .comm = comm,
                                                .large = LARGE});
}

int WRAP(Reduce_scatter_block)(const void *sendbuf, void *recvbuf, COUNT recvcount,
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return reduce_scatter_block(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                              .recvbuf = recvbuf,
                                                              .count = recvcount,
                                                              .type = type,
                                                              .op = op,
                                                              .comm = comm,
                                                              .large = LARGE});
}

int WRAP(Reduce_scatter)(const void *sendbuf, void *recvbuf, const COUNT *recvcounts,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return reduce_scatter(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                        .recvbuf = recvbuf,
                                                        .counts = {.WIDTH = recvcounts},
                                                        .type = type,
                                                        .op = op,
                                                        .comm = comm,
                                                        .large = LARGE});
}
