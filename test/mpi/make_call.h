/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function that makes a struct call (random_call.h). Before each inclusion:
 *
 *     FUNCTION               its head; the call is its parameter c
 *     CALL(Name, name, ...)  MPI's function, with a capital and without, and its arguments
 *     COUNT                  the type of its counts
 *     BLOCKS                 the member of the call with counts of that type
 */
FUNCTION
{
    COUNT n = c->n, mine = c->BLOCKS.count[c->at->rank], *count = c->BLOCKS.count;
    __typeof__(c->BLOCKS.displ[0]) *displ = c->BLOCKS.displ;
    MPI_Datatype s = c->type[0], r = c->type[1];
    MPI_Comm comm = c->at->comm;
    const void *in = call_is_in_place(c) ? MPI_IN_PLACE : c->in;
    void *own = call_is_in_place(c) ? MPI_IN_PLACE : c->out; /* of a scatter */

    switch (c->what) {
    case ALLGATHER:
        CALL(Allgather, allgather, in, n, s, c->out, n, r, comm);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, in, mine, s, c->out, count, displ, r, comm);
        break;
    case ALLREDUCE:
        CALL(Allreduce, allreduce, in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case REDUCE:
        CALL(Reduce, reduce, in, c->out, n, MPI_INT, MPI_SUM, c->root, comm);
        break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, in, c->out, count, MPI_INT, MPI_SUM, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case SCAN:
        CALL(Scan, scan, in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case EXSCAN:
        CALL(Exscan, exscan, in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case BCAST:
        CALL(Bcast, bcast, c->out, n, r, c->root, comm);
        break;
    case GATHER:
        CALL(Gather, gather, in, n, s, c->out, n, r, c->root, comm);
        break;
    case GATHERV:
        CALL(Gatherv, gatherv, in, mine, s, c->out, count, displ, r, c->root, comm);
        break;
    case SCATTER:
        CALL(Scatter, scatter, c->in, n, s, own, n, r, c->root, comm);
        break;
    case SCATTERV:
        CALL(Scatterv, scatterv, c->in, count, displ, s, own, mine, r, c->root, comm);
        break;
    case ALLTOALL:
        CALL(Alltoall, alltoall, in, n, s, c->out, n, r, comm);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, in, count, displ, s, c->out, count, displ, r, comm);
        break;
    default:
        CALL(Alltoallw, alltoallw, in, count, c->BLOCKS.byte_displ[0], c->types[0], c->out, count,
             c->BLOCKS.byte_displ[1], c->types[1], comm);
    }
}
#undef FUNCTION
#undef CALL
#undef COUNT
#undef BLOCKS
