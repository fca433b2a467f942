/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that must outlive a request of the library's own.
 *
 * Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_REQUEST_MEMORY_H
#define COLLSHIM_SHIM_MPI_REQUEST_MEMORY_H

#include <mpi.h>

/*
 * *request becomes one that is complete when it was, with its code; the memory, n pieces of malloc,
 * is freed then. Where the library has no hook (progress.h), or no memory is left, the request
 * stays what it is and the memory stays for ever. n is at most 4.
 */
void request_memory_keep(MPI_Request *request, void **memory, int n);

#endif
