/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function that makes a call with the arguments of a struct given, each side's of its own. Before
 * each inclusion:
 *
 *     FUNCTION               its head; the arguments are its parameter g
 *     CALL(Name, name, ...)  MPI's function, with a capital and without, and its arguments
 *     COUNT                  the type of its counts
 *     WIDTH                  the member with vectors of that type
 */
#ifndef COLLSHIM_TEST_MPI_GIVEN_CALL_H
#define COLLSHIM_TEST_MPI_GIVEN_CALL_H

#include "test/mpi/collectives.h"

/* Behind those of an enum collective. */
enum {
    NEIGHBOR_ALLGATHER = COLLECTIVES,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    GIVEN_FUNCTIONS
};

/* [0]: what is sent, or reduced; [1]: what is received, or broadcast. */
struct given {
    int what;
    void *buffer[2];
    MPI_Count n[2];
    struct {
        const int *count, *displ, *byte_displ;
    } narrow[2];
    struct {
        const MPI_Count *count;
        const MPI_Aint *displ, *byte_displ;
    } wide[2];
    MPI_Datatype type[2];
    const MPI_Datatype *types[2];
    int root;
    MPI_Comm comm;
};

#endif

FUNCTION
{
    COUNT sent = (COUNT)g->n[0], received = (COUNT)g->n[1];
    __typeof__(g->WIDTH[0]) from = g->WIDTH[0], to = g->WIDTH[1];
    void *in = g->buffer[0], *out = g->buffer[1];
    MPI_Datatype s = g->type[0], r = g->type[1];

    switch (g->what) {
    case ALLGATHER:
        CALL(Allgather, allgather, in, sent, s, out, received, r, g->comm);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, in, sent, s, out, to.count, to.displ, r, g->comm);
        break;
    case ALLREDUCE:
        CALL(Allreduce, allreduce, in, out, sent, s, MPI_SUM, g->comm);
        break;
    case REDUCE:
        CALL(Reduce, reduce, in, out, sent, s, MPI_SUM, g->root, g->comm);
        break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, in, out, from.count, s, MPI_SUM, g->comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, in, out, sent, s, MPI_SUM, g->comm);
        break;
    case SCAN:
        CALL(Scan, scan, in, out, sent, s, MPI_SUM, g->comm);
        break;
    case EXSCAN:
        CALL(Exscan, exscan, in, out, sent, s, MPI_SUM, g->comm);
        break;
    case BCAST:
        CALL(Bcast, bcast, out, received, r, g->root, g->comm);
        break;
    case GATHER:
        CALL(Gather, gather, in, sent, s, out, received, r, g->root, g->comm);
        break;
    case GATHERV:
        CALL(Gatherv, gatherv, in, sent, s, out, to.count, to.displ, r, g->root, g->comm);
        break;
    case SCATTER:
        CALL(Scatter, scatter, in, sent, s, out, received, r, g->root, g->comm);
        break;
    case SCATTERV:
        CALL(Scatterv, scatterv, in, from.count, from.displ, s, out, received, r, g->root, g->comm);
        break;
    case ALLTOALL:
        CALL(Alltoall, alltoall, in, sent, s, out, received, r, g->comm);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, in, from.count, from.displ, s, out, to.count, to.displ, r,
             g->comm);
        break;
    case ALLTOALLW:
        CALL(Alltoallw, alltoallw, in, from.count, from.byte_displ, g->types[0], out, to.count,
             to.byte_displ, g->types[1], g->comm);
        break;
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, in, sent, s, out, received, r, g->comm);
        break;
    case NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, neighbor_allgatherv, in, sent, s, out, to.count, to.displ, r,
             g->comm);
        break;
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, neighbor_alltoall, in, sent, s, out, received, r, g->comm);
        break;
    case NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, neighbor_alltoallv, in, from.count, from.displ, s, out, to.count,
             to.displ, r, g->comm);
        break;
    default: /* its displacements are MPI_Aint with either width */
        CALL(Neighbor_alltoallw, neighbor_alltoallw, in, from.count, g->wide[0].byte_displ,
             g->types[0], out, to.count, g->wide[1].byte_displ, g->types[1], g->comm);
    }
}
#undef FUNCTION
#undef CALL
#undef COUNT
#undef WIDTH
