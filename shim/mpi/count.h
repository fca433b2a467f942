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

/* A call of `total` bytes (over all ranks) took so long, rerouted or natively in its turn. */
void count_timed(enum plan_collective c, int rerouted, uint64_t total, double seconds);

/* COLLSHIM_MODE=verify compared a call. */
void count_verified(enum plan_collective c, int equal);

/* Seconds on a monotonic clock. */
double count_now(void);

/*
 * Write the report that COLLSHIM_REPORT asks for, if any. Collective over MPI_COMM_WORLD, before
 * the library's own MPI_Finalize; all ranks must have agreed on the settings.
 */
void count_report(void);

#endif
