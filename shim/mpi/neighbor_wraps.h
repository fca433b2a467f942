/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of neighbor.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Neighbor_allgather)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                             void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return neighbor_allgather(&(struct neighbor_arguments){
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .large = LARGE});
}

int WRAP(Neighbor_allgatherv)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                              void *recvbuf, const COUNT *recvcounts, const DISPL *displs,
                              MPI_Datatype recvtype, MPI_Comm comm)
{
    return neighbor_allgather(&(struct neighbor_arguments){
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf,
                    .counts = {.WIDTH = recvcounts},
                    .displs = {.WIDTH = displs},
                    .type = recvtype},
        .comm = comm,
        .by_neighbor = 1,
        .large = LARGE});
}

int WRAP(Neighbor_alltoall)(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,
                            void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return neighbor_alltoall(&(struct neighbor_arguments){
        .send = {.buffer = sendbuf, .count = sendcount, .type = sendtype},
        .receive = {.buffer = recvbuf, .count = recvcount, .type = recvtype},
        .comm = comm,
        .large = LARGE});
}

int WRAP(Neighbor_alltoallv)(const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,
                             MPI_Datatype sendtype, void *recvbuf, const COUNT *recvcounts,
                             const DISPL *rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    return neighbor_alltoall(
        &(struct neighbor_arguments){.send = {.buffer = sendbuf,
                                              .counts = {.WIDTH = sendcounts},
                                              .displs = {.WIDTH = sdispls},
                                              .type = sendtype},
                                     .receive = {.buffer = recvbuf,
                                                 .counts = {.WIDTH = recvcounts},
                                                 .displs = {.WIDTH = rdispls},
                                                 .type = recvtype},
                                     .comm = comm,
                                     .by_neighbor = 1,
                                     .large = LARGE});
}

/* Its displacements are MPI_Aint in either form. */
int WRAP(Neighbor_alltoallw)(const void *sendbuf, const COUNT *sendcounts, const MPI_Aint *sdispls,
                             const MPI_Datatype *sendtypes, void *recvbuf, const COUNT *recvcounts,
                             const MPI_Aint *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    return neighbor_alltoall(
        &(struct neighbor_arguments){.send = {.buffer = sendbuf,
                                              .counts = {.WIDTH = sendcounts},
                                              .displs = {.wide = sdispls},
                                              .type = MPI_DATATYPE_NULL,
                                              .types = sendtypes},
                                     .receive = {.buffer = recvbuf,
                                                 .counts = {.WIDTH = recvcounts},
                                                 .displs = {.wide = rdispls},
                                                 .type = MPI_DATATYPE_NULL,
                                                 .types = recvtypes},
                                     .comm = comm,
                                     .by_neighbor = 1,
                                     .large = LARGE});
}
