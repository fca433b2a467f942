/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agreement of a communicator's ranks on each pair of a type and an operation: may the
 * library's calls and rerouted ones take turns, and do kernels or the library combine in the
 * latter?
 */
#ifndef COLLSHIM_SHIM_MPI_REDUCTION_PAIRS_H
#define COLLSHIM_SHIM_MPI_REDUCTION_PAIRS_H

#include "shim/mpi/call/reduction.h"
#include "shim/mpi/comm/comm.h"

/*
 * Before a call is rerouted: set who combines (r->kernel). Collective over c in the first such call
 * of a pair whose arithmetic may differ. Returns REASON_NONE, REASON_ARITHMETIC, or REASON_UNTRIED:
 * then reduction_pairs_served is to be told how the library's own call went. The same on all ranks.
 */
enum reason reduction_pairs_agree(struct mpi_comm *c, struct reduction *r);

/* The same by what is agreed already. REASON_AGREE: nothing is. Local. */
enum reason reduction_pairs_known(const struct mpi_comm *c, struct reduction *r);

/* rc: what the library's call returned. */
void reduction_pairs_served(struct mpi_comm *c, const struct reduction *r, int rc);

#endif
