/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host's monotonic clock against that of rank 0's host. Their offset is measured twice, when the
 * job begins and when it ends; in between it is taken to change evenly, since two crystals differ
 * by a constant rate. A clock that jumped in between, as after a virtual machine has moved, is
 * compared with none: its host is a domain of its own, and a call over two domains has no samples.
 */
#ifndef COLLSHIM_SHIM_RECORD_CLOCK_H
#define COLLSHIM_SHIM_RECORD_CLOCK_H

#include <stdint.h>

struct host_clock {
    uint64_t from, to;              /* when it was measured, by this clock; nanoseconds */
    int64_t offset_from, offset_to; /* to be added, for rank 0's time */
    uint32_t domain;                /* 0: rank 0's time; else none but its own */
};

/* Crystals differ by 1e-4 at most, and daemons that set clocks slew them by 5e-4; 1 ms: the
   network's doubt in a short job. */
static inline int clock_has_jumped(const struct host_clock *c)
{
    int64_t change = c->offset_to - c->offset_from, passed = (int64_t)(c->to - c->from);

    return (change < 0 ? -change : change) > 1000000 + passed / 1000;
}

/* Rank 0's time at t of this clock. */
static inline uint64_t clock_common(const struct host_clock *c, uint64_t t)
{
    double part =
        c->to > c->from ? (double)(int64_t)(t - c->from) / (double)(int64_t)(c->to - c->from) : 0;

    return c->domain ? t
                     : t + (uint64_t)(c->offset_from +
                                      (int64_t)(part * (double)(c->offset_to - c->offset_from)));
}

#endif
