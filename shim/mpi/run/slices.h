/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call that the helpers of all ranks carry together with the ranks: slice 0 is the rank's own,
 * slice i its i-th helper's.
 *
 * No byte of the application's output is written before all ranks know that all slices are done. So
 * a helper may die at any moment. The ranks then carry its slices, by the same plans, and the
 * result has the same bits.
 */
#ifndef COLLSHIM_SHIM_MPI_SLICES_H
#define COLLSHIM_SHIM_MPI_SLICES_H

#include "shim/mpi/run/slicing.h"

/* Can helpers carry this call at all? The same on all ranks. */
int slices_possible(const struct mpi_call *call);

/*
 * Can a's plans serve the slices, ppg of them? Returns as mpi_comm_engine, on all ranks alike, with
 * call->request as the whole call's. -ENOTSUP also if a plan wants host memory beside a device's,
 * for which slices have no room.
 */
int slices_try(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg);

struct slices_result {
    int redone;                /* a helper failed */
    int on_device;             /* helpers of this rank worked on its device */
    struct load_link crossing; /* bytes to and from other nodes, by this rank and its helpers */
};

/*
 * Run the call in so many slices. Returns 0, a negative code or an MPI code. A helper that failed
 * costs time only; c->team is then given up on all ranks, and result->redone is 1.
 */
int slices_run(struct mpi_comm *c, const struct mpi_call *call, const struct plan_algorithm *a,
               int ppg, const struct slicing_buffers *buffers, struct slices_result *result);

#endif
