/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been done so far, for the report: per collective how many calls ran natively and
 * why, and per collective and size class how many bytes and how much time either way took.
 * Any thread may count.
 */
#ifndef COLLSHIM_SHIM_MPI_COUNT_H
#define COLLSHIM_SHIM_MPI_COUNT_H

#include "shim/mpi/process.h"

/* A call ran natively. Cheap; says so once per collective and reason at level info. */
void count_native(enum plan_collective c, enum reason why);

/* A call of `total` bytes (over all ranks) took so long, natively or rerouted by that row. */
void count_timed_native(enum plan_collective c, uint64_t total, double seconds);
void count_rerouted(enum plan_collective c, const struct plan_algorithm *a, uint64_t total,
                    double seconds);

/* A rerouted call was carried in slices. on_device: this rank's helpers worked on its device;
   redone: a helper died, and the ranks did its part themselves. */
void count_sliced(enum plan_collective c, int on_device, int redone);

/* The guard settled calls of that size on one communicator; one rank of it counts. */
void count_verdict(enum plan_collective c, uint64_t total, int rerouted);

/* What Alltoallv's monitor saw and did: EXCHANGE(enum name, key in the report). Bytes are what a
   rank sent to other ranks, and to the one of them that got most of that call. */
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
void count_exchange(enum count_exchange what, uint64_t n);

/* COLLSHIM_MODE=verify compared a call. */
void count_verified(enum plan_collective c, int equal);

/* Seconds on a monotonic clock. */
double count_now(void);

/*
 * Write the report that COLLSHIM_REPORT asks for, if any, before the library's own MPI_Finalize.
 * Collective over MPI_COMM_WORLD where all ranks agreed on the settings; else rank 0 writes its own
 * counts, and why all ran natively.
 */
void count_report(void);

#endif
