/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handle decides the row, which is equal on all ranks; the extent decides the width, which a
 * compiler's options may change in Fortran. Elements are combined by the kernels of transports/;
 * what has none, because its form is the library's own affair (Fortran's LOGICAL) or rare (numbers
 * of 16 and 128 bits), by the library's MPI_Reduce_local.
 *
 * Rejected: asking MPI_Type_get_envelope and the like what an unlisted type is. It would say of a
 * type that exists, but not which operations the library has on it.
 */
#include "shim/mpi/reduction.h"

#include <stdint.h>
#include <string.h>

#include "shim/mpi/calls.h"

enum kind {
    INTEGER = 1,
    COUNTING = 2, /* integers that logical operations are not for: Fortran's, addresses, offsets */
    REAL = 4,
    COMPLEX = 8,
    LOGICAL = 16,
    BYTES = 32,
    PAIR = 64,
    BRAIN = 128 /* a REAL of 16 bits with the exponent of 32 */
};

/*
 * What the mpi.h of the build does not name, though a later library has it. MPICH's handles are
 * numbers that its ABI fixes. Open MPI's are addresses: weak, since not every version has them all.
 */
#if defined(OMPI_MAJOR_VERSION)
#define OPTIONAL_TYPE(symbol) extern struct ompi_predefined_datatype_t symbol __attribute__((weak));
OPTIONAL_TYPE(ompi_mpi_logical1)
OPTIONAL_TYPE(ompi_mpi_logical2)
OPTIONAL_TYPE(ompi_mpi_logical4)
OPTIONAL_TYPE(ompi_mpi_logical8)
OPTIONAL_TYPE(ompi_mpi_integer1)
OPTIONAL_TYPE(ompi_mpi_integer2)
OPTIONAL_TYPE(ompi_mpi_integer4)
OPTIONAL_TYPE(ompi_mpi_integer8)
OPTIONAL_TYPE(ompi_mpi_integer16)
OPTIONAL_TYPE(ompi_mpi_real2)
OPTIONAL_TYPE(ompi_mpi_real4)
OPTIONAL_TYPE(ompi_mpi_real8)
OPTIONAL_TYPE(ompi_mpi_real16)
OPTIONAL_TYPE(ompi_mpi_complex4)
OPTIONAL_TYPE(ompi_mpi_complex8)
OPTIONAL_TYPE(ompi_mpi_complex16)
OPTIONAL_TYPE(ompi_mpi_complex32)
OPTIONAL_TYPE(ompi_mpi_cxx_bool)
OPTIONAL_TYPE(ompi_mpi_cxx_cplex)
OPTIONAL_TYPE(ompi_mpi_cxx_dblcplex)
OPTIONAL_TYPE(ompi_mpi_cxx_ldblcplex)
OPTIONAL_TYPE(ompi_mpi_short_float)
OPTIONAL_TYPE(ompi_mpi_c_short_float_complex)
OPTIONAL_TYPE(ompi_mpi_cxx_sfltcplex)
#define SIZED(name, symbol, number) ((MPI_Datatype)(void *)&(symbol))
#elif defined(MPICH_VERSION)
#define SIZED(name, symbol, number) ((MPI_Datatype)(number))
#elif defined(MPI_ABI_VERSION)
#define SIZED(name, symbol, number) (name)
#endif

/* Kinds, and kernels from the narrowest to the widest. Fortran's widest reals are no long double.
 */
#define SIGNED INTEGER, KERNEL_I8, KERNEL_I64
#define UNSIGNED INTEGER, KERNEL_U8, KERNEL_U64
#define COUNTED COUNTING, KERNEL_I8, KERNEL_I64
#define C_REAL REAL, KERNEL_F32, KERNEL_LONG_DOUBLE
#define C_COMPLEX COMPLEX, KERNEL_C32, KERNEL_COMPLEX_LONG_DOUBLE
#define F_REAL REAL, KERNEL_F32, KERNEL_F64
#define F_COMPLEX COMPLEX, KERNEL_C32, KERNEL_C64
#define F_REALS PAIR, KERNEL_F32_F32, KERNEL_F64_F64
#define F_INTEGERS PAIR, KERNEL_I32_I32, KERNEL_I64_I64
#define ONE(kind, kernel) kind, kernel, kernel

