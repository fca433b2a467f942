/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kernel against one element at a time, computed in the widest type there is and brought back
 * by the rule of the operation; with lengths around what a vector holds, any alignment, in place
 * and not.
 */
#include <check.h>
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/base/kernels.h"

enum { MOST = 133 };
enum form { NONE, SIGNED, UNSIGNED, REAL, COMPLEX, TRUTH, SIGNED_PAIR, REAL_PAIR };

/* size: of the number or of each half; index_at: of a pair */
static const struct {
    enum form form;
    size_t size, extent, index_at;
    int index_is_value; /* the index has the value's type */
} types[KERNEL_TYPES] = {
#define PAIR_OF(form, T)                                                                           \
    {                                                                                              \
        form, sizeof(T), sizeof(struct {                                                           \
            T v;                                                                                   \
            int i;                                                                                 \
        }),                                                                                        \
            sizeof(T) < 4 ? 4 : sizeof(T)                                                          \
    }
    [KERNEL_I8] = {SIGNED, 1, 1, 0},
    [KERNEL_I16] = {SIGNED, 2, 2, 0},
    [KERNEL_I32] = {SIGNED, 4, 4, 0},
    [KERNEL_I64] = {SIGNED, 8, 8, 0},
    [KERNEL_U8] = {UNSIGNED, 1, 1, 0},
    [KERNEL_U16] = {UNSIGNED, 2, 2, 0},
    [KERNEL_U32] = {UNSIGNED, 4, 4, 0},
    [KERNEL_U64] = {UNSIGNED, 8, 8, 0},
    [KERNEL_F32] = {REAL, 4, 4, 0},
    [KERNEL_F64] = {REAL, 8, 8, 0},
    [KERNEL_LONG_DOUBLE] = {REAL, sizeof(long double), sizeof(long double), 0},
    [KERNEL_C32] = {COMPLEX, 4, 8, 0},
    [KERNEL_C64] = {COMPLEX, 8, 16, 0},
    [KERNEL_COMPLEX_LONG_DOUBLE] = {COMPLEX, sizeof(long double), 2 * sizeof(long double), 0},
    [KERNEL_BOOL] = {TRUTH, 1, 1, 0},
    [KERNEL_SHORT_INT] = PAIR_OF(SIGNED_PAIR, short),
    [KERNEL_INT_INT] = PAIR_OF(SIGNED_PAIR, int),
    [KERNEL_LONG_INT] = PAIR_OF(SIGNED_PAIR, long),
    [KERNEL_FLOAT_INT] = PAIR_OF(REAL_PAIR, float),
    [KERNEL_DOUBLE_INT] = PAIR_OF(REAL_PAIR, double),
    [KERNEL_LONG_DOUBLE_INT] = PAIR_OF(REAL_PAIR, long double),
    [KERNEL_I32_I32] = {SIGNED_PAIR, 4, 8, 4, 1},
    [KERNEL_I64_I64] = {SIGNED_PAIR, 8, 16, 8, 1},
    [KERNEL_F32_F32] = {REAL_PAIR, 4, 8, 4, 1},
    [KERNEL_F64_F64] = {REAL_PAIR, 8, 16, 8, 1},
};

/* Which forms an operation is for. */
static const unsigned forms[KERNEL_OPS] = {
    [KERNEL_SUM] = 1u << SIGNED | 1u << UNSIGNED | 1u << REAL | 1u << COMPLEX,
    [KERNEL_PROD] = 1u << SIGNED | 1u << UNSIGNED | 1u << REAL | 1u << COMPLEX,
    [KERNEL_MAX] = 1u << SIGNED | 1u << UNSIGNED | 1u << REAL,
    [KERNEL_MIN] = 1u << SIGNED | 1u << UNSIGNED | 1u << REAL,
    [KERNEL_LAND] = 1u << SIGNED | 1u << UNSIGNED | 1u << TRUTH,
    [KERNEL_LOR] = 1u << SIGNED | 1u << UNSIGNED | 1u << TRUTH,
    [KERNEL_LXOR] = 1u << SIGNED | 1u << UNSIGNED | 1u << TRUTH,
    [KERNEL_BAND] = 1u << SIGNED | 1u << UNSIGNED,
    [KERNEL_BOR] = 1u << SIGNED | 1u << UNSIGNED,
    [KERNEL_BXOR] = 1u << SIGNED | 1u << UNSIGNED,
    [KERNEL_MAXLOC] = 1u << SIGNED_PAIR | 1u << REAL_PAIR,
    [KERNEL_MINLOC] = 1u << SIGNED_PAIR | 1u << REAL_PAIR,
};

