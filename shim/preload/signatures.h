/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives' parameters (P_) and arguments (A_) by groups: the side that is sent, the one that is
 * received, the vector that is reduced. _V: with vectors of counts and displacements. _W:
 * with vectors of types too. COUNT and DISPL: int, or MPI_Count and MPI_Aint.
 */
#ifndef COLLSHIM_SHIM_PRELOAD_SIGNATURES_H
#define COLLSHIM_SHIM_PRELOAD_SIGNATURES_H

#define P_SEND const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype
#define A_SEND sendbuf, sendcount, sendtype
#define P_RECV void *recvbuf, COUNT recvcount, MPI_Datatype recvtype
#define A_RECV recvbuf, recvcount, recvtype

#define P_SEND_V                                                                                   \
    const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls, MPI_Datatype sendtype
#define A_SEND_V sendbuf, sendcounts, sdispls, sendtype
#define P_RECV_V void *recvbuf, const COUNT *recvcounts, const DISPL *rdispls, MPI_Datatype recvtype
#define A_RECV_V recvbuf, recvcounts, rdispls, recvtype

#define P_SEND_W(DISPL)                                                                            \
    const void *sendbuf, const COUNT *sendcounts, const DISPL *sdispls,                            \
        const MPI_Datatype *sendtypes
#define A_SEND_W sendbuf, sendcounts, sdispls, sendtypes
#define P_RECV_W(DISPL)                                                                            \
    void *recvbuf, const COUNT *recvcounts, const DISPL *rdispls, const MPI_Datatype *recvtypes
#define A_RECV_W recvbuf, recvcounts, rdispls, recvtypes

#define P_REDUCE const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op
#define A_REDUCE sendbuf, recvbuf, count, type, op
#define P_REDUCE_V                                                                                 \
    const void *sendbuf, void *recvbuf, const COUNT *recvcounts, MPI_Datatype type, MPI_Op op
#define A_REDUCE_V sendbuf, recvbuf, recvcounts, type, op

#define P_BCAST void *buffer, COUNT count, MPI_Datatype type
#define A_BCAST buffer, count, type

/* How many arguments those are, 11 at most. */
#define TWELFTH(a, b, c, d, e, f, g, h, i, j, k, l, ...) l
#define NUMBER_OF(...) TWELFTH(__VA_ARGS__, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#endif
