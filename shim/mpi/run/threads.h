/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of COLLSHIM_TEST_HOST_THREADS. Beside the rank's own thread they combine the host's
 * part of calls on two paths, and sleep otherwise. One set per process, made in the first such
 * call, on processors near the rank's GPU if the rank may run there.
 *
 * Any thread may call; a busy set gives no threads to a second caller.
 */
#ifndef COLLSHIM_SHIM_MPI_THREADS_H
#define COLLSHIM_SHIM_MPI_THREADS_H

#include "transports/base/xport.h"

/* For one call over that transport of a node's ranks. Returns 1 if threads_rest is to follow, or 0:
   the rank is alone. */
int threads_hire(struct xport *shm);
void threads_rest(struct xport *shm);

/* At MPI_Finalize. */
void threads_close(void);

#endif
