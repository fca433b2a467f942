/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for people. Each writes to text (of length bytes) and returns it. */
#ifndef BENCH_UNITS_H
#define BENCH_UNITS_H

#include <stddef.h>

/* "64 KiB" where that is exact, else "1000003 B". */
const char *bench_units_bytes(size_t bytes, char *text, size_t length);

/* Microseconds as milliseconds with three decimals, "-" for 0 (not measured). No unit is appended.
 */
const char *bench_units_ms(double us, char *text, size_t length);

#endif
