/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agreement at MPI_Init: every rank has the shim, all agreed settings are equal, the
 * topology fits. Its outcome is mpi_process.verdict, the same on all ranks.
 */
#ifndef COLLSHIM_SHIM_MPI_AGREE_H
#define COLLSHIM_SHIM_MPI_AGREE_H

/*
 * Collective over MPI_COMM_WORLD, right after the library's own MPI_Init. Sets mpi_process.verdict,
 * world_rank, world_size, keyval and topo. Returns an MPI code. Where COLLSHIM_STRICT refuses the
 * settings, it does not return: rank 0 ends the job by MPI_Abort.
 */
int agree_at_init(void);

#endif
