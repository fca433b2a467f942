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

#include "shim/mpi/comm/comm.h"

/* Make the state. Collective over comm; every rank gets the same verdict. NULL, on all ranks: it
   cannot be made now (numbering.h), but perhaps later. */
struct mpi_comm *mpi_comm_make(MPI_Comm comm);

/* The same without an attribute of comm: the caller drops it (mpi_comm_drop). */
struct mpi_comm *mpi_comm_state(MPI_Comm comm);

#endif
