/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements and operations of reductions, and results that the test folds itself: in a wide form of
 * its own and not in the element's C type, because a comparison with the library would inherit its
 * bugs. Values are such that a result is exact with any association.
 */
#ifndef COLLSHIM_TEST_MPI_NUMBERS_H
#define COLLSHIM_TEST_MPI_NUMBERS_H

#include <complex.h>
#include <stdbool.h>

#include "test/mpi/typemap.h"
#include "test/mpi/uneven.h"

enum form {
    SIGNED = 1,
    UNSIGNED = 2,
    REAL = 4,
    COMPLEX = 8,
    TRUTH = 16,
    BYTES = 32,
    PAIR = 64,
    USER = 128,
    COUNTING = 256, /* SIGNED, but logical operations are not for it */
    ALIKE = 512     /* PAIR, of which the index has the value's type */
};

/* forms: what it is to MPI (PAIR too) and how its value is stored. */
struct element {
    MPI_Datatype type;
    int forms, size, index_at, extent;
};

#define PLAIN(mpi, forms, c_type)                                                                  \
    {                                                                                              \
        mpi, forms, sizeof(c_type), 0, sizeof(c_type)                                              \
    }
#define PAIRED(mpi, form, c_type)                                                                  \
    {                                                                                              \
        mpi, PAIR | (form), sizeof(c_type), PAIR_AT(c_type), PAIR_SIZE(c_type)                     \
    }
#define TWO(mpi, form, c_type)                                                                     \
    {                                                                                              \
        mpi, PAIR | ALIKE | (form), sizeof(c_type), sizeof(c_type), 2 * sizeof(c_type)             \
    }
static struct element elements[] = {
    PLAIN(MPI_DATATYPE_NULL, USER | UNSIGNED, uint64_t), /* two MPI_UINT32_T, made at the start */
    PLAIN(MPI_UINT64_T, USER | UNSIGNED, uint64_t),
    PLAIN(MPI_SIGNED_CHAR, SIGNED, signed char),
    PLAIN(MPI_SHORT, SIGNED, short),
    PLAIN(MPI_INT, SIGNED, int),
    PLAIN(MPI_LONG, SIGNED, long),
    PLAIN(MPI_LONG_LONG, SIGNED, long long),
    PLAIN(MPI_INT8_T, SIGNED, int8_t),
    PLAIN(MPI_INT16_T, SIGNED, int16_t),
    PLAIN(MPI_INT32_T, SIGNED, int32_t),
    PLAIN(MPI_INT64_T, SIGNED, int64_t),
    PLAIN(MPI_UNSIGNED_CHAR, UNSIGNED, unsigned char),
    PLAIN(MPI_UNSIGNED_SHORT, UNSIGNED, unsigned short),
    PLAIN(MPI_UNSIGNED, UNSIGNED, unsigned),
    PLAIN(MPI_UNSIGNED_LONG, UNSIGNED, unsigned long),
    PLAIN(MPI_UNSIGNED_LONG_LONG, UNSIGNED, unsigned long long),
    PLAIN(MPI_UINT8_T, UNSIGNED, uint8_t),
    PLAIN(MPI_UINT16_T, UNSIGNED, uint16_t),
    PLAIN(MPI_UINT32_T, UNSIGNED, uint32_t),
    PLAIN(MPI_UINT64_T, UNSIGNED, uint64_t),
    PLAIN(MPI_FLOAT, REAL, float),
    PLAIN(MPI_DOUBLE, REAL, double),
    PLAIN(MPI_LONG_DOUBLE, REAL, long double),
    PLAIN(MPI_C_FLOAT_COMPLEX, COMPLEX, float complex),
    PLAIN(MPI_C_DOUBLE_COMPLEX, COMPLEX, double complex),
    PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, long double complex),
    PLAIN(MPI_C_BOOL, TRUTH, bool),
    PLAIN(MPI_BYTE, BYTES, unsigned char),
    PAIRED(MPI_FLOAT_INT, REAL, float),
    PAIRED(MPI_DOUBLE_INT, REAL, double),
    PAIRED(MPI_LONG_DOUBLE_INT, REAL, long double),
    PAIRED(MPI_LONG_INT, SIGNED, long),
    PAIRED(MPI_SHORT_INT, SIGNED, short),
    PAIRED(MPI_2INT, SIGNED, int),
    PLAIN(MPI_AINT, COUNTING | SIGNED, MPI_Aint),
    PLAIN(MPI_COUNT, COUNTING | SIGNED, MPI_Count),
    PLAIN(MPI_OFFSET, COUNTING | UNSIGNED, MPI_Offset), /* Open MPI compares it so */
    PLAIN(MPI_CXX_BOOL, TRUTH, bool),
    PLAIN(MPI_CXX_FLOAT_COMPLEX, COMPLEX, float complex),
    PLAIN(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, double complex),
    PLAIN(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, long double complex),
    PLAIN(MPI_INTEGER, COUNTING | SIGNED, int), /* gfortran's */
    PLAIN(MPI_REAL, REAL, float),
    PLAIN(MPI_DOUBLE_PRECISION, REAL, double),
    PLAIN(MPI_COMPLEX, COMPLEX, float complex),
    PLAIN(MPI_DOUBLE_COMPLEX, COMPLEX, double complex),
    PLAIN(MPI_INTEGER1, COUNTING | SIGNED, int8_t),
    PLAIN(MPI_INTEGER2, COUNTING | SIGNED, int16_t),
    PLAIN(MPI_INTEGER4, COUNTING | SIGNED, int32_t),
    PLAIN(MPI_INTEGER8, COUNTING | SIGNED, int64_t),
    PLAIN(MPI_REAL4, REAL, float),
    PLAIN(MPI_REAL8, REAL, double),
    PLAIN(MPI_COMPLEX8, COMPLEX, float complex),
    PLAIN(MPI_COMPLEX16, COMPLEX, double complex),
    TWO(MPI_2INTEGER, SIGNED, int),
    TWO(MPI_2REAL, REAL, float),
    TWO(MPI_2DOUBLE_PRECISION, REAL, double),
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* A value of any element type. bits: of integers, extended to 64 bits by their own sign. */
struct number {
    uint64_t bits;
    long double re, im;
    int index;
};

