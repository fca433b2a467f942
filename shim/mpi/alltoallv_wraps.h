/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of alltoallv.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Alltoallv)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                    MPI_Datatype sendtype, void *recvbuf, const COUNT *recvcounts,
                    const DISPL *rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = sendtype},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = recvtype},
                                                       .comm = comm,
                                                       .large = LARGE});
}

int WRAP(Alltoallw)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                    const MPI_Datatype *sendtypes, void *recvbuf, const COUNT *recvcounts,
                    const DISPL *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = MPI_DATATYPE_NULL,
                                                                .types = sendtypes},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = MPI_DATATYPE_NULL,
                                                                   .types = recvtypes},
                                                       .comm = comm,
                                                       .by_type = 1,
                                                       .large = LARGE});
}

int WRAP(Ialltoallv)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                     MPI_Datatype sendtype, void *recvbuf, const COUNT *recvcounts,
                     const DISPL *rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                     MPI_Request *request)
{
    if (!request)
        return LIBRARY(Ialltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype, comm, request);
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = sendtype},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = recvtype},
                                                       .comm = comm,
                                                       .request = request,
                                                       .large = LARGE});
}

int WRAP(Ialltoallw)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                     const MPI_Datatype *sendtypes, void *recvbuf, const COUNT *recvcounts,
                     const DISPL *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm,
                     MPI_Request *request)
{
    if (!request)
        return LIBRARY(Ialltoallw)(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes, comm, request);
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = MPI_DATATYPE_NULL,
                                                                .types = sendtypes},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = MPI_DATATYPE_NULL,
                                                                   .types = recvtypes},
                                                       .comm = comm,
                                                       .request = request,
                                                       .by_type = 1,
                                                       .large = LARGE});
}

int WRAP(Alltoallv_init)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                         MPI_Datatype sendtype, void *recvbuf, const COUNT *recvcounts,
                         const DISPL *rdispls, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                         MPI_Request *request)
{
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = sendtype},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = recvtype},
                                                       .comm = comm,
                                                       .request = request,
                                                       .persistent = 1,
                                                       .info = info,
                                                       .large = LARGE});
}

int WRAP(Alltoallw_init)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                         const MPI_Datatype *sendtypes, void *recvbuf, const COUNT *recvcounts,
                         const DISPL *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm,
                         MPI_Info info, MPI_Request *request)
{
    return alltoallv_run(&(struct alltoallv_arguments){.send = {.buffer = sendbuf,
                                                                .counts = {.WIDTH = sendcounts},
                                                                .displs = {.WIDTH = sdispls},
                                                                .type = MPI_DATATYPE_NULL,
                                                                .types = sendtypes},
                                                       .receive = {.buffer = recvbuf,
                                                                   .counts = {.WIDTH = recvcounts},
                                                                   .displs = {.WIDTH = rdispls},
                                                                   .type = MPI_DATATYPE_NULL,
                                                                   .types = recvtypes},
                                                       .comm = comm,
                                                       .request = request,
                                                       .persistent = 1,
                                                       .info = info,
                                                       .by_type = 1,
                                                       .large = LARGE});
}
