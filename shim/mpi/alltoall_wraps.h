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

int WRAP(Ialltoall)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                    COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    if (!request || nonblocking_passes(COLL_ALLTOALL, recvcount, recvtype, comm))
        return LIBRARY(Ialltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                  request);
    return alltoall(&(struct alltoall_arguments){.sendbuf = sendbuf,
                                                 .sendcount = sendcount,
                                                 .sendtype = sendtype,
                                                 .recvbuf = recvbuf,
                                                 .recvcount = recvcount,
                                                 .recvtype = recvtype,
                                                 .comm = comm,
                                                 .request = request,
                                                 .large = LARGE});
}

int WRAP(Alltoall_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                        COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        MPI_Request *request)
{
    return alltoall(&(struct alltoall_arguments){.sendbuf = sendbuf,
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
