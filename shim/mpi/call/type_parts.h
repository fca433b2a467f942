/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A datatype taken apart: how it was made, and the blocks that an element consists of. No part
 * calls the error handler for a type that MPI knows. Local.
 */
#ifndef COLLSHIM_SHIM_MPI_TYPE_PARTS_H
#define COLLSHIM_SHIM_MPI_TYPE_PARTS_H

#include <mpi.h>

/* The constructor of a type. */
struct type_parts {
    int integers, addresses, types, combiner;
    int large; /* made with large counts: MPI_Type_get_contents cannot take it apart */
};

/* Returns 0, or -1 if the type cannot be asked. */
int type_parts_of(MPI_Datatype type, struct type_parts *p);

/* Such a type was not made by the application and must not be freed. */
int type_is_predefined(const struct type_parts *p);

/* The constructor's arguments. Arrays and types are owned. */
struct type_contents {
    struct type_parts parts;
    int *integer;
    MPI_Aint *address;
    MPI_Datatype *type;
};

/* Returns 0 (close it), or -1: it is predefined, made with large counts, or memory is short. */
int type_contents_open(MPI_Datatype type, struct type_contents *c);
void type_contents_close(struct type_contents *c);

/* A run of elements of a simpler type, borrowed from the contents; `at` bytes from where the
   element is said to be. */
struct type_block {
    MPI_Aint at;
    MPI_Count count;
    MPI_Datatype type;
};

/* How many blocks an element has; -1: not known (distributed arrays). */
MPI_Count type_blocks(const struct type_contents *c);

/* Block i, in the order of the type map, which is that of packed bytes. */
struct type_block type_block_at(const struct type_contents *c, MPI_Count i);

#endif
