/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the ranks mean the same call? MPI requires it, and a rerouted call relies on it: ranks that
 * disagree in sizes have plans that do not fit together. To compare takes a small reduction per
 * call, which no program should pay for the errors of others. So it is done where every call is
 * rerouted that can be, small ones too (COLLSHIM_MIN_BYTES=0). Tests may leave it out:
 * COLLSHIM_TEST_COMPARE_SIZES=0.
 */
#ifndef COLLSHIM_SHIM_MPI_CALLS_ALIKE_H
#define COLLSHIM_SHIM_MPI_CALLS_ALIKE_H

#include "shim/mpi/api/process.h"

/* Are calls compared? The same on all ranks. */
static inline int calls_alike_asked(void)
{
    return !settings.cfg.min_bytes && settings.cfg.test_compare_sizes;
}

/*
 * Compare the ranks' calls. Collective over the communicator. REASON_NONE, or REASON_ARGUMENTS on
 * all ranks: sizes differ, or a rank cannot serve its call (call->wrong). Then the library has the
 * communicator from here on.
 */
struct mpi_call;
struct mpi_comm;
enum reason calls_alike(struct mpi_comm *c, const struct mpi_call *call);

/* The same of their types and operations, before the ranks agree on these (reduction_pairs.h): a
   rank that knows its pair would not be asked by one that does not. */
enum reason calls_alike_in_pair(struct mpi_comm *c, const struct mpi_call *call);

#endif
