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

int WRAP(Iallreduce)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_ALLREDUCE, count, type, MPI_COMM_NULL))
        return LIBRARY(Iallreduce)(sendbuf, recvbuf, count, type, op, comm, request);
    return allreduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                   .recvbuf = recvbuf,
                                                   .count = count,
                                                   .type = type,
                                                   .op = op,
                                                   .comm = comm,
                                                   .request = request,
                                                   .large = LARGE});
}

int WRAP(Ireduce)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_REDUCE, count, type, MPI_COMM_NULL))
        return LIBRARY(Ireduce)(sendbuf, recvbuf, count, type, op, root, comm, request);
    return reduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .root = root,
                                                .comm = comm,
                                                .request = request,
                                                .large = LARGE});
}

int WRAP(Ireduce_scatter_block)(const void *sendbuf, void *recvbuf, COUNT recvcount,
                                MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_REDUCE_SCATTER_BLOCK, recvcount, type, comm))
        return LIBRARY(Ireduce_scatter_block)(sendbuf, recvbuf, recvcount, type, op, comm, request);
    return reduce_scatter_block(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                              .recvbuf = recvbuf,
                                                              .count = recvcount,
                                                              .type = type,
                                                              .op = op,
                                                              .comm = comm,
                                                              .request = request,
                                                              .large = LARGE});
}

int WRAP(Ireduce_scatter)(const void *sendbuf, void *recvbuf, const COUNT *recvcounts,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    if (!request)
        return LIBRARY(Ireduce_scatter)(sendbuf, recvbuf, recvcounts, type, op, comm, request);
    return reduce_scatter(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                        .recvbuf = recvbuf,
                                                        .counts = {.WIDTH = recvcounts},
                                                        .type = type,
                                                        .op = op,
                                                        .comm = comm,
                                                        .request = request,
                                                        .large = LARGE});
}

int WRAP(Scan)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm)
{
    return scan(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                              .recvbuf = recvbuf,
                                              .count = count,
                                              .type = type,
                                              .op = op,
                                              .comm = comm,
                                              .large = LARGE});
}

int WRAP(Exscan)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm)
{
    return exscan(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .comm = comm,
                                                .large = LARGE});
}

int WRAP(Allreduce_init)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return allreduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                   .recvbuf = recvbuf,
                                                   .count = count,
                                                   .type = type,
                                                   .op = op,
                                                   .comm = comm,
                                                   .request = request,
                                                   .persistent = 1,
                                                   .info = info,
                                                   .large = LARGE});
}

int WRAP(Reduce_init)(const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op,
                      int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return reduce(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                .recvbuf = recvbuf,
                                                .count = count,
                                                .type = type,
                                                .op = op,
                                                .root = root,
                                                .comm = comm,
                                                .request = request,
                                                .persistent = 1,
                                                .info = info,
                                                .large = LARGE});
}

int WRAP(Reduce_scatter_block_init)(const void *sendbuf, void *recvbuf, COUNT recvcount,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                    MPI_Request *request)
{
    return reduce_scatter_block(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                              .recvbuf = recvbuf,
                                                              .count = recvcount,
                                                              .type = type,
                                                              .op = op,
                                                              .comm = comm,
                                                              .request = request,
                                                              .persistent = 1,
                                                              .info = info,
                                                              .large = LARGE});
}

int WRAP(Reduce_scatter_init)(const void *sendbuf, void *recvbuf, const COUNT *recvcounts,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                              MPI_Request *request)
{
    return reduce_scatter(&(struct allreduce_arguments){.sendbuf = sendbuf,
                                                        .recvbuf = recvbuf,
                                                        .counts = {.WIDTH = recvcounts},
                                                        .type = type,
                                                        .op = op,
                                                        .comm = comm,
                                                        .request = request,
                                                        .persistent = 1,
                                                        .info = info,
                                                        .large = LARGE});
}