static long double real_load(const unsigned char *at, int size)
{
    float f;
    double d;
    long double ld;

    if (size == sizeof f)
        return memcpy(&f, at, sizeof f), f;
    if (size == sizeof d)
        return memcpy(&d, at, sizeof d), d;
    return memcpy(&ld, at, sizeof ld), ld;
}

static void real_store(long double value, unsigned char *at, int size)
{
    float f = (float)value;
    double d = (double)value;

    memcpy(at,
           size == sizeof f   ? (void *)&f
           : size == sizeof d ? (void *)&d
                              : (void *)&value,
           (size_t)size);
}

static struct number load(const struct element *e, const unsigned char *at)
{
    struct number n = {0};

    if (e->forms & COMPLEX) {
        n.re = real_load(at, e->size / 2);
        n.im = real_load(at + e->size / 2, e->size / 2);
    } else if (e->forms & REAL) {
        n.re = real_load(at, e->size);
    } else {
        memcpy(&n.bits, at, (size_t)e->size);
        int unused = 64 - 8 * e->size;
        if (e->forms & SIGNED)
            n.bits = (uint64_t)((int64_t)(n.bits << unused) >> unused);
    }
    if (e->forms & PAIR && (e->forms & (ALIKE | REAL)) == (ALIKE | REAL))
        n.index = (int)real_load(at + e->index_at, e->size);
    else if (e->forms & PAIR)
        memcpy(&n.index, at + e->index_at, sizeof n.index);
    return n;
}

static void store(const struct element *e, struct number n, unsigned char *at)
{
    if (e->forms & COMPLEX) {
        real_store(n.re, at, e->size / 2);
        real_store(n.im, at + e->size / 2, e->size / 2);
    } else if (e->forms & REAL) {
        real_store(n.re, at, e->size);
    } else {
        memcpy(at, &n.bits, (size_t)e->size);
    }
    if (e->forms & PAIR && (e->forms & (ALIKE | REAL)) == (ALIKE | REAL))
        real_store(n.index, at + e->index_at, e->size);
    else if (e->forms & PAIR)
        memcpy(at + e->index_at, &n.index, sizeof n.index);
}

static int same(struct number a, struct number b)
{
    return a.bits == b.bits && a.re == b.re && a.im == b.im && a.index == b.index;
}

enum operation {
    SUM,
    PROD,
    MAX,
    MIN,
    LAND,
    LOR,
    LXOR,
    BAND,
    BOR,
    BXOR,
    MAXLOC,
    MINLOC,
    MODULAR,
    COMPOSE,
    OPS
};
enum { MODULUS = 1000003 };

static struct {
    MPI_Op op;
    const char *name;
    int forms;
} ops[OPS] = {
    [SUM] = {MPI_SUM, "SUM", COUNTING | SIGNED | UNSIGNED | REAL | COMPLEX},
    [PROD] = {MPI_PROD, "PROD", COUNTING | SIGNED | UNSIGNED | REAL | COMPLEX},
    [MAX] = {MPI_MAX, "MAX", COUNTING | SIGNED | UNSIGNED | REAL},
    [MIN] = {MPI_MIN, "MIN", COUNTING | SIGNED | UNSIGNED | REAL},
    [LAND] = {MPI_LAND, "LAND", SIGNED | UNSIGNED | TRUTH},
    [LOR] = {MPI_LOR, "LOR", SIGNED | UNSIGNED | TRUTH},
    [LXOR] = {MPI_LXOR, "LXOR", SIGNED | UNSIGNED | TRUTH},
    [BAND] = {MPI_BAND, "BAND", COUNTING | SIGNED | UNSIGNED | BYTES},
    [BOR] = {MPI_BOR, "BOR", COUNTING | SIGNED | UNSIGNED | BYTES},
    [BXOR] = {MPI_BXOR, "BXOR", COUNTING | SIGNED | UNSIGNED | BYTES},
    [MAXLOC] = {MPI_MAXLOC, "MAXLOC", PAIR},
    [MINLOC] = {MPI_MINLOC, "MINLOC", PAIR},
    [MODULAR] = {MPI_OP_NULL, "a user's commutative operation", USER},
    [COMPOSE] = {MPI_OP_NULL, "a user's non-commutative operation", USER},
};

