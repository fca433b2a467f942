/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of bcast.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Bcast)(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast(&(struct bcast_arguments){.buffer = buffer,
                                           .count = count,
                                           .type = type,
                                           .root = root,
                                           .comm = comm,
                                           .large = LARGE});
}

int WRAP(Ibcast)(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_BCAST, count, type, MPI_COMM_NULL))
        return LIBRARY(Ibcast)(buffer, count, type, root, comm, request);
    return bcast(&(struct bcast_arguments){.buffer = buffer,
                                           .count = count,
                                           .type = type,
                                           .root = root,
                                           .comm = comm,
                                           .request = request,
                                           .large = LARGE});
}

int WRAP(Bcast_init)(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request *request)
{
    return bcast(&(struct bcast_arguments){.buffer = buffer,
                                           .count = count,
                                           .type = type,
                                           .root = root,
                                           .comm = comm,
                                           .request = request,
                                           .persistent = 1,
                                           .info = info,
                                           .large = LARGE});
}