/* A kernel is one of first .. last, by the extent of an element; none: the library combines. */
static const struct type_row {
    MPI_Datatype type;
    int kind;
    enum kernel_type first, last;
} types[] = {
    {MPI_INT, SIGNED},
    {MPI_LONG, SIGNED},
    {MPI_SHORT, SIGNED},
    {MPI_UNSIGNED, UNSIGNED},
    {MPI_UNSIGNED_LONG, UNSIGNED},
    {MPI_UNSIGNED_SHORT, UNSIGNED},
    {MPI_LONG_LONG, SIGNED},
    {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
    {MPI_SIGNED_CHAR, SIGNED},
    {MPI_UNSIGNED_CHAR, UNSIGNED},
    {MPI_INT8_T, SIGNED},
    {MPI_INT16_T, SIGNED},
    {MPI_INT32_T, SIGNED},
    {MPI_INT64_T, SIGNED},
    {MPI_UINT8_T, UNSIGNED},
    {MPI_UINT16_T, UNSIGNED},
    {MPI_UINT32_T, UNSIGNED},
    {MPI_UINT64_T, UNSIGNED},
    {MPI_AINT, COUNTED},
    {MPI_OFFSET, COUNTED},
    {MPI_COUNT, COUNTED},
    {MPI_FLOAT, C_REAL},
    {MPI_DOUBLE, C_REAL},
    {MPI_LONG_DOUBLE, C_REAL},
    {MPI_C_FLOAT_COMPLEX, C_COMPLEX},
    {MPI_C_DOUBLE_COMPLEX, C_COMPLEX},
    {MPI_C_LONG_DOUBLE_COMPLEX, C_COMPLEX},
    {MPI_C_BOOL, ONE(LOGICAL, KERNEL_BOOL)},
    {MPI_BYTE, ONE(BYTES, KERNEL_U8)},
    {MPI_FLOAT_INT, ONE(PAIR, KERNEL_FLOAT_INT)},
    {MPI_DOUBLE_INT, ONE(PAIR, KERNEL_DOUBLE_INT)},
    {MPI_LONG_INT, ONE(PAIR, KERNEL_LONG_INT)},
    {MPI_SHORT_INT, ONE(PAIR, KERNEL_SHORT_INT)},
    {MPI_2INT, ONE(PAIR, KERNEL_INT_INT)},
    {MPI_LONG_DOUBLE_INT, ONE(PAIR, KERNEL_LONG_DOUBLE_INT)},
    {MPI_INTEGER, COUNTED},
    {MPI_REAL, F_REAL},
    {MPI_DOUBLE_PRECISION, F_REAL},
    {MPI_COMPLEX, F_COMPLEX},
    {MPI_DOUBLE_COMPLEX, F_COMPLEX},
    {MPI_LOGICAL, ONE(LOGICAL, KERNEL_NONE)},
    {MPI_2INTEGER, F_INTEGERS},
    {MPI_2REAL, F_REALS},
    {MPI_2DOUBLE_PRECISION, F_REALS},
#ifdef SIZED
    {SIZED(MPI_INTEGER1, ompi_mpi_integer1, 0x4c00012d), COUNTED},
    {SIZED(MPI_INTEGER2, ompi_mpi_integer2, 0x4c00022f), COUNTED},
    {SIZED(MPI_INTEGER4, ompi_mpi_integer4, 0x4c000430), COUNTED},
    {SIZED(MPI_INTEGER8, ompi_mpi_integer8, 0x4c000831), COUNTED},
    {SIZED(MPI_INTEGER16, ompi_mpi_integer16, 0x4c001032), COUNTED},
    {SIZED(MPI_REAL2, ompi_mpi_real2, 0x4c000226), F_REAL},
    {SIZED(MPI_REAL4, ompi_mpi_real4, 0x4c000427), F_REAL},
    {SIZED(MPI_REAL8, ompi_mpi_real8, 0x4c000829), F_REAL},
    {SIZED(MPI_REAL16, ompi_mpi_real16, 0x4c00102b), F_REAL},
    {SIZED(MPI_COMPLEX4, ompi_mpi_complex4, 0x4c00042e), ONE(COMPLEX, KERNEL_NONE)},
    {SIZED(MPI_COMPLEX8, ompi_mpi_complex8, 0x4c000828), F_COMPLEX},
    {SIZED(MPI_COMPLEX16, ompi_mpi_complex16, 0x4c00102a), F_COMPLEX},
    {SIZED(MPI_COMPLEX32, ompi_mpi_complex32, 0x4c00202c), F_COMPLEX},
    {SIZED(MPI_LOGICAL1, ompi_mpi_logical1, 0x4c000147), ONE(LOGICAL, KERNEL_NONE)},
    {SIZED(MPI_LOGICAL2, ompi_mpi_logical2, 0x4c000248), ONE(LOGICAL, KERNEL_NONE)},
    {SIZED(MPI_LOGICAL4, ompi_mpi_logical4, 0x4c000449), ONE(LOGICAL, KERNEL_NONE)},
    {SIZED(MPI_LOGICAL8, ompi_mpi_logical8, 0x4c00084a), ONE(LOGICAL, KERNEL_NONE)},
    {SIZED(MPI_CXX_BOOL, ompi_mpi_cxx_bool, 0x4c000133), ONE(LOGICAL, KERNEL_BOOL)},
    {SIZED(MPI_CXX_FLOAT_COMPLEX, ompi_mpi_cxx_cplex, 0x4c000834), C_COMPLEX},
    {SIZED(MPI_CXX_DOUBLE_COMPLEX, ompi_mpi_cxx_dblcplex, 0x4c001035), C_COMPLEX},
    {SIZED(MPI_CXX_LONG_DOUBLE_COMPLEX, ompi_mpi_cxx_ldblcplex, 0x4c002036), C_COMPLEX},
#endif
#if defined(OMPI_MAJOR_VERSION)
    {SIZED(, ompi_mpi_short_float, ), ONE(REAL, KERNEL_NONE)},
    {SIZED(, ompi_mpi_c_short_float_complex, ), ONE(COMPLEX, KERNEL_NONE)},
    {SIZED(, ompi_mpi_cxx_sfltcplex, ), ONE(COMPLEX, KERNEL_NONE)},
#elif defined(MPICH_VERSION)
    {SIZED(MPIX_C_FLOAT16, , 0x4c000246), ONE(REAL, KERNEL_NONE)},
    {SIZED(MPI_LOGICAL16, , 0x4c00104b), ONE(LOGICAL, KERNEL_NONE)},
    {SIZED(MPIX_BFLOAT16, , 0x4c00024c), ONE(REAL | BRAIN, KERNEL_NONE)},
#elif defined(MPI_ABI_VERSION)
    {MPI_LOGICAL16, ONE(LOGICAL, KERNEL_NONE)},
#endif
};
enum { TYPES = sizeof types / sizeof *types };

static const struct {
    MPI_Op op;
    int kinds;
    int rounds; /* on REAL and COMPLEX */
    enum kernel_op kernel;
} operations[] = {
    {MPI_SUM, INTEGER | COUNTING | REAL | COMPLEX, 1, KERNEL_SUM},
    {MPI_PROD, INTEGER | COUNTING | REAL | COMPLEX, 1, KERNEL_PROD},
    {MPI_MAX, INTEGER | COUNTING | REAL, 0, KERNEL_MAX},
    {MPI_MIN, INTEGER | COUNTING | REAL, 0, KERNEL_MIN},
    {MPI_LAND, INTEGER | LOGICAL, 0, KERNEL_LAND},
    {MPI_LOR, INTEGER | LOGICAL, 0, KERNEL_LOR},
    {MPI_LXOR, INTEGER | LOGICAL, 0, KERNEL_LXOR},
    {MPI_BAND, INTEGER | COUNTING | BYTES, 0, KERNEL_BAND},
    {MPI_BOR, INTEGER | COUNTING | BYTES, 0, KERNEL_BOR},
    {MPI_BXOR, INTEGER | COUNTING | BYTES, 0, KERNEL_BXOR},
    {MPI_MAXLOC, PAIR, 0, KERNEL_MAXLOC},
    {MPI_MINLOC, PAIR, 0, KERNEL_MINLOC},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };
_Static_assert(TYPES *OPERATIONS <= REDUCTION_PAIRS, "reduction.h counts too few pairs");

/* A library that lacks a type may have NULL or MPI_DATATYPE_NULL in its place. */
static const struct type_row *row_of(MPI_Datatype type)
{
    for (int i = 0; i < TYPES && type && type != MPI_DATATYPE_NULL; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

/* The kernel type of a row for elements of that extent, which for Fortran's types and C's long is
   known at run time only. */
static enum kernel_type kernel_type_of(const struct type_row *row, size_t extent)
{
    for (int k = row->first; k <= (int)row->last; k++)
        if (kernel_extent((enum kernel_type)k) == extent)
            return (enum kernel_type)k;
    return KERNEL_NONE;
}

/* How the values of a row's elements are written, if they are real. */
static enum reduction_real real_of(const struct type_row *row, enum kernel_type kernel,
                                   size_t extent)
{
    static const enum reduction_real of_pairs[KERNEL_TYPES] = {
        [KERNEL_FLOAT_INT] = REAL_32,
        [KERNEL_F32_F32] = REAL_32,
        [KERNEL_DOUBLE_INT] = REAL_64,
        [KERNEL_F64_F64] = REAL_64,
        [KERNEL_LONG_DOUBLE_INT] = REAL_LONG_DOUBLE,
    };

    if (row->kind & PAIR)
        return of_pairs[kernel];
    if (!(row->kind & (REAL | COMPLEX)))
        return REAL_NOT;
    switch (row->kind & COMPLEX ? extent / 2 : extent) {
    case 2:
        return row->kind & BRAIN ? REAL_16_BRAIN : REAL_16;
    case 4:
        return REAL_32;
    case 8:
        return REAL_64;
    default:
        return kernel ? REAL_LONG_DOUBLE : REAL_128;
    }
}

static size_t index_bytes(enum kernel_type kernel)
{
    return kernel == KERNEL_I64_I64 || kernel == KERNEL_F64_F64 ? 8 : sizeof(int);
}

static int look_up(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    const struct type_row *row = row_of(type);
    MPI_Count lower, extent;

    for (int i = 0; row && i < OPERATIONS; i++) {
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
                                .pair = (int)(row - types) * OPERATIONS + i,
                                .real = real_of(row, kernel_type, (size_t)extent),
                                .index_bytes = kind & PAIR ? index_bytes(kernel_type) : 0,
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

static int is_aligned(const struct reduction *r, const void *p)
{
    size_t lowest = r->extent & (~r->extent + 1), alignment = lowest < 16 ? lowest : 16;

    return (uintptr_t)p % alignment == 0;
}

/* dst = a op b by the library, whose loops want the type's own alignment: what lies elsewhere,
   packed say, goes through a buffer. */
static void combine_by_library(const struct reduction *r, const char *a, const char *b, char *dst,
                               size_t bytes)
{
    _Alignas(16) char mine[2048], other[2048];
    size_t most = sizeof mine / r->extent * r->extent;

    if (is_aligned(r, b) && is_aligned(r, dst)) {
        if (dst != a)
            memcpy(dst, a, bytes);
        mpi.Reduce_local(b, dst, (int)(bytes / r->extent), r->type, r->op);
        return;
    }
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;

        memcpy(mine, a + at, piece);
        memcpy(other, b + at, piece);
        mpi.Reduce_local(other, mine, (int)(piece / r->extent), r->type, r->op);
        memcpy(dst + at, mine, piece);
    }
}

void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const struct reduction *r = context;

    if (r->kernel)
        r->kernel(a, b, dst, bytes / r->extent);
    else
        combine_by_library(r, a, b, dst, bytes);
}

int reduction_by_library(void *context, const void *in, void *inout, int n)
{
    const struct reduction *r = context;

    return mpi.Reduce_local(in, inout, n, r->type, r->op) == MPI_SUCCESS ? 0 : -1;
}
