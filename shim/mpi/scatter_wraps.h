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
