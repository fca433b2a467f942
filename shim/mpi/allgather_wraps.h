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
