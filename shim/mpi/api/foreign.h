/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which communicators may carry messages of ours. The ranks of this MPI_COMM_WORLD agreed in
 * MPI_Init. Processes that came by MPI_Comm_spawn, accept, connect or join have another
 * MPI_COMM_WORLD: they may lack collshim, or have other settings. So a communicator with both is
 * the library's for ever, on all its ranks, and none sends a message to find that out.
 *
 * Rule: code that sends on a communicator of the program asks foreign_reason() first.
 *
 * Thread rule: any; as for the collective itself, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_FOREIGN_H
#define COLLSHIM_SHIM_MPI_FOREIGN_H

#include <mpi.h>

#include "shim/decide/base/reasons.h"

/* At MPI_Init, and before the library's MPI_Finalize. Returns an MPI code. */
int foreign_open(void);
void foreign_close(void);

/*
 * REASON_FOREIGN if the intracommunicator has members outside of this rank's MPI_COMM_WORLD, else
 * REASON_NONE. n: its size. Local, needs no memory, and the same on all ranks. Remembered.
 */
enum reason foreign_reason(MPI_Comm comm, int n);

#endif
