/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of every type, written and read by hand, so that no test needs CUDA's own conversions. */
#include <math.h>
#include <string.h>

#include "test/nccl/ranks.h"

static const struct {
    const char *name;
    unsigned char bytes, is_signed;
    signed char exponent, mantissa; /* bits; 0: an integer */
} types[] = {
    {"int8", 1, 1, 0, 0},     {"uint8", 1, 0, 0, 0},    {"int32", 4, 1, 0, 0},
    {"uint32", 4, 0, 0, 0},   {"int64", 8, 1, 0, 0},    {"uint64", 8, 0, 0, 0},
    {"float16", 2, 1, 5, 10}, {"float32", 4, 1, 8, 23}, {"float64", 8, 1, 11, 52},
    {"bfloat16", 2, 1, 8, 7}, {"e4m3", 1, 1, 4, 3},     {"e5m2", 1, 1, 5, 2},
};

size_t type_bytes(int type)
{
    return types[type].bytes;
}

const char *type_name(int type)
{
    return types[type].name;
}

int type_is_integer(int type)
{
    return !types[type].exponent;
}

int type_is_signed(int type)
{
    return types[type].is_signed;
}

double type_large(int type)
{
    return ldexp(1, (1 << (types[type].exponent - 1)) - 1 + (type == ncclFloat8e4m3));
}

void number_write(int type, void *at, size_t index, double value)
{
    int m = types[type].mantissa, e = 0;
    uint64_t bits = (uint64_t)(int64_t)value;

    if (types[type].exponent) {
        double fraction = frexp(value, &e); /* in [0.5, 1) */
        uint64_t bias = ((uint64_t)1 << (types[type].exponent - 1)) - 1;

        bits = value == 0 ? 0
                          : (((uint64_t)(e - 1) + bias) << m) +
                                ((uint64_t)ldexp(fraction, m + 1) - ((uint64_t)1 << m));
    }
    memcpy((char *)at + index * types[type].bytes, &bits, types[type].bytes);
}

double number_read(int type, const void *at, size_t index)
{
    int m = types[type].mantissa, width = types[type].bytes * 8;
    uint64_t bits = 0;

    memcpy(&bits, (const char *)at + index * types[type].bytes, types[type].bytes);
    if (!types[type].exponent) {
        if (types[type].is_signed && bits >> (width - 1))
            return -(double)((~bits & (~0ull >> (64 - width))) + 1);
        return (double)bits;
    }
    int bias = (1 << (types[type].exponent - 1)) - 1;
    int e = (int)(bits >> m & ((1u << types[type].exponent) - 1));
    double sign = bits >> (width - 1) ? -1 : 1,
           fraction = (double)(bits & (((uint64_t)1 << m) - 1));

    return sign * (e ? ldexp(1 + ldexp(fraction, -m), e - bias) : ldexp(fraction, 1 - bias - m));
}