/* An element: integers extended to 64 bits, reals in re. */
struct wide {
    int64_t bits;
    long double re, im;
    int index;
};

static long double load_real(const unsigned char *at, size_t size)
{
    float f;
    double d;
    long double l;

    memcpy(size == 4 ? (void *)&f : size == 8 ? (void *)&d : (void *)&l, at, size);
    return size == 4 ? f : size == 8 ? (long double)d : l;
}

static void store_real(unsigned char *at, size_t size, long double value)
{
    float f = (float)value;
    double d = (double)value;

    memcpy(at, size == 4 ? (void *)&f : size == 8 ? (void *)&d : (void *)&value, size);
}

static int load_index(int t, const unsigned char *at)
{
    int64_t wide = 0;

    if (types[t].form == REAL_PAIR)
        return (int)load_real(at, types[t].size);
    memcpy(&wide, at, types[t].size);
    return (int)wide;
}

static void store_index(int t, unsigned char *at, int index)
{
    int64_t wide = index;

    if (types[t].form == REAL_PAIR)
        store_real(at, types[t].size, index);
    else
        memcpy(at, &wide, types[t].size);
}

static struct wide load(int t, const unsigned char *at)
{
    enum form form = types[t].form;
    size_t size = types[t].size;
    struct wide w = {0};

    if (form == REAL || form == COMPLEX || form == REAL_PAIR) {
        w.re = load_real(at, size);
        if (form == COMPLEX)
            w.im = load_real(at + size, size);
    } else {
        memcpy(&w.bits, at, size);
        if (form == SIGNED || form == SIGNED_PAIR)
            w.bits = (int64_t)((uint64_t)w.bits << (64 - 8 * size)) >> (64 - 8 * size);
    }
    if (types[t].index_is_value)
        w.index = load_index(t, at + types[t].index_at);
    else if (types[t].index_at)
        memcpy(&w.index, at + types[t].index_at, sizeof w.index);
    return w;
}

/* Does x come before y? */
static int less(int t, const struct wide *x, const struct wide *y)
{
    enum form form = types[t].form;

    return form == REAL || form == REAL_PAIR ? x->re < y->re
           : form == UNSIGNED                ? (uint64_t)x->bits < (uint64_t)y->bits
                                             : x->bits < y->bits;
}

static struct wide combine(int t, int op, struct wide x, struct wide y)
{
    int integer = types[t].form == SIGNED || types[t].form == UNSIGNED;
    uint64_t a = (uint64_t)x.bits, b = (uint64_t)y.bits;
    struct wide r = x;

    switch (op) {
    case KERNEL_SUM:
        r.bits = (int64_t)(a + b);
        r.re = x.re + y.re;
        r.im = x.im + y.im;
        break;
    case KERNEL_PROD:
        r.bits = (int64_t)(a * b);
        r.re = x.re * y.re - x.im * y.im;
        r.im = x.re * y.im + x.im * y.re;
        break;
    case KERNEL_MAX:
    case KERNEL_MAXLOC:
        r = less(t, &x, &y) ? y : x;
        if (!integer && !less(t, &x, &y) && !less(t, &y, &x) && y.index < x.index)
            r.index = y.index;
        break;
    case KERNEL_MIN:
    case KERNEL_MINLOC:
        r = less(t, &y, &x) ? y : x;
        if (!integer && !less(t, &x, &y) && !less(t, &y, &x) && y.index < x.index)
            r.index = y.index;
        break;
    case KERNEL_LAND:
        r.bits = a && b;
        break;
    case KERNEL_LOR:
        r.bits = a || b;
        break;
    case KERNEL_LXOR:
        r.bits = !a != !b;
        break;
    case KERNEL_BAND:
        r.bits = (int64_t)(a & b);
        break;
    case KERNEL_BOR:
        r.bits = (int64_t)(a | b);
        break;
    case KERNEL_BXOR:
        r.bits = (int64_t)(a ^ b);
        break;
    }
    return r;
}

