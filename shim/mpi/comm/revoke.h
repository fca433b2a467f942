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

#include "shim/decide/base/reasons.h"
#include "shim/mpi/comm/variant_comms.h"

/* Look for the functions of the library behind that handle of dlopen. Once, before MPI_Init. */
void revoke_open(void *libmpi);

/* A communicator of ours that is revoked with one of the program's. All is borrowed. */
struct revocable {
    MPI_Comm follows; /* once it is revoked, so are the next two */
    MPI_Comm private_comm;
    const struct variants *variants;
    enum reason *verdict; /* of calls on it */
    struct revocable *next;
    int revoked;
};

/* From here on, until it ends, it follows. */
void revoke_follow(struct revocable *r);
void revoke_unfollow(struct revocable *r); /* not followed is fine */

/* A transport has failed on that private communicator. Other ranks may wait for this one: none can
   wait on a revoked communicator, so all leave. Its calls run natively from here on. */
void revoke_failed(MPI_Comm private_comm);

#endif
