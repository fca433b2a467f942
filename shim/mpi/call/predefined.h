/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A predefined type in one form for all its names and all libraries: numbers of a kind and a size,
 * with a layout. MPI_INTEGER4 and MPI_INTEGER are then the same, as are the types of
 * MPI_Type_create_f90_real.
 */
#ifndef COLLSHIM_SHIM_MPI_PREDEFINED_H
#define COLLSHIM_SHIM_MPI_PREDEFINED_H

#include <mpi.h>
#include <stddef.h>

#include "transports/base/kernels.h"

enum predefined_kind {
    SIGNED,
    UNSIGNED,
    COUNTING, /* signed, but logical operations are not for it: Fortran's, addresses, offsets */
    C_REAL,
    F_REAL,     /* its widest is no long double */
    BRAIN_REAL, /* of 16 bits, with the exponent of 32 */
    BOOL,       /* C's */
    LOGICAL,    /* Fortran's, whose form is the library's own affair */
    BYTES,
    PREDEFINED_KINDS
};

enum predefined_layout {
    SINGLE,
    COMPLEX,  /* two parts */
    WITH_INT, /* a value and C's int, as the struct of the two */
    TWICE,    /* a value and an index of its type */
    PREDEFINED_LAYOUTS
};

/* At most so many handles, and forms of types without a handle of their own. C's integers of one
   sign and size have one row: some ranks may say MPI_LONG where others say MPI_INT64_T. */
enum { PREDEFINED_ROWS = 112, PREDEFINED_ALIKE = 4 };

struct predefined {
    enum predefined_kind kind;
    enum predefined_layout layout;
    size_t extent;           /* bytes from one element to the next */
    size_t part;             /* bytes of its first number */
    enum kernel_type kernel; /* KERNEL_NONE: the library combines */
    int row; /* of its handle, of its form, or of its kernel: below PREDEFINED_ROWS */
};

/*
 * Fill *p. Returns 1, or 0: it is not a predefined type, or none that MPI allows in a reduction.
 * Depends on the handle alone. Any thread.
 */
int predefined_of(MPI_Datatype type, struct predefined *p);

/* The handles that have the row of that predefined type; returns how many. All libraries have those
   of C's integers, with every operation on integers. Any thread. */
int predefined_alike(MPI_Datatype type, MPI_Datatype list[PREDEFINED_ALIKE]);

#endif
