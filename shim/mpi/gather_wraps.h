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
