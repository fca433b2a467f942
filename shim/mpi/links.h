/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports of a communicator: MPI point-to-point between nodes, shared memory inside each
 * node where COLLSHIM_SHM and the system permit it.
 */
#ifndef COLLSHIM_SHIM_MPI_LINKS_H
#define COLLSHIM_SHIM_MPI_LINKS_H

#include <mpi.h>

#include "config/topo.h"
#include "transports/xport.h"

struct links {
    struct xport mpi, shm, route; /* owned; shm and route only if this rank's node uses them */
    struct xport *use;            /* what engines get: one of them */
    struct meeting *meeting;      /* owned; between links_prepare and links_share */
};

/* Fill in the library's functions, once, before any other call. */
void links_init(void);

/*
 * The local half of opening. private_comm: for the transports; borrowed, as are topo and report
 * until links_share. Returns 1 if all is well.
 */
int links_prepare(struct links *l, MPI_Comm private_comm, const struct topo *topo,
                  const struct topo_report *report, int rank);

/* The other half, once all ranks have done the first. Collective over comm. Returns 1 if all is
   well on this rank. */
int links_share(struct links *l, MPI_Comm comm);
void links_part(struct links *l);  /* before what its calls used of devices goes (shm.h) */
void links_close(struct links *l); /* all zero is fine */

#endif
