/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of types by operations; each entry is a loop that the compiler vectorises. The loops have
 * their own optimisation level, because -O2 vectorises no loop of unknown length. On x86 there are
 * two versions, and the loader takes the one for the processor. ivdep says that a destination which
 * is an operand is exactly that operand; a test at run time would take it for an overlap.
 */
#pragma GCC optimize("O3")
#include "transports/base/kernels.h"

#include <complex.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define VERSIONS /* resolvers run before a sanitizer is ready */
#endif

/* Operands are application memory of any effective type and, packed, of any alignment. */
#define LOOSE __attribute__((may_alias, aligned(1)))

/* Narrow integers multiply as unsigned int: as int, a product may overflow, which C leaves open. */
#define SUM(T, x, y) (T)((x) + (y))
#define PROD(T, x, y) (T)((x) * (y))
#define UPROD(T, x, y) (T)(1u * (x) * (y))
#define MAX(T, x, y) ((x) > (y) ? (x) : (y))
#define MIN(T, x, y) ((x) < (y) ? (x) : (y))
#define LAND(T, x, y) (T)((x) && (y))
#define LOR(T, x, y) (T)((x) || (y))
#define LXOR(T, x, y) (T)(!(x) != !(y))
#define BAND(T, x, y) (T)((x) & (y))
#define BOR(T, x, y) (T)((x) | (y))
#define BXOR(T, x, y) (T)((x) ^ (y))

/* ROW(name of the type, C type) for each set of operations. */
#define SIGNED_ROWS(ROW) ROW(I8, int8_t) ROW(I16, int16_t) ROW(I32, int32_t) ROW(I64, int64_t)
#define UNSIGNED_ROWS(ROW) ROW(U8, uint8_t) ROW(U16, uint16_t) ROW(U32, uint32_t) ROW(U64, uint64_t)
#define REAL_ROWS(ROW) ROW(F32, float) ROW(F64, double) ROW(LONG_DOUBLE, long double)
#define COMPLEX_ROWS(ROW)                                                                          \
    ROW(C32, float complex) ROW(C64, double complex) ROW(COMPLEX_LONG_DOUBLE, long double complex)
#define BOOL_ROWS(ROW) ROW(BOOL, uint8_t)
/* ROW(name of the type, C type of the value, C type of the index) */
#define PAIR_ROWS(ROW)                                                                             \
    ROW(SHORT_INT, short, int)                                                                     \
    ROW(INT_INT, int, int)                                                                         \
    ROW(LONG_INT, long, int)                                                                       \
    ROW(FLOAT_INT, float, int)                                                                     \
    ROW(DOUBLE_INT, double, int)                                                                   \
    ROW(LONG_DOUBLE_INT, long double, int)                                                         \
    ROW(I32_I32, int32_t, int32_t)                                                                 \
    ROW(I64_I64, int64_t, int64_t) ROW(F32_F32, float, float) ROW(F64_F64, double, double)

#define KERNEL(name, T, op, formula)                                                               \
    VERSIONS static void op##_##name(const void *a, const void *b, void *dst, size_t n)            \
    {                                                                                              \
        typedef T LOOSE loose;                                                                     \
        const loose *x = a, *y = b;                                                                \
        loose *to = dst;                                                                           \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) to[i] = formula(T, x[i], y[i]);        \
    }

#define ORDER_KERNELS(name, T) KERNEL(name, T, MAX, MAX) KERNEL(name, T, MIN, MIN)
#define REAL_KERNELS(name, T)                                                                      \
    ORDER_KERNELS(name, T) KERNEL(name, T, SUM, SUM) KERNEL(name, T, PROD, PROD)
#define COMPLEX_KERNELS(name, T) KERNEL(name, T, SUM, SUM) KERNEL(name, T, PROD, PROD)
#define LOGICAL_KERNELS(name, T)                                                                   \
    KERNEL(name, T, LAND, LAND) KERNEL(name, T, LOR, LOR) KERNEL(name, T, LXOR, LXOR)
/* Operations that do not depend on the sign use unsigned numbers and serve both. */
#define UNSIGNED_KERNELS(name, T)                                                                  \
    ORDER_KERNELS(name, T)                                                                         \
    LOGICAL_KERNELS(name, T)                                                                       \
    KERNEL(name, T, SUM, SUM)                                                                      \
    KERNEL(name, T, PROD, UPROD)                                                                   \
    KERNEL(name, T, BAND, BAND) KERNEL(name, T, BOR, BOR) KERNEL(name, T, BXOR, BXOR)

