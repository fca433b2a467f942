/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that reveals every mistake: each block is a stream of 64-bit words that depends on the rank
 * that sent it and on the call it was sent in. A block that is swapped, shifted, left over from the
 * call before or half-written differs in nearly every byte. Rejected: constant fill (the usual
 * choice), because it accepts a block that is shifted within itself.
 */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_PATTERN_RIGHT SIZE_MAX

/* The stream of one rank in one call; generation is a number that never repeats in a run. */
uint64_t bench_pattern_stream(int rank, uint64_t generation);

/* Write n bytes of the stream to data, from its beginning. */
void bench_pattern_fill(void *data, size_t n, uint64_t stream);

/* Offset of the first byte of data that is not the stream's, or BENCH_PATTERN_RIGHT. */
size_t bench_pattern_check(const void *data, size_t n, uint64_t stream);

/* Overwrite with bytes that no stream begins with in practice; before each call. */
void bench_pattern_poison(void *data, size_t n);

#endif
