/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of gather.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Gather)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                 COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return gather(&(struct rooted){
        .all = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .large = LARGE});
}

int WRAP(Gatherv)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                  const COUNT *recvcounts, const DISPL *displs, MPI_Datatype recvtype, int root,
                  MPI_Comm comm)
{
    return gatherv(&(struct rooted){
        .all = {.buffer = recvbuf,
                .counts = {.WIDTH = recvcounts},
                .displs = {.WIDTH = displs},
                .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .large = LARGE});
}

int WRAP(Igather)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                  COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request *request)
{
    if (!request)
        return LIBRARY(Igather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                comm, request);
    return gather(&(struct rooted){
        .all = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .request = request,
        .large = LARGE});
}

int WRAP(Igatherv)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const COUNT *recvcounts, const DISPL *displs, MPI_Datatype recvtype, int root,
                   MPI_Comm comm, MPI_Request *request)
{
    if (!request)
        return LIBRARY(Igatherv)(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype, root, comm, request);
    return gatherv(&(struct rooted){
        .all = {.buffer = recvbuf,
                .counts = {.WIDTH = recvcounts},
                .displs = {.WIDTH = displs},
                .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .request = request,
        .large = LARGE});
}

int WRAP(Gather_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                      COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request *request)
{
    return gather(&(struct rooted){
        .all = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .request = request,
        .persistent = 1,
        .info = info,
        .large = LARGE});
}

int WRAP(Gatherv_init)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
                       const COUNT *recvcounts, const DISPL *displs, MPI_Datatype recvtype,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return gatherv(&(struct rooted){
        .all = {.buffer = recvbuf,
                .counts = {.WIDTH = recvcounts},
                .displs = {.WIDTH = displs},
                .type = recvtype},
        .own = {.buffer = (char *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype},
        .root = root,
        .comm = comm,
        .request = request,
        .persistent = 1,
        .info = info,
        .large = LARGE});
}
