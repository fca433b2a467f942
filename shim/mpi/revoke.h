/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's failure mitigation (ULFM): Open MPI 5, started with `--with-ft ulfm`. A rank that
 * waits in a rerouted call waits on private communicators, so a revoked communicator of the program
 * has its private ones revoked too. Without failure mitigation nothing here does anything.
 *
 * Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_REVOKE_H
#define COLLSHIM_SHIM_MPI_REVOKE_H

#include <mpi.h>

struct mpi_comm;

/* Look for the functions of the library behind that handle of dlopen. Once, before MPI_Init. */
void revoke_open(void *libmpi);

/* From here on, until it ends, the communicators of c are revoked once comm is. Borrows both. */
void revoke_follow(struct mpi_comm *c, MPI_Comm comm);
void revoke_unfollow(struct mpi_comm *c); /* not followed is fine */

/* A transport has failed on that private communicator. Other ranks may wait for this one: none can
   wait on a revoked communicator, so all leave. Its calls run natively from here on. */
void revoke_failed(MPI_Comm private_comm);

#endif
