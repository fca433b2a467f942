/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that must outlive a request of the library's own.
 *
 * Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_ADOPT_H
#define COLLSHIM_SHIM_MPI_ADOPT_H

#include <mpi.h>

/*
 * *request becomes one that is complete when it was, with its code; the memory, n pieces of malloc,
 * is freed then. Where the library has no hook (progress.h), or no memory is left, the request
 * stays what it is and the memory stays for ever. n is at most 4.
 */
void adopt(MPI_Request *request, void **memory, int n);

/* One look at each such request. Under the lock of pending.h. Returns 1 if one was complete; *left:
   is there another? adopt_end, without the lock, does what is left to do with those that were: the
   program's error handler may run there. */
int adopt_step(int *left);
void adopt_end(void);

#endif
