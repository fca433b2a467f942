/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_MPI_CALL_SITE_GATHER_H
#define COLLSHIM_SHIM_MPI_CALL_SITE_GATHER_H

/*
 * Rank 0's table of call sites and hosts gets those of all ranks. Collective over MPI_COMM_WORLD,
 * before MPI_Finalize. A rank without memory sends nothing. Never waits for a rank that is not in
 * it, and leaves no message behind.
 */
void site_gather(void);

#endif
