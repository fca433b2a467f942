/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways by which a call can be rerouted. All is the same on all ranks of the communicator.
 * Thread rule: the communicator's.
 */
#ifndef COLLSHIM_SHIM_MPI_CANDIDATES_H
#define COLLSHIM_SHIM_MPI_CANDIDATES_H

#include "shim/decide/choose/choose.h"
#include "shim/mpi/run/run.h"

/* The classes that the guard measures apart: exchanges by their skew, others by the place of the
   buffers. */
unsigned mpi_guard_kind(const struct mpi_comm *c, const struct mpi_call *call);

/* The algorithm that a setting or row names, or else the model's choice. row: the tuning profile's,
   or NULL. list: [PLAN_CANDIDATES]. Returns how many there are. */
int mpi_find_candidates(const struct mpi_call *call, const struct tuning_row *row,
                        struct plan_candidate *list);

/* Candidates for a call that can neither measure nor ask: what is forced, what the guard judged
   best in blocking calls like it, else the tuning profile's row. */
struct mpi_candidates mpi_find_judged(struct mpi_comm *c, const struct mpi_call *call);

#endif
