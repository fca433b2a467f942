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

#include "transports/kernels.h"

struct reduction {
    MPI_Datatype type;
    MPI_Op op;
    size_t extent; /* bytes from one element to the next, gaps of pair types included */
    int rounds;    /* the result depends on the order in which elements are combined */
    enum kernel_type kernel_type;
    enum kernel_op kernel_op;
    kernel_fn kernel; /* of these two; NULL: the library combines */
};

/* Returns 1 and fills *r, or 0. Depends on the handles only, so equal on all ranks. */
int reduction_of(MPI_Datatype type, MPI_Op op, struct reduction *r);

/* dst = a op b, `bytes` of each; dst may be a (an xport_combine). context: a const struct
 * reduction. */
void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes);

/*
 * Are two results of the reduction over nranks ranks equal, up to rounding where the order of
 * combining may differ? bytes: of both.
 */
int reduction_equal(const struct reduction *r, const void *a, const void *b, size_t bytes,
                    int nranks);

#endif
