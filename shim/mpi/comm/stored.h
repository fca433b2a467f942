/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLLSHIM_STORE among the ranks. Rank 0 reads it at MPI_Init and sends it to all, so that they
 * know the same. Before MPI_Finalize it adds the findings of the communicators that it leads.
 *
 * Without a store too, a communicator begins with what communicators of the same place found
 * before it in this job, if all its ranks know the same of them.
 */
#ifndef COLLSHIM_SHIM_MPI_STORED_H
#define COLLSHIM_SHIM_MPI_STORED_H

#include "shim/mpi/api/tree.h"
#include "shim/mpi/comm/comm.h"

/* At MPI_Init, by all ranks, with the same settings. Returns an MPI code. */
int stored_share(const struct tree *t);

/* A new entry of the communicator's guard begins with what is known. Returns whether anything is.
 */
int stored_recall(struct mpi_comm *c, struct guard_entry *e, enum plan_collective collective,
                  unsigned kind);

/* The entry has a verdict; on all ranks. */
void stored_learn(const struct mpi_comm *c, const struct guard_entry *e,
                  enum plan_collective collective, unsigned kind);

/* Take what this rank knows of the communicator's place (c->measured.found). Returns its hash, 0:
   nothing. Ranks with other hashes must free the rows. */
uint64_t stored_here(struct mpi_comm *c);

/* Its rails have changed. */
void stored_forget(struct mpi_comm *c);

/* Before MPI_Finalize. */
void stored_close(void);

#endif
