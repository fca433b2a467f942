/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a communicator meet before its first rerouted call. They tell their identity and
 * their place, and whether they can go on.
 *
 * Thread rule: as any collective, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_COMM_SETUP_H
#define COLLSHIM_SHIM_MPI_COMM_SETUP_H

#include <mpi.h>

#include "shim/mpi/process.h"

struct mpi_comm;

/*
 * Fill in c's private communicator, topology, links and helpers. comm: of n ranks, none of them
 * foreign. own: REASON_NONE, or this rank's reason not to go on; c may be NULL then. *again:
 * a later try may end otherwise. Collective; all ranks get the same verdict. Members that were
 * filled in are freed with c, also after a verdict against it.
 */
enum reason mpi_comm_setup(struct mpi_comm *c, MPI_Comm comm, int n, enum reason own, int *again);

#endif
