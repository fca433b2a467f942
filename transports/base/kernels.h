/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combining elements on the CPU: one vectorised loop per operation and type of number. They follow
 * C. Integers wrap round. MAX and MIN compare, so a NaN loses or wins by its place. Logical results
 * are 0 or 1. MAXLOC and MINLOC of equal values keep the lower index.
 *
 * Rejected: the library's MPI_Reduce_local, because it combines into one of its two operands, which
 * costs a copy where the result belongs elsewhere, and not every library vectorises it.
 */
#ifndef COLLSHIM_TRANSPORTS_KERNELS_H
#define COLLSHIM_TRANSPORTS_KERNELS_H

#include <stddef.h>

enum kernel_type {
    KERNEL_NONE, /* no kernel for this type */
    KERNEL_I8,
    KERNEL_I16,
    KERNEL_I32,
    KERNEL_I64,
    KERNEL_U8,
    KERNEL_U16,
    KERNEL_U32,
    KERNEL_U64,
    KERNEL_F32,
    KERNEL_F64,
    KERNEL_LONG_DOUBLE,
    KERNEL_C32, /* complex, of two F32 */
    KERNEL_C64,
    KERNEL_COMPLEX_LONG_DOUBLE,
    KERNEL_BOOL,
    KERNEL_SHORT_INT, /* a value and an index, as the C struct of the two */
    KERNEL_INT_INT,
    KERNEL_LONG_INT,
    KERNEL_FLOAT_INT,
    KERNEL_DOUBLE_INT,
    KERNEL_LONG_DOUBLE_INT,
    KERNEL_I32_I32, /* a value and an index of one type, as Fortran has them */
    KERNEL_I64_I64,
    KERNEL_F32_F32,
    KERNEL_F64_F64,
    KERNEL_TYPES
};

enum kernel_op {
    KERNEL_SUM,
    KERNEL_PROD,
    KERNEL_MAX,
    KERNEL_MIN,
    KERNEL_LAND,
    KERNEL_LOR,
    KERNEL_LXOR,
    KERNEL_BAND,
    KERNEL_BOR,
    KERNEL_BXOR,
    KERNEL_MAXLOC,
    KERNEL_MINLOC,
    KERNEL_OPS
};

/* dst[i] = a[i] op b[i] for n elements. dst may be a, or else meets neither operand. Numbers need
   no alignment, pairs that of their struct. */
typedef void (*kernel_fn)(const void *a, const void *b, void *dst, size_t n);

/* The kernel of that operation on that type, or NULL where there is none. */
kernel_fn kernel_find(enum kernel_type type, enum kernel_op op);

/* Bytes from one element of the type to the next; 0 for KERNEL_NONE. */
size_t kernel_extent(enum kernel_type type);

#endif
