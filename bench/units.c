/* SPDX-License-Identifier: BSD-3-Clause */
/* One unit per table column rather than the best unit per figure: columns can then be compared
 * by eye, from microseconds (0.012 ms) to seconds. */
#include "units.h"

#include <stdio.h>

const char *bench_units_bytes(size_t bytes, char *text, size_t length)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;

    while (unit < 3 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, length, "%zu %s", bytes, units[unit]);
    return text;
}

const char *bench_units_ms(double us, char *text, size_t length)
{
    if (us > 0)
        snprintf(text, length, "%.3f", us / 1e3);
    else
        snprintf(text, length, "-");
    return text;
}
