/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of allgather.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Allgather)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return allgather(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                   .sendcount = sendcount,
                                                   .sendtype = sendtype,
                                                   .recvbuf = recvbuf,
                                                   .recvcount = recvcount,
                                                   .recvtype = recvtype,
                                                   .comm = comm,
                                                   .large = LARGE});
}

int WRAP(Allgatherv)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                     const COUNT *recvcounts, const DISPL *displs, MPI_Datatype recvtype,
                     MPI_Comm comm)
{
    return allgatherv(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                    .sendcount = sendcount,
                                                    .sendtype = sendtype,
                                                    .recvbuf = recvbuf,
                                                    .recvcounts = {.WIDTH = recvcounts},
                                                    .displs = {.WIDTH = displs},
                                                    .recvtype = recvtype,
                                                    .comm = comm,
                                                    .large = LARGE});
}

int WRAP(Iallgather)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                     COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_ALLGATHER, recvcount, recvtype, comm))
        return LIBRARY(Iallgather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                   request);
    return allgather(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                   .sendcount = sendcount,
                                                   .sendtype = sendtype,
                                                   .recvbuf = recvbuf,
                                                   .recvcount = recvcount,
                                                   .recvtype = recvtype,
                                                   .comm = comm,
                                                   .request = request,
                                                   .large = LARGE});
}

int WRAP(Iallgatherv)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const COUNT *recvcounts, const DISPL *displs, MPI_Datatype recvtype,
                      MPI_Comm comm, MPI_Request *request)
{
    if (!request)
        return LIBRARY(Iallgatherv)(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, comm, request);
    return allgatherv(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                    .sendcount = sendcount,
                                                    .sendtype = sendtype,
                                                    .recvbuf = recvbuf,
                                                    .recvcounts = {.WIDTH = recvcounts},
                                                    .displs = {.WIDTH = displs},
                                                    .recvtype = recvtype,
                                                    .comm = comm,
                                                    .request = request,
                                                    .large = LARGE});
}

int WRAP(Allgather_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                         COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                         MPI_Request *request)
{
    return allgather(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                   .sendcount = sendcount,
                                                   .sendtype = sendtype,
                                                   .recvbuf = recvbuf,
                                                   .recvcount = recvcount,
                                                   .recvtype = recvtype,
                                                   .comm = comm,
                                                   .request = request,
                                                   .persistent = 1,
                                                   .info = info,
                                                   .large = LARGE});
}

int WRAP(Allgatherv_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                          void *recvbuf, const COUNT *recvcounts, const DISPL *displs,
                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return allgatherv(&(struct allgather_arguments){.sendbuf = sendbuf,
                                                    .sendcount = sendcount,
                                                    .sendtype = sendtype,
                                                    .recvbuf = recvbuf,
                                                    .recvcounts = {.WIDTH = recvcounts},
                                                    .displs = {.WIDTH = displs},
                                                    .recvtype = recvtype,
                                                    .comm = comm,
                                                    .request = request,
                                                    .persistent = 1,
                                                    .info = info,
                                                    .large = LARGE});
}