/* The loop decides field by field, so that gaps in the struct are left alone. */
#define PAIR_KERNEL(name, T, U, op, better)                                                        \
    static void op##_##name(const void *a, const void *b, void *dst, size_t n)                     \
    {                                                                                              \
        struct __attribute__((may_alias)) pair {                                                   \
            T value;                                                                               \
            U index;                                                                               \
        };                                                                                         \
        const struct pair *x = a, *y = b;                                                          \
        struct pair *to = dst;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            T xv = x[i].value, yv = y[i].value;                                                    \
            U xi = x[i].index, yi = y[i].index;                                                    \
            int other = yv better xv || (yv == xv && yi < xi);                                     \
            to[i].value = other ? yv : xv;                                                         \
            to[i].index = other ? yi : xi;                                                         \
        }                                                                                          \
    }
#define PAIR_KERNELS(name, T, U)                                                                   \
    PAIR_KERNEL(name, T, U, MAXLOC, >) PAIR_KERNEL(name, T, U, MINLOC, <)

SIGNED_ROWS(ORDER_KERNELS)
UNSIGNED_ROWS(UNSIGNED_KERNELS)
REAL_ROWS(REAL_KERNELS)
COMPLEX_ROWS(COMPLEX_KERNELS)
BOOL_ROWS(LOGICAL_KERNELS)
PAIR_ROWS(PAIR_KERNELS)

#define LOGICAL_ENTRIES(name)                                                                      \
    [KERNEL_LAND] = LAND_##name, [KERNEL_LOR] = LOR_##name, [KERNEL_LXOR] = LXOR_##name
#define INTEGER_ENTRIES(name, unsigned_name)                                                       \
    {                                                                                              \
        LOGICAL_ENTRIES(unsigned_name),                                                            \
            [KERNEL_SUM] = SUM_##unsigned_name, [KERNEL_PROD] = PROD_##unsigned_name,              \
            [KERNEL_MAX] = MAX_##name, [KERNEL_MIN] = MIN_##name,                                  \
            [KERNEL_BAND] = BAND_##unsigned_name, [KERNEL_BOR] = BOR_##unsigned_name,              \
            [KERNEL_BXOR] = BXOR_##unsigned_name                                                   \
    }
#define REAL_ENTRIES(name, T)                                                                      \
    [KERNEL_##name] = {[KERNEL_SUM] = SUM_##name,                                                  \
                       [KERNEL_PROD] = PROD_##name,                                                \
                       [KERNEL_MAX] = MAX_##name,                                                  \
                       [KERNEL_MIN] = MIN_##name},
#define COMPLEX_ENTRIES(name, T)                                                                   \
    [KERNEL_##name] = {[KERNEL_SUM] = SUM_##name, [KERNEL_PROD] = PROD_##name},
#define PAIR_ENTRIES(name, T, U)                                                                   \
    [KERNEL_##name] = {[KERNEL_MAXLOC] = MAXLOC_##name, [KERNEL_MINLOC] = MINLOC_##name},

static const kernel_fn kernels[KERNEL_TYPES][KERNEL_OPS] = {
    [KERNEL_I8] = INTEGER_ENTRIES(I8, U8),
    [KERNEL_I16] = INTEGER_ENTRIES(I16, U16),
    [KERNEL_I32] = INTEGER_ENTRIES(I32, U32),
    [KERNEL_I64] = INTEGER_ENTRIES(I64, U64),
    [KERNEL_U8] = INTEGER_ENTRIES(U8, U8),
    [KERNEL_U16] = INTEGER_ENTRIES(U16, U16),
    [KERNEL_U32] = INTEGER_ENTRIES(U32, U32),
    [KERNEL_U64] = INTEGER_ENTRIES(U64, U64),
    REAL_ROWS(REAL_ENTRIES) COMPLEX_ROWS(COMPLEX_ENTRIES)[KERNEL_BOOL] = {LOGICAL_ENTRIES(BOOL)},
    PAIR_ROWS(PAIR_ENTRIES)};

#define EXTENT(name, T) [KERNEL_##name] = sizeof(T),
#define PAIR_EXTENT(name, T, U)                                                                    \
    [KERNEL_##name] = sizeof(struct {                                                              \
        T value;                                                                                   \
        U index;                                                                                   \
    }),
static const size_t extents[KERNEL_TYPES] = {SIGNED_ROWS(EXTENT) UNSIGNED_ROWS(EXTENT) REAL_ROWS(
    EXTENT) COMPLEX_ROWS(EXTENT) BOOL_ROWS(EXTENT) PAIR_ROWS(PAIR_EXTENT)};

kernel_fn kernel_find(enum kernel_type type, enum kernel_op op)
{
    return kernels[type][op];
}

size_t kernel_extent(enum kernel_type type)
{
    return extents[type];
}
