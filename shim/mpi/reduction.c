/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements are combined by the kernels of transports/; what has none, because its form is the
 * library's own affair (Fortran's LOGICAL), by the library's MPI_Reduce_local.
 */
#include "shim/mpi/reduction.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/layout.h"

enum kind { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BYTES = 16, PAIR = 32 };

static const struct type_row {
    MPI_Datatype type;
    int kind;
    enum kernel_type kernel; /* the first of its form, which wider ones follow */
} types[] = {
    {MPI_INT, INTEGER, KERNEL_I8},
    {MPI_LONG, INTEGER, KERNEL_I8},
    {MPI_SHORT, INTEGER, KERNEL_I8},
    {MPI_UNSIGNED, INTEGER, KERNEL_U8},
    {MPI_UNSIGNED_LONG, INTEGER, KERNEL_U8},
    {MPI_UNSIGNED_SHORT, INTEGER, KERNEL_U8},
    {MPI_LONG_LONG, INTEGER, KERNEL_I8},
    {MPI_UNSIGNED_LONG_LONG, INTEGER, KERNEL_U8},
    {MPI_SIGNED_CHAR, INTEGER, KERNEL_I8},
    {MPI_UNSIGNED_CHAR, INTEGER, KERNEL_U8},
    {MPI_INT8_T, INTEGER, KERNEL_I8},
    {MPI_INT16_T, INTEGER, KERNEL_I8},
    {MPI_INT32_T, INTEGER, KERNEL_I8},
    {MPI_INT64_T, INTEGER, KERNEL_I8},
    {MPI_UINT8_T, INTEGER, KERNEL_U8},
    {MPI_UINT16_T, INTEGER, KERNEL_U8},
    {MPI_UINT32_T, INTEGER, KERNEL_U8},
    {MPI_UINT64_T, INTEGER, KERNEL_U8},
    {MPI_INTEGER, INTEGER, KERNEL_I8},
    {MPI_FLOAT, REAL, KERNEL_F32},
    {MPI_DOUBLE, REAL, KERNEL_F32},
    {MPI_LONG_DOUBLE, REAL, KERNEL_F32},
    {MPI_REAL, REAL, KERNEL_F32},
    {MPI_DOUBLE_PRECISION, REAL, KERNEL_F32},
    {MPI_C_FLOAT_COMPLEX, COMPLEX, KERNEL_C32},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, KERNEL_C32},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, KERNEL_C32},
    {MPI_COMPLEX, COMPLEX, KERNEL_C32},
    {MPI_DOUBLE_COMPLEX, COMPLEX, KERNEL_C32},
    {MPI_C_BOOL, LOGICAL, KERNEL_BOOL},
    {MPI_LOGICAL, LOGICAL, KERNEL_NONE},
    {MPI_BYTE, BYTES, KERNEL_U8},
    {MPI_FLOAT_INT, PAIR, KERNEL_FLOAT_INT},
    {MPI_DOUBLE_INT, PAIR, KERNEL_DOUBLE_INT},
    {MPI_LONG_INT, PAIR, KERNEL_LONG_INT},
    {MPI_SHORT_INT, PAIR, KERNEL_SHORT_INT},
    {MPI_2INT, PAIR, KERNEL_INT_INT},
    {MPI_LONG_DOUBLE_INT, PAIR, KERNEL_LONG_DOUBLE_INT},
};

static const struct {
    MPI_Op op;
    int kinds;
    int rounds; /* on REAL and COMPLEX */
    enum kernel_op kernel;
} operations[] = {
    {MPI_SUM, INTEGER | REAL | COMPLEX, 1, KERNEL_SUM},
    {MPI_PROD, INTEGER | REAL | COMPLEX, 1, KERNEL_PROD},
    {MPI_MAX, INTEGER | REAL, 0, KERNEL_MAX},
    {MPI_MIN, INTEGER | REAL, 0, KERNEL_MIN},
    {MPI_LAND, INTEGER | LOGICAL, 0, KERNEL_LAND},
    {MPI_LOR, INTEGER | LOGICAL, 0, KERNEL_LOR},
    {MPI_LXOR, INTEGER | LOGICAL, 0, KERNEL_LXOR},
    {MPI_BAND, INTEGER | BYTES, 0, KERNEL_BAND},
    {MPI_BOR, INTEGER | BYTES, 0, KERNEL_BOR},
    {MPI_BXOR, INTEGER | BYTES, 0, KERNEL_BXOR},
    {MPI_MAXLOC, PAIR, 0, KERNEL_MAXLOC},
    {MPI_MINLOC, PAIR, 0, KERNEL_MINLOC},
};

