/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which reductions can be rerouted: a predefined operation on a predefined type of the kinds
 * that MPI allows it for. Everything else is left to the library: user-defined operations
 * may not commute, and a wrong pair is for the library to complain about.
 */
#ifndef COLLSHIM_SHIM_MPI_REDUCTION_H
#define COLLSHIM_SHIM_MPI_REDUCTION_H

#include <mpi.h>
#include <stddef.h>

#include "transports/base/kernels.h"

enum { REDUCTION_PAIRS = 1344 }; /* of a type and an operation, at most */

/* How real numbers are written. */
enum reduction_real {
    REAL_NOT,
    REAL_16,
    REAL_16_BRAIN, /* the upper half of 32 bits */
    REAL_32,
    REAL_64,
    REAL_LONG_DOUBLE,
    REAL_128
};

struct reduction {
    MPI_Datatype type;
    MPI_Op op;
    int pair;      /* number of the type and the operation */
    size_t extent; /* bytes from one element to the next, gaps of pair types included */
    enum reduction_real
        real;           /* of an element, or its halves, or the value that a pair begins with */
    size_t index_bytes; /* of a pair's index; 0: it is no pair */
    int rounds;         /* the result depends on the order in which elements are combined */
    kernel_fn kernel;   /* NULL: the library combines */
    enum kernel_type kernel_type; /* the kernel's key; KERNEL_NONE without one */
    enum kernel_op kernel_op;
};

/* Returns 1 and fills *r, or 0. Depends on the handles only, so equal on all ranks. */
int reduction_of(MPI_Datatype type, MPI_Op op, struct reduction *r);

/* dst = a op b, `bytes` of each; dst may be a (an xport_combine). context: a const struct
 * reduction. */
void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes);

/* inout = in op inout by the library, n elements (an arithmetic_fn). context: as above. */
int reduction_by_library(void *context, const void *in, void *inout, int n);

/*
 * Are two results of the reduction over nranks ranks equal, up to rounding where the order of
 * combining may differ? bytes: of both.
 */
int reduction_equal(const struct reduction *r, const void *a, const void *b, size_t bytes,
                    int nranks);

#endif
