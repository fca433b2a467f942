/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A persistent collective that is rerouted: a pending call (pending.h) on a channel of its own
 * (channel.h). The application's request is a persistent receive of 0 bytes from the own rank.
 * Start starts both, and the call's completion sends those 0 bytes. So the library starts,
 * completes and frees a request of its own, in all forms that it has.
 *
 * A start finds the handle and starts the receive. It plans, agrees and measures nothing, and takes
 * no memory.
 *
 * Errors: a call that fails sends one byte, which the receive has no room for. So MPI_Wait and its
 * kin return MPI_ERR_TRUNCATE, or what the error handler makes of it: that of the communicator when
 * the call fails, or of MPI_COMM_SELF if the communicator is gone. It is told another communicator.
 *
 * Thread rule: persistent_run as any collective, the others: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_PERSISTENT_H
#define COLLSHIM_SHIM_MPI_PERSISTENT_H

#include "shim/mpi/run/run.h"

/* Make the request, or let the library make it: as for nonblocking_run. Collective; waits. */
struct mpi_outcome persistent_run(struct mpi_comm *c, struct mpi_call *call,
                                  const struct mpi_candidates *found);

/* Memory that must outlive a persistent request of the library's own, n pieces of malloc, at most
   4: freed with the request. */
void persistent_keep(MPI_Request request, void **memory, int n);

/* In MPI_Finalize, when nothing is pending: free those that the application has not. */
void persistent_close(void);

#endif
