/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Has every rank of the job loaded collshim? The ranks must know before they send each
 * other the first message of their own: a rank without the preload would never answer,
 * and the job would hang (`LD_PRELOAD=... mpirun` reaches only the local ranks of Open
 * MPI's rsh launcher, for instance).
 */
#ifndef COLLSHIM_SHIM_MPI_PRESENCE_H
#define COLLSHIM_SHIM_MPI_PRESENCE_H

/*
 * Collective over those ranks of MPI_COMM_WORLD that have the shim, right after MPI_Init, and
 * without any MPI communication. Returns 1 if all have it, 0 if some rank has not (the same
 * answer on every rank that asks), and 1 where the launcher offers no way to find out.
 * missing: if the answer is 0, a rank that was waited for in vain, or -1 if only others know.
 */
int presence_everywhere(int rank, int size, int *missing);

#endif
