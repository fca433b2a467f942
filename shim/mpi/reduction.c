/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements are combined by the library's own MPI_Reduce_local: its results are then the
 * library's results for each pair of elements, oddities included.
 */
#include "shim/mpi/reduction.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/layout.h"

enum kind { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BYTES = 16, PAIR = 32 };

static const struct {
    MPI_Datatype type;
    int kind;
} types[] = {
    {MPI_INT, INTEGER},
    {MPI_LONG, INTEGER},
    {MPI_SHORT, INTEGER},
    {MPI_UNSIGNED, INTEGER},
    {MPI_UNSIGNED_LONG, INTEGER},
    {MPI_UNSIGNED_SHORT, INTEGER},
    {MPI_LONG_LONG, INTEGER},
    {MPI_UNSIGNED_LONG_LONG, INTEGER},
    {MPI_SIGNED_CHAR, INTEGER},
    {MPI_UNSIGNED_CHAR, INTEGER},
    {MPI_INT8_T, INTEGER},
    {MPI_INT16_T, INTEGER},
    {MPI_INT32_T, INTEGER},
    {MPI_INT64_T, INTEGER},
    {MPI_UINT8_T, INTEGER},
    {MPI_UINT16_T, INTEGER},
    {MPI_UINT32_T, INTEGER},
    {MPI_UINT64_T, INTEGER},
    {MPI_INTEGER, INTEGER},
    {MPI_FLOAT, REAL},
    {MPI_DOUBLE, REAL},
    {MPI_LONG_DOUBLE, REAL},
    {MPI_REAL, REAL},
    {MPI_DOUBLE_PRECISION, REAL},
    {MPI_C_FLOAT_COMPLEX, COMPLEX},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX},
    {MPI_COMPLEX, COMPLEX},
    {MPI_DOUBLE_COMPLEX, COMPLEX},
    {MPI_C_BOOL, LOGICAL},
    {MPI_LOGICAL, LOGICAL},
    {MPI_BYTE, BYTES},
    {MPI_FLOAT_INT, PAIR},
    {MPI_DOUBLE_INT, PAIR},
    {MPI_LONG_INT, PAIR},
    {MPI_SHORT_INT, PAIR},
    {MPI_2INT, PAIR},
    {MPI_LONG_DOUBLE_INT, PAIR},
};

static const struct {
    MPI_Op op;
    int kinds;
    int rounds; /* on REAL and COMPLEX */
} operations[] = {
    {MPI_SUM, INTEGER | REAL | COMPLEX, 1},
    {MPI_PROD, INTEGER | REAL | COMPLEX, 1},
    {MPI_MAX, INTEGER | REAL, 0},
    {MPI_MIN, INTEGER | REAL, 0},
    {MPI_LAND, INTEGER | LOGICAL, 0},
    {MPI_LOR, INTEGER | LOGICAL, 0},
    {MPI_LXOR, INTEGER | LOGICAL, 0},
    {MPI_BAND, INTEGER | BYTES, 0},
    {MPI_BOR, INTEGER | BYTES, 0},
    {MPI_BXOR, INTEGER | BYTES, 0},
    {MPI_MAXLOC, PAIR, 0},
    {MPI_MINLOC, PAIR, 0},
};

static int kind_of(MPI_Datatype type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].kind;
    return 0;
}

int reduction_of(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    int kind = type == MPI_DATATYPE_NULL ? 0 : kind_of(type);
    MPI_Count lower, extent;

    for (size_t i = 0; kind && i < sizeof operations / sizeof *operations; i++) {
        if (operations[i].op != op)
            continue;
        if (!(operations[i].kinds & kind) ||
            mpi.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS || lower || extent < 1)
            return 0;
        *r = (struct reduction){.type = type,
                                .op = op,
                                .extent = (size_t)extent,
                                .rounds = operations[i].rounds && kind & (REAL | COMPLEX)};
        return 1;
    }
    return 0;
}

void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const struct reduction *r = context;

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
    int kind = kind_of(r->type), equal = 0;
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