static const struct type_row *row_of(MPI_Datatype type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

/*
 * The kernel type of a row for elements of that extent, which for Fortran's types and C's long is
 * known at run time only: the row's own, or a wider one of the same form, which follow it.
 */
static enum kernel_type kernel_type_of(const struct type_row *row, size_t extent)
{
    static const int wider[PAIR + 1] = {[INTEGER] = 3, [REAL] = 2, [COMPLEX] = 2};

    for (int k = row->kernel; k != KERNEL_NONE && k <= (int)row->kernel + wider[row->kind]; k++)
        if (kernel_extent((enum kernel_type)k) == extent)
            return (enum kernel_type)k;
    return KERNEL_NONE;
}

static int look_up(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    const struct type_row *row = type == MPI_DATATYPE_NULL ? NULL : row_of(type);
    MPI_Count lower, extent;

    for (size_t i = 0; row && i < sizeof operations / sizeof *operations; i++) {
        int kind = row->kind;
        if (operations[i].op != op)
            continue;
        if (!(operations[i].kinds & kind) ||
            mpi.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS || lower || extent < 1)
            return 0;
        enum kernel_type kernel_type = kernel_type_of(row, (size_t)extent);
        *r = (struct reduction){.type = type,
                                .op = op,
                                .extent = (size_t)extent,
                                .rounds = operations[i].rounds && kind & (REAL | COMPLEX),
                                .kernel = kernel_find(kernel_type, operations[i].kernel),
                                .kernel_type = kernel_type,
                                .kernel_op = operations[i].kernel};
        return 1;
    }
    return 0;
}

/* Programs reduce with the same type and operation again and again, and predefined handles mean the
   same for ever. */
int reduction_of(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    static __thread struct reduction last __attribute__((tls_model("initial-exec")));

    if (!last.extent || last.type != type || last.op != op) {
        if (!look_up(type, op, r))
            return 0;
        last = *r;
    }
    *r = last;
    return 1;
}

void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const struct reduction *r = context;

    if (r->kernel) {
        r->kernel(a, b, dst, bytes / r->extent);
        return;
    }
    if (dst != a)
        memcpy(dst, a, bytes);
    mpi.Reduce_local(b, dst, (int)(bytes / r->extent), r->type, r->op);
}

/* Element i of an array of real numbers of that size. */
static long double real_at(const void *array, size_t i, size_t size)
{
    return size == sizeof(float)    ? ((const float *)array)[i]
           : size == sizeof(double) ? (long double)((const double *)array)[i]
                                    : ((const long double *)array)[i];
}

/* Sums may differ by the rounding of nranks additions of numbers as large as the largest here. */
static int nearly_equal(const void *a, const void *b, size_t bytes, size_t size, int nranks)
{
    long double epsilon = size == sizeof(float)    ? FLT_EPSILON
                          : size == sizeof(double) ? (long double)DBL_EPSILON
                                                   : LDBL_EPSILON;
    long double largest = 0;

    for (size_t i = 0; i < bytes / size; i++) {
        long double magnitude = fabsl(real_at(a, i, size));
        if (isfinite(magnitude) && magnitude > largest)
            largest = magnitude;
    }
    for (size_t i = 0; i < bytes / size; i++) {
        long double x = real_at(a, i, size), y = real_at(b, i, size);
        if (x != y && !(isnan(x) && isnan(y)) && !(fabsl(x - y) <= 8 * nranks * epsilon * largest))
            return 0;
    }
    return 1;
}

/* The real number that a pair begins with, in bytes; 0: its values are integers. */
static size_t pair_real(MPI_Datatype type)
{
    return type == MPI_FLOAT_INT         ? sizeof(float)
           : type == MPI_DOUBLE_INT      ? sizeof(double)
           : type == MPI_LONG_DOUBLE_INT ? sizeof(long double)
                                         : 0;
}

/* Pairs of a real number and an index, by value: either zero may survive a comparison. */
static int real_pairs_equal(const char *a, const char *b, size_t bytes, size_t extent, size_t size)
{
    for (size_t at = 0; at + extent <= bytes; at += extent)
        if (!nearly_equal(a + at, b + at, size, size, 0) ||
            memcmp(a + at + size, b + at + size, sizeof(int)) != 0)
            return 0;
    return 1;
}

int reduction_equal(const struct reduction *r, const void *a, const void *b, size_t bytes,
                    int nranks)
{
    int kind = row_of(r->type)->kind, equal = 0;
    MPI_Count count = (MPI_Count)(bytes / r->extent);
    struct layout packed;

    if (kind == REAL || kind == COMPLEX)
        return nearly_equal(a, b, bytes, kind == COMPLEX ? r->extent / 2 : r->extent,
                            r->rounds ? nranks : 0);
    if (pair_real(r->type))
        return real_pairs_equal(a, b, bytes, r->extent, pair_real(r->type));
    if (layout_of(r->type, &packed) < 0)
        return 0;
    /* Without the gaps that pair types have. */
    char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    if (x && y && layout_pack(&packed, a, count, x, MPI_COMM_SELF) == MPI_SUCCESS &&
        layout_pack(&packed, b, count, y, MPI_COMM_SELF) == MPI_SUCCESS)
        equal = layout_equal(&packed, x, y, (size_t)(count * packed.size));
    free(x);
    free(y);
    return equal;
}
