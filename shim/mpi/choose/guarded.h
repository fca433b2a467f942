/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as the guard decides: it times the library and each candidate by the host's clock, and the
 * ranks agree on the times behind a round. Thread rule: the communicator's.
 */
#ifndef COLLSHIM_SHIM_MPI_GUARDED_H
#define COLLSHIM_SHIM_MPI_GUARDED_H

#include "shim/decide/choose/choose.h"
#include "shim/mpi/run/run.h"

/* Run the call. row: the tuning profile's, or NULL. Collective over the communicator. */
struct mpi_outcome mpi_guarded(struct mpi_comm *c, const struct mpi_call *call,
                               const struct tuning_row *row);

/* Do the work that the call before has left. It is not in this call's time. Collective. */
void mpi_guarded_catch_up(struct mpi_comm *c, struct mpi_call *call);

#endif
