/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A number that all ranks of a communicator's group have alike, without a message: a hash of its
 * ranks in MPI_COMM_WORLD. Communicators of one group share it, so the caller counts them.
 * Thread rule: any thread, one at a time for each communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_GROUP_HASH_H
#define COLLSHIM_SHIM_MPI_GROUP_HASH_H

#include <mpi.h>
#include <stdint.h>

/* Also the communicator's size and this rank in it. 0: one rank, an intercommunicator, or a group
   with ranks of another MPI_COMM_WORLD. */
uint64_t group_hash(MPI_Comm comm, int *size, int *rank);

#endif