static int applies(enum operation op, const struct element *e)
{
    int to = e->forms & (PAIR | USER | COUNTING);

    return ops[op].forms & (to ? to : e->forms);
}

/* a after b, of the functions a * x + b with both in one word. */
static uint64_t compose(uint64_t a, uint64_t b)
{
    uint32_t a0 = (uint32_t)a, a1 = (uint32_t)(a >> 32), b0 = (uint32_t)b, b1 = (uint32_t)(b >> 32);

    return (uint32_t)(a0 * b0) | (uint64_t)(uint32_t)(a0 * b1 + a1) << 32;
}

static UNUSED void user_modular(void *in, void *inout, int *n, MPI_Datatype *type)
{
    uint64_t *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] = (a[i] + b[i]) % MODULUS;
}

static UNUSED void user_compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    uint64_t *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] = compose(a[i], b[i]);
}

static int before(const struct element *e, struct number a, struct number b)
{
    return e->forms & REAL     ? a.re < b.re
           : e->forms & SIGNED ? (int64_t)a.bits < (int64_t)b.bits
                               : a.bits < b.bits;
}

static struct number combine(enum operation op, const struct element *e, struct number a,
                             struct number b)
{
    struct number r = {0};

    switch (op) {
    case SUM:
        return (struct number){a.bits + b.bits, a.re + b.re, a.im + b.im, 0};
    case PROD:
        return (struct number){a.bits * b.bits, a.re * b.re - a.im * b.im,
                               a.re * b.im + a.im * b.re, 0};
    case MAX:
        return before(e, a, b) ? b : a;
    case MIN:
        return before(e, b, a) ? b : a;
    case MAXLOC:
    case MINLOC:
        if (before(e, a, b) || before(e, b, a))
            return before(e, a, b) == (op == MAXLOC) ? b : a;
        return a.index < b.index ? a : b;
    case LAND:
        r.bits = a.bits && b.bits;
        return r;
    case LOR:
        r.bits = a.bits || b.bits;
        return r;
    case LXOR:
        r.bits = !a.bits != !b.bits;
        return r;
    case BAND:
        r.bits = a.bits & b.bits;
        return r;
    case BOR:
        r.bits = a.bits | b.bits;
        return r;
    case BXOR:
        r.bits = a.bits ^ b.bits;
        return r;
    case MODULAR:
        r.bits = (a.bits + b.bits) % MODULUS;
        return r;
    default:
        r.bits = compose(a.bits, b.bits);
        return r;
    }
}

/*
 * Element i of a sender. Sums and products stay in the range even of 8 bits, whose overflow Open
 * MPI 4.1.4 saturates. Extremes have ties, but no negative zero: whether it wins over zero depends
 * on the order of combining. Extremes of unsigned integers leave the highest bit free, which MPICH
 * 4.0.2 takes for a sign, and Open MPI 4.1.4 in MPI_UNSIGNED_LONG. Truth may lie in any bit.
 */
static struct number contribution(uint64_t call, int sender, int i, enum operation op,
                                  const struct element *e)
{
    uint64_t h = mix(mix(call * 1000 + (uint64_t)sender) + (uint64_t)i);
    int range = e->size == 1 ? 7 : 1000, sign = e->forms & UNSIGNED ? 1 : h & 1 ? -1 : 1;
    long double value;
    struct number n = {0};

    if (op == MODULAR || op == COMPOSE) {
        n.bits = op == MODULAR ? h % MODULUS : h;
        return n;
    }
    if (e->forms & TRUTH || (op >= LAND && op <= LXOR)) {
        n.bits = h & 2 ? 1ull << (e->forms & TRUTH ? 0 : (h >> 8) % (8 * (uint64_t)e->size)) : 0;
    } else if (op >= MAX && !(e->forms & (REAL | PAIR))) {
        n.bits = e->forms & UNSIGNED && op <= MIN ? h >> (65 - 8 * e->size) : h;
    } else {
        value = op == PROD        ? sender < 6 ? 1 + (int)(h >> 8) % 2 : 1
                : e->forms & PAIR ? (int)((h >> 8) % 3)
                                  : (int)((h >> 8) % (uint64_t)(range + 1));
        n.re = e->forms & (REAL | COMPLEX) ? sign * value : 0;
        n.im = e->forms & COMPLEX ? (long double)((h >> 40) % 2) : 0;
        n.bits = e->forms & (REAL | COMPLEX) ? 0 : (uint64_t)(sign * (int64_t)value);
        n.index = e->forms & PAIR ? (int)((h >> 40) % 50) : 0;
    }
    unsigned char as_stored[64] = {0};
    store(e, n, as_stored);
    return load(e, as_stored);
}

#endif