/* Small whole numbers are exact in every real type; integers use all their bits, so that they wrap.
 */
static void draw(struct rng *r, int t, unsigned char *at)
{
    enum form form = types[t].form;
    size_t size = types[t].size;
    uint64_t bits = (uint64_t)rng_below(r, UINT32_MAX) << 32 ^ rng_below(r, UINT32_MAX);
    int index = (int)rng_below(r, 50);

    if (form == TRUTH)
        bits &= 1;
    if (rng_below(r, 4) == 0 || form == SIGNED_PAIR) /* zeros and ties */
        bits &= 3;
    if (form == REAL || form == COMPLEX || form == REAL_PAIR) {
        store_real(at, size, (long double)rng_below(r, 200) - 100);
        if (form == COMPLEX)
            store_real(at + size, size, (long double)rng_below(r, 200) - 100);
    } else {
        memcpy(at, &bits, size);
    }
    if (types[t].index_is_value)
        store_index(t, at + types[t].index_at, index);
    else if (types[t].index_at)
        memcpy(at + types[t].index_at, &index, sizeof index);
}

static void check_kernel(int t, int op, size_t n, size_t shift, int in_place, uint64_t seed)
{
    size_t extent = types[t].extent, bytes = n * extent;
    size_t off = types[t].index_at ? 0 : shift; /* pairs keep the alignment of their struct */
    _Alignas(32) unsigned char a[MOST * 32 + 64], b[MOST * 32 + 64], own[MOST * 32 + 64],
        before[MOST * 32 + 64];
    unsigned char *to = in_place ? a + off : own + off;
    struct rng r = {seed};

    memset(a, 0xaa, sizeof a);
    memset(own, 0xbb, sizeof own);
    for (size_t i = 0; i < n; i++) {
        draw(&r, t, a + off + i * extent);
        draw(&r, t, b + off + i * extent);
    }
    memcpy(before, a, sizeof a);
    kernel_find((enum kernel_type)t, (enum kernel_op)op)(a + off, b + off, to, n);
    for (size_t i = 0; i < n; i++) {
        struct wide want =
            combine(t, op, load(t, before + off + i * extent), load(t, b + off + i * extent));
        struct wide got = load(t, to + i * extent);
        size_t shift_out = 64 - 8 * (types[t].size < 8 ? types[t].size : 8);
        ck_assert_msg((uint64_t)want.bits << shift_out == (uint64_t)got.bits << shift_out &&
                          want.re == got.re && want.im == got.im && want.index == got.index,
                      "type %d, operation %d, element %zu of %zu at +%zu%s", t, op, i, n, off,
                      in_place ? ", in place" : "");
    }
    ck_assert_uint_eq(to[bytes], in_place ? 0xaa : 0xbb); /* nothing past the end */
}

START_TEST(test_kernels__every_operation_on_every_type_is_what_it_is_element_by_element)
{
    int t = _i, kernels = 0;

    ck_assert_uint_eq(kernel_extent((enum kernel_type)t), types[t].extent);
    for (int op = 0; op < KERNEL_OPS; op++) {
        int wanted = types[t].form && forms[op] >> types[t].form & 1;
        ck_assert_int_eq(kernel_find((enum kernel_type)t, (enum kernel_op)op) != NULL, wanted);
        kernels += wanted;
        for (size_t n = 0; wanted && n <= MOST; n += n < 35 ? 1 : 14)
            for (size_t shift = 0; shift < 4; shift++)
                check_kernel(t, op, n, shift, (int)(n + shift) % 2, n * 8 + shift);
    }
    ck_assert_int_eq(kernels > 0, t != KERNEL_NONE);
}
END_TEST

Suite *suite_kernels(void)
{
    Suite *s = suite_create("kernels");
    TCase *t = tcase_create("kernels");

    tcase_add_loop_test(
        t, test_kernels__every_operation_on_every_type_is_what_it_is_element_by_element,
        KERNEL_NONE, KERNEL_TYPES);
    suite_add_tcase(s, t);
    return s;
}
