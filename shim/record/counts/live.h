/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters that other processes of the same user may read while a job runs: `collshim top`.
 *
 * They lie in a file without a name (memfd), which readers open as /proc/PID/fd/N. The kernel frees
 * it with its process, so a killed job leaves nothing. The page that holds the counters is mapped
 * over the variable itself: a call costs what it costs without. Rejected: a file in /dev/shm,
 * which SIGKILL leaves behind.
 *
 * The file's pages are allocated as it is made, so that a full memory cannot end the job later. Its
 * size is sealed.
 *
 * Without memfd, or where anything fails, counters stay the process's own.
 */
#ifndef COLLSHIM_SHIM_RECORD_LIVE_H
#define COLLSHIM_SHIM_RECORD_LIVE_H

/* Share the counters, by a backend of "MPI" or "NCCL" (borrowed for good). Single-threaded, before
   anything is counted. Never fails: a line at level debug tells why they are not shared. */
void live_open(const char *library);

/* This process's rank is known. Also shares the counters of a forked child, which are its own from
   the fork on. One thread at a time. */
void live_rank(int rank, int size);

/* They are about to become sums over ranks. */
void live_close(void);

#endif
