/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that take the place of the library's: same signatures, same contracts. */
#ifndef COLLSHIM_SHIM_MPI_WRAPPERS_H
#define COLLSHIM_SHIM_MPI_WRAPPERS_H

#include <mpi.h>

int mpi_wrap_Init(int *argc, char ***argv);
int mpi_wrap_Init_thread(int *argc, char ***argv, int required, int *provided);
int mpi_wrap_Finalize(void);
int mpi_wrap_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        const int *recvcounts, const int *displs, MPI_Datatype recvtype,
                        MPI_Comm comm);
int mpi_wrap_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm);
int mpi_wrap_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm);
int mpi_wrap_Reduce_scatter(const void *sendbuf, void *recvbuf, const int *recvcounts,
                            MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int mpi_wrap_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                                  MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int mpi_wrap_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int mpi_wrap_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int mpi_wrap_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                     const int *recvcounts, const int *displs, MPI_Datatype recvtype, int root,
                     MPI_Comm comm);
int mpi_wrap_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                     int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int mpi_wrap_Scatterv(const void *sendbuf, const int *sendcounts, const int *displs,
                      MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                      int root, MPI_Comm comm);
int mpi_wrap_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                      int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Alltoallv(const void *sendbuf, const int *sendcounts, const int *sdispls,
                       MPI_Datatype sendtype, void *recvbuf, const int *recvcounts,
                       const int *rdispls, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Alltoallw(const void *sendbuf, const int *sendcounts, const int *sdispls,
                       const MPI_Datatype *sendtypes, void *recvbuf, const int *recvcounts,
                       const int *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm);

/* With large counts (MPI 4.0). */
int mpi_wrap_Allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                          void *recvbuf, const MPI_Count *recvcounts, const MPI_Aint *displs,
                          MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm);
int mpi_wrap_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm);
int mpi_wrap_Reduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count *recvcounts,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int mpi_wrap_Reduce_scatter_block_c(const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int mpi_wrap_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int mpi_wrap_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                      MPI_Comm comm);
int mpi_wrap_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void *recvbuf, const MPI_Count *recvcounts, const MPI_Aint *displs,
                       MPI_Datatype recvtype, int root, MPI_Comm comm);
int mpi_wrap_Scatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                       MPI_Comm comm);
int mpi_wrap_Scatterv_c(const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *displs,
                        MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm);
int mpi_wrap_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Alltoallv_c(const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *sdispls,
                         MPI_Datatype sendtype, void *recvbuf, const MPI_Count *recvcounts,
                         const MPI_Aint *rdispls, MPI_Datatype recvtype, MPI_Comm comm);
int mpi_wrap_Alltoallw_c(const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *sdispls,
                         const MPI_Datatype *sendtypes, void *recvbuf, const MPI_Count *recvcounts,
                         const MPI_Aint *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm);

#endif
