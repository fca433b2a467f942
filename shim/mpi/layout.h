/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a buffer of the application lies in memory. Plans move packed bytes; a buffer whose
 * type has gaps, or whose bytes are in another order than the type map's, is packed before
 * and unpacked after. Each rank does so for its own buffers only: ranks may describe the
 * same bytes by different types, so what one rank sees must not change what all do.
 */
#ifndef COLLSHIM_SHIM_MPI_LAYOUT_H
#define COLLSHIM_SHIM_MPI_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

struct layout {
    MPI_Datatype type;
    MPI_Count size;   /* bytes of data in one element */
    MPI_Count extent; /* distance between elements */
    int dense;        /* elements are their packed bytes, back to back */
};

/* Returns 0, or -1 if the type cannot be asked (the library will then say why). Local. */
int layout_of(MPI_Datatype type, struct layout *l);

/* Copy count elements between the application's buffer and packed bytes. Returns an MPI code. */
int layout_pack(const struct layout *l, const void *user, MPI_Count count, void *packed,
                MPI_Comm comm);
int layout_unpack(const struct layout *l, const void *packed, void *user, MPI_Count count,
                  MPI_Comm comm);

#endif
