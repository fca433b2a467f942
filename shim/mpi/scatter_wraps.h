/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of scatter.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Scatter)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                  COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return scatter(&(struct rooted){
        .all = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .root = root,
        .comm = comm,
        .large = LARGE});
}

int WRAP(Scatterv)(const void *sendbuf, const COUNT *sendcounts, const DISPL *displs,
                   MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
                   int root, MPI_Comm comm)
{
    return scatterv(
        &(struct rooted){.all = {.buffer = (char *)(uintptr_t)sendbuf,
                                 .counts = {.WIDTH = sendcounts},
                                 .displs = {.WIDTH = displs},
                                 .type = sendtype},
                         .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
                         .root = root,
                         .comm = comm,
                         .large = LARGE});
}

int WRAP(Iscatter)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                   COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   MPI_Request *request)
{
    if (!request)
        return LIBRARY(Iscatter)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                 comm, request);
    return scatter(&(struct rooted){
        .all = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .root = root,
        .comm = comm,
        .request = request,
        .large = LARGE});
}

int WRAP(Iscatterv)(const void *sendbuf, const COUNT *sendcounts, const DISPL *displs,
                    MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,
                    int root, MPI_Comm comm, MPI_Request *request)
{
    if (!request)
        return LIBRARY(Iscatterv)(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                  recvtype, root, comm, request);
    return scatterv(
        &(struct rooted){.all = {.buffer = (char *)(uintptr_t)sendbuf,
                                 .counts = {.WIDTH = sendcounts},
                                 .displs = {.WIDTH = displs},
                                 .type = sendtype},
                         .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
                         .root = root,
                         .comm = comm,
                         .request = request,
                         .large = LARGE});
}

int WRAP(Scatter_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                       COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                       MPI_Info info, MPI_Request *request)
{
    return scatter(&(struct rooted){
        .all = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .root = root,
        .comm = comm,
        .request = request,
        .persistent = 1,
        .info = info,
        .large = LARGE});
}

int WRAP(Scatterv_init)(const void *sendbuf, const COUNT *sendcounts, const DISPL *displs,
                        MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                        MPI_Request *request)
{
    return scatterv(
        &(struct rooted){.all = {.buffer = (char *)(uintptr_t)sendbuf,
                                 .counts = {.WIDTH = sendcounts},
                                 .displs = {.WIDTH = displs},
                                 .type = sendtype},
                         .own = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
                         .root = root,
                         .comm = comm,
                         .request = request,
                         .persistent = 1,
                         .info = info,
                         .large = LARGE});
}
