/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_MPI_CALL_SITE_GATHER_H
#define COLLSHIM_SHIM_MPI_CALL_SITE_GATHER_H

#include <mpi.h>
#include <stddef.h>

/* A communicator of all ranks for the report. Collective over MPI_COMM_WORLD, before MPI_Finalize.
   Returns 0 if a rank can have none. */
int gather_open(MPI_Comm *comm);
void gather_close(MPI_Comm *comm);

/*
 * Each rank unpacks what its children in a binomial tree have packed, then packs its own for its
 * parent; rank 0 ends with all. pack returns the bytes of *data (freed here), 0: none. Collective.
 * A rank without memory sends nothing. Never waits for a rank that is not in it, and leaves no
 * message behind.
 */
void gather_up(MPI_Comm comm, size_t (*pack)(char **data),
               void (*unpack)(const char *data, size_t size));

#endif
