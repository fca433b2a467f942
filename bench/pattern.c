/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * word(j) = stream + (j + 1) * ODD. One addition per word, because filling and checking happen
 * between the timed calls on the same few cores. Rejected: a stronger generator, because it made a
 * run of 4 MiB per rank several times longer and found nothing more. The mixing is done once, in
 * the stream number.
 */
#include "pattern.h"

#include <string.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t bench_pattern_stream(int rank, uint64_t generation)
{
    return mix(mix(generation + 1) + (uint64_t)rank + 1);
}

void bench_pattern_fill(void *data, size_t n, uint64_t stream)
{
    unsigned char *p = data;
    uint64_t word = stream;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        word += ODD;
        memcpy(p + i, &word, 8);
    }
    word += ODD;
    memcpy(p + i, &word, n - i);
}

static size_t first_difference(const unsigned char *p, size_t at, size_t n, uint64_t word)
{
    unsigned char want[8];

    memcpy(want, &word, 8);
    for (size_t i = 0; i < 8 && at + i < n; i++) {
        if (p[at + i] != want[i])
            return at + i;
    }
    return BENCH_PATTERN_RIGHT;
}

size_t bench_pattern_check(const void *data, size_t n, uint64_t stream)
{
    const unsigned char *p = data;
    uint64_t word = stream, got;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        word += ODD;
        memcpy(&got, p + i, 8);
        if (got != word)
            return first_difference(p, i, n, word);
    }
    return first_difference(p, i, n, word + ODD);
}

void bench_pattern_poison(void *data, size_t n)
{
    memset(data, 0xa5, n);
}
