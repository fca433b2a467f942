/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory set aside. Where the system refuses memory to the preload or a backend, malloc and its
 * relatives hand out some of the reserve: libraries are linked with --wrap for each of them
 * (RESERVE in the Makefile). So a small allocation does not fail, no rank drops out of a start, and
 * code for that case need not exist. A large one may still fail.
 *
 * Each library has 1 MiB of its own, which is never touched without need. A backend has 64 MiB of
 * addresses in its place where memory has no limit: the system promises no memory for them.
 *
 * Rejected: 1 GiB of addresses. Batch systems count them against a job.
 *
 * Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_PRELOAD_RESERVE_H
#define COLLSHIM_SHIM_PRELOAD_RESERVE_H

/* Once, before the first allocation that may be refused: the larger reserve, if there is no limit.
 */
void reserve_open(void);

/*
 * May an allocation of ordinary size fail in this process? Where its memory has no limit
 * (RLIMIT_AS, RLIMIT_DATA, strict overcommit) Linux refuses none. It may also fail where the
 * reserve was needed before.
 */
int reserve_is_limited(void);

#endif
