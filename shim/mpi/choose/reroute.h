/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decision about a call: first the gate (the same answer on every rank), then the plan, then
 * the engine.
 */
#ifndef COLLSHIM_SHIM_MPI_REROUTE_H
#define COLLSHIM_SHIM_MPI_REROUTE_H

#include "shim/mpi/call/call.h"

struct mpi_comm;

/* Run a call that passed mpi_gate_comm, in the mode that is set, or start it; errors have been
   handled. */
struct mpi_outcome mpi_reroute(struct mpi_comm *comm, const struct mpi_call *call);

/*
 * The same for arguments that this rank cannot serve; the others do not know of them. The result is
 * an MPI code. The call's buffers are not used. If the call is rerouted the rank takes part without
 * data (engine.h) and returns the code.
 */
struct mpi_outcome mpi_reroute_wrong(struct mpi_comm *comm, const struct mpi_call *call, int wrong);

#endif
