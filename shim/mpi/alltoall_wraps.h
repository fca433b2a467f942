/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoall.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Alltoall)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                   COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return alltoall(&(struct alltoall_arguments){.sendbuf = sendbuf,
                                                 .sendcount = sendcount,
                                                 .sendtype = sendtype,
                                                 .recvbuf = recvbuf,
                                                 .recvcount = recvcount,
                                                 .recvtype = recvtype,
                                                 .comm = comm,
                                                 .large = LARGE});
}
