/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters for the log and the report (report.h). Each collective has the number of native calls by
 * reason. Each collective and size class has the calls and the time of either way. Any thread may
 * count.
 */
#ifndef COLLSHIM_SHIM_RECORD_COUNT_H
#define COLLSHIM_SHIM_RECORD_COUNT_H

#include <stdint.h>

#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"
#include "shim/decide/guard/guard_entry.h"
#include "shim/record/counts/live_layout.h"
#include "shim/record/sites/histogram.h"

/* Observations and actions of Alltoallv's monitor: EXCHANGE(enum name, key in the report). Bytes
   are those that a rank sent to other ranks, and those to the rank that got most of that call. */
#define COUNT_EXCHANGES(EXCHANGE)                                                                  \
    EXCHANGE(SENT_BYTES, "sent_bytes")                                                             \
    EXCHANGE(HOTTEST_BYTES, "to_hottest_bytes")                                                    \
    EXCHANGE(QUESTIONS, "questions")                                                               \
    EXCHANGE(ROWS, "row_exchanges")                                                                \
    EXCHANGE(PREDICTIONS, "predictions")                                                           \
    EXCHANGE(CHANGES, "state_changes")
enum count_exchange {
#define EXCHANGE(id, key) COUNT_##id,
    COUNT_EXCHANGES(EXCHANGE)
#undef EXCHANGE
        COUNT_EXCHANGES_COUNT
};

enum {
    COUNT_PARTS = 1000000, /* of a logarithm */
    COUNT_CLASSES = HISTOGRAM_SIZE_CLASSES,
    COUNT_REGISTRY = LIVE_REGISTRY,
    COUNT_NAMES = LIVE_ROWS,
    COUNT_PROCESSES = 64 /* per rank */
};
enum count_way { COUNT_NATIVE, COUNT_REROUTED, COUNT_WAYS };

/* Whole pages can be mapped over it (live.h). */
#if defined(__x86_64__)
#define COUNT_ALIGNED __attribute__((aligned(4096)))
#else
#define COUNT_ALIGNED __attribute__((aligned(65536)))
#endif

/* Nothing but uint64_t, so that ranks can add theirs up. */
extern struct counters {
    struct live_counts live;          /* first */
    uint64_t verified[COLL_COUNT][2]; /* different, equal */
    uint64_t calls[COLL_COUNT][COUNT_CLASSES][COUNT_WAYS];
    uint64_t nanoseconds[COLL_COUNT][COUNT_CLASSES][COUNT_WAYS];
    uint64_t by_row[COLL_COUNT][COUNT_CLASSES][COUNT_NAMES]; /* rerouted calls */
    uint64_t verdicts[COLL_COUNT][COUNT_CLASSES][COUNT_WAYS];
    /* Sums over verdicts, in millionths: the logarithm of the reroute's time through the library's,
       a negative number modulo 2^64, and its standard deviation. */
    uint64_t ratios[COLL_COUNT][COUNT_CLASSES], spreads[COLL_COUNT][COUNT_CLASSES];
    uint64_t by_processes[COLL_COUNT][COUNT_PROCESSES + 1];
    /* By helpers too; of these on a device; again without them; without any call of MPI. */
    uint64_t sliced[COLL_COUNT][4];
    uint64_t started[COLL_COUNT]; /* rerouted calls that were nonblocking */
    uint64_t exchange[COUNT_EXCHANGES_COUNT];
} counters COUNT_ALIGNED;

/* A call ran natively. Cheap; says so once per collective and reason at level info. */
void count_native(enum plan_collective c, enum reason why);

/* A call of `total` bytes (over all ranks) took so long natively. */
void count_timed_native(enum plan_collective c, uint64_t total, double seconds);

/* The row's number in these counters; a NULL: slices by the library. */
int count_row(const struct plan_algorithm *a);

/* Or rerouted by that row, in as many slices as processes; a NULL: each by the library. Says so
   once per collective. seconds 0: not known. */
void count_rerouted(enum plan_collective c, const struct plan_algorithm *a, int processes,
                    uint64_t total, double seconds);

/* A nonblocking call was started that is rerouted by that row, and carried by so many processes;
   how long it takes is not known. */
void count_started(enum plan_collective c, const struct plan_algorithm *a, int processes,
                   uint64_t total);

/* The same of a call that was started before its size was known, at another call site. */
void count_sized(enum plan_collective c, const struct plan_algorithm *a, uint64_t total);

/* A rerouted call was carried in slices. on_device: this rank's helpers worked on its device;
   redone: a helper died, and the ranks did its part themselves. */
void count_sliced(enum plan_collective c, int on_device, int redone);

/* Helpers alone carried a nonblocking call. meanwhile: they were done before the application's next
   MPI call, which would have let the call advance. */
void count_carried_meanwhile(enum plan_collective c, int meanwhile, int redone);

/* The guard has a verdict on calls of that size on one communicator; one rank of it counts. The
   verdict before, if known, counts no longer. */
void count_verdict(enum plan_collective c, uint64_t total, const struct guard_verdict *now,
                   const struct guard_verdict *before);

void count_exchange(enum count_exchange what, uint64_t n);

/* COLLSHIM_MODE=verify compared a call. */
void count_verified(enum plan_collective c, int equal);

/* Seconds on a monotonic clock. */
double count_now(void);

#endif
