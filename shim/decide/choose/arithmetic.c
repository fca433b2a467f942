/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VALUES telling elements, each combined with each. The library gets a list of all pairs in pieces
 * of several lengths. So most pairs occur both in a vector and in the remainder behind it, and at
 * many addresses. Elements combined one at a time show the result without vectors. A library may
 * have its own arithmetic, the same for each element. Then any order is right only if its operation
 * is associative and commutative: saturating sums of signed numbers are not.
 */
#include "shim/decide/choose/arithmetic.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 16, PAIRS = VALUES * VALUES };

/* 64-bit values. Narrower types take the lowest bits of the first half, and the highest of the
   rest. So every width has its own limits and sums beyond them. */
static const uint64_t low_values[VALUES / 2] = {0, 1, 2, 3, 10, 100, 200, UINT64_MAX};
static const uint64_t high_values[VALUES / 2] = {
    0x8000000000000000, 0x7fffffffffffffff, 0xc8c8c8c8c8c8c8c8, 0x6464646464646464,
    0x4000000000000000, 0xaaaaaaaaaaaaaaaa, 0x5555555555555555, 0x8000000000000001};

static void integer_at(int v, size_t bytes, unsigned char *at)
{
    uint64_t value =
        v < VALUES / 2 ? low_values[v] : high_values[v - VALUES / 2] >> (64 - 8 * bytes);
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;

    memcpy(at,
           bytes == 1   ? (void *)&u8
           : bytes == 2 ? (void *)&u16
           : bytes == 4 ? (void *)&u32
                        : (void *)&value,
           bytes);
}

/* Four values by four indices: ties of either. */
#define PAIR_AT(T, U, v, at)                                                                       \
    {                                                                                              \
        struct {                                                                                   \
            T value;                                                                               \
            U index;                                                                               \
        } pair;                                                                                    \
        int value = (v) / 4 - 1, index = (v) % 4;                                                  \
        memset(&pair, 0, sizeof pair);                                                             \
        pair.value = (T)value;                                                                     \
        pair.index = (U)index;                                                                     \
        memcpy(at, &pair, sizeof pair);                                                            \
        break;                                                                                     \
    }

static void value_at(enum kernel_type type, int v, unsigned char *at)
{
    switch (type) {
    case KERNEL_BOOL: /* a bool that is neither has no meaning in C */
        *at = v & 1;
        break;
    case KERNEL_SHORT_INT:
        PAIR_AT(short, int, v, at)
    case KERNEL_INT_INT:
        PAIR_AT(int, int, v, at)
    case KERNEL_LONG_INT:
        PAIR_AT(long, int, v, at)
    case KERNEL_FLOAT_INT:
        PAIR_AT(float, int, v, at)
    case KERNEL_DOUBLE_INT:
        PAIR_AT(double, int, v, at)
    case KERNEL_LONG_DOUBLE_INT:
        PAIR_AT(long double, int, v, at)
    case KERNEL_I32_I32:
        PAIR_AT(int32_t, int32_t, v, at)
    case KERNEL_I64_I64:
        PAIR_AT(int64_t, int64_t, v, at)
    case KERNEL_F32_F32:
        PAIR_AT(float, float, v, at)
    case KERNEL_F64_F64:
        PAIR_AT(double, double, v, at)
    default:
        integer_at(v, kernel_extent(type), at);
    }
}

/* Lists of PAIRS elements, in one allocation. */
struct lists {
    unsigned char *a, *b; /* element i: value i / VALUES, and value i % VALUES */
    unsigned char *kernel, *alone, *got, *other;
    size_t extent, bytes;
    arithmetic_fn library;
    void *context;
};

static int lists_open(struct lists *l, enum kernel_type type)
{
    l->extent = kernel_extent(type);
    l->bytes = PAIRS * l->extent;
    l->a = calloc(6, l->bytes);
    if (!l->a)
        return 0;
    l->b = l->a + l->bytes;
    l->kernel = l->b + l->bytes;
    l->alone = l->kernel + l->bytes;
    l->got = l->alone + l->bytes;
    l->other = l->got + l->bytes;
    for (int i = 0; i < PAIRS; i++) {
        value_at(type, i / VALUES, l->a + (size_t)i * l->extent);
        value_at(type, i % VALUES, l->b + (size_t)i * l->extent);
    }
    return 1;
}

/* dst = a op b by the library, so many elements at a time. Returns 0 if it did. */
static int combine(const struct lists *l, const unsigned char *a, const unsigned char *b,
                   unsigned char *dst, int piece)
{
    memcpy(dst, b, l->bytes);
    for (int at = 0; at < PAIRS; at += piece) {
        size_t offset = (size_t)at * l->extent;
        int n = PAIRS - at < piece ? PAIRS - at : piece;

        if (l->library(l->context, a + offset, dst + offset, n))
            return -1;
    }
    return 0;
}

static int same(const struct lists *l, const unsigned char *a, const unsigned char *b)
{
    return !memcmp(a, b, l->bytes);
}

/* The place of value i and value j in a list of all pairs. */
static const unsigned char *result(const struct lists *l, int i, int j)
{
    return l->alone + (size_t)(i * VALUES + j) * l->extent;
}

/* Is what the library does, element by element, the same in any order? */
static int any_order(const struct lists *l)
{
    for (int k = 0; k < VALUES; k++) {
        for (int i = 0; i < PAIRS; i++) { /* (x op y) op value k, and x op (y op value k) */
            size_t at = (size_t)i * l->extent;
            const unsigned char *value = l->b + (size_t)k * l->extent;

            if (memcmp(result(l, i / VALUES, i % VALUES), result(l, i % VALUES, i / VALUES),
                       l->extent) != 0)
                return 0;
            memcpy(l->kernel + at, value, l->extent);
            memcpy(l->got + at, result(l, i % VALUES, k), l->extent);
        }
        if (combine(l, l->alone, l->kernel, l->other, PAIRS))
            return 0;
        memcpy(l->kernel, l->other, l->bytes);
        if (combine(l, l->a, l->got, l->other, PAIRS) || !same(l, l->kernel, l->other))
            return 0;
    }
    return 1;
}

static enum arithmetic compare(const struct lists *l, kernel_fn kernel)
{
    static const int pieces[] = {3, 7, 16, 31, 100, PAIRS - 1, PAIRS};
    int differs;

    memcpy(l->kernel, l->a, l->bytes);
    kernel(l->kernel, l->b, l->kernel, PAIRS);
    if (combine(l, l->a, l->b, l->alone, 1))
        return ARITHMETIC_UNEVEN;
    differs = !same(l, l->alone, l->kernel);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (combine(l, l->a, l->b, l->got, pieces[i]) || !same(l, l->got, l->alone))
            return ARITHMETIC_UNEVEN;
    return !differs ? ARITHMETIC_SAME : any_order(l) ? ARITHMETIC_OTHER : ARITHMETIC_UNEVEN;
}

enum arithmetic arithmetic_probe(enum kernel_type type, enum kernel_op op, arithmetic_fn library,
                                 void *context)
{
    struct lists l = {.library = library, .context = context};
    enum arithmetic verdict = ARITHMETIC_UNEVEN;

    if (lists_open(&l, type))
        verdict = compare(&l, kernel_find(type, op));
    free(l.a);
    return verdict;
}
