/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing results for COLLSHIM_MODE=verify. Real numbers are compared by value: either zero may
 * survive a comparison, and any NaN is as good as another. All are read as long double, so numbers
 * of 128 bits are compared to its precision.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "shim/mpi/call/device.h"
#include "shim/mpi/call/layout.h"
#include "shim/mpi/call/reduction.h"
#include "transports/base/host_memory.h"

#ifdef __SIZEOF_FLOAT128__
typedef __float128 real_128;
#else
typedef long double real_128;
#endif

/* Bytes, and the distance from 1 to the next number. */
static const struct {
    size_t size;
    long double epsilon;
} reals[] = {
    [REAL_16] = {2, 0x1p-10L},
    [REAL_16_BRAIN] = {2, 0x1p-7L},
    [REAL_32] = {sizeof(float), FLT_EPSILON},
    [REAL_64] = {sizeof(double), DBL_EPSILON},
    [REAL_LONG_DOUBLE] = {sizeof(long double), LDBL_EPSILON},
    [REAL_128] = {sizeof(real_128), LDBL_EPSILON},
};

/* Five bits of exponent, ten of fraction. */
static long double half_at(const void *at)
{
    uint16_t bits;

    memcpy(&bits, at, sizeof bits);
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    long double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexpl(1024 + fraction, exponent - 25)
                                       : ldexpl(fraction, -24);
    return bits >> 15 ? -value : value;
}

static long double brain_at(const void *at)
{
    uint16_t upper;
    float value;

    memcpy(&upper, at, sizeof upper);
    uint32_t bits = (uint32_t)upper << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static long double real_at(enum reduction_real real, const char *at)
{
    float f;
    double d;
    long double l;
    real_128 q;

    switch (real) {
    case REAL_16:
        return half_at(at);
    case REAL_16_BRAIN:
        return brain_at(at);
    case REAL_32:
        memcpy(&f, at, sizeof f);
        return f;
    case REAL_64:
        memcpy(&d, at, sizeof d);
        return d;
    case REAL_LONG_DOUBLE:
        memcpy(&l, at, sizeof l);
        return l;
    default:
        memcpy(&q, at, sizeof q);
        return (long double)q;
    }
}

/* Sums may differ by the rounding of nranks additions of numbers as large as the largest here. */
static int nearly_equal(enum reduction_real real, const char *a, const char *b, size_t bytes,
                        int nranks)
{
    size_t size = reals[real].size;
    long double largest = 0;

    for (size_t at = 0; nranks && at < bytes; at += size) {
        long double magnitude = fabsl(real_at(real, a + at));
        if (isfinite(magnitude) && magnitude > largest)
            largest = magnitude;
    }
    for (size_t at = 0; at < bytes; at += size) {
        long double x = real_at(real, a + at), y = real_at(real, b + at);
        if (x != y && !(isnan(x) && isnan(y)) &&
            !(fabsl(x - y) <= 8 * nranks * reals[real].epsilon * largest))
            return 0;
    }
    return 1;
}

static int real_pairs_equal(const struct reduction *r, const char *a, const char *b, size_t bytes)
{
    size_t size = reals[r->real].size;

    for (size_t at = 0; at + r->extent <= bytes; at += r->extent)
        if (!nearly_equal(r->real, a + at, b + at, size, 0) ||
            memcmp(a + at + size, b + at + size, r->index_bytes) != 0)
            return 0;
    return 1;
}

int reduction_equal(const struct reduction *r, const void *a, const void *b, size_t bytes,
                    int nranks)
{
    MPI_Count count = (MPI_Count)(bytes / r->extent);
    struct layout packed;
    int equal = 0;

    if (r->real && r->index_bytes)
        return real_pairs_equal(r, a, b, bytes);
    if (r->real == REAL_128 && nearly_equal(REAL_LONG_DOUBLE, a, b, bytes, r->rounds ? nranks : 0))
        return 1; /* the type that some libraries use for Fortran's REAL16 */
    if (r->real)
        return nearly_equal(r->real, a, b, bytes, r->rounds ? nranks : 0);
    if (layout_of(r->type, &packed) < 0)
        return 0;
    /* Without the gaps that pair types have. */
    char *x = host_memory_take(bytes), *y = host_memory_take(bytes);
    if (x && y && device_pack(&packed, a, count, x, MPI_COMM_SELF) == MPI_SUCCESS &&
        device_pack(&packed, b, count, y, MPI_COMM_SELF) == MPI_SUCCESS)
        equal = layout_equal(&packed, x, y, (size_t)(count * packed.size));
    host_memory_give(x);
    host_memory_give(y);
    return equal;
}
