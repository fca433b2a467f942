/* SPDX-License-Identifier: BSD-3-Clause */
/* Template of bcast.c; its parameters: width_int.h, width_large.h. No include guard. */

int WRAP(Bcast)(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast(&(struct bcast_arguments){.buffer = buffer,
                                           .count = count,
                                           .type = type,
                                           .root = root,
                                           .comm = comm,
                                           .large = LARGE});
}
