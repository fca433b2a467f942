/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process of an NCCL job writes the report: rank 0 of the largest communicator that it is in,
 * unless its launcher calls it another rank. The parts of a split have a rank 0 each, but belong to
 * a larger communicator. Those of a mesh do not; there the launcher tells the rank. If neither
 * tells, the last process to end writes its whole report there. With %p in its name every process
 * has its own; the spool gets that of the job.
 */
#ifndef COLLSHIM_SHIM_RECORD_REPORTER_H
#define COLLSHIM_SHIM_RECORD_REPORTER_H

#include <stdint.h>

/* This process is that rank of such a communicator. key: alike for its ranks. library: as the
   report calls it (borrowed for good). Any thread. */
void reporter_rank(int rank, int nranks, uint64_t key, const char *library);

/* The largest communicator so far; nranks 0: there was none. rank: the lowest of this process's.
   Single-threaded. */
struct reporter {
    int nranks, rank;
    const char *library;
};
struct reporter reporter_largest(void);

/* Is it this process that writes one, and of what? Not if it is a child of the one that made the
   communicators. Single-threaded. */
enum reporter_scope { REPORT_NONE, REPORT_OF_PROCESS, REPORT_OF_JOB };
enum reporter_scope reporter_writes(void);

/* Does the launcher of this process say that its rank is not 0? */
int reporter_is_launched_as_another(void);

#endif
