/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking call that this rank's helpers carry by themselves, so that it advances while the
 * application makes no MPI call. Their results wait in the helpers' windows. Once all ranks know
 * that all helpers are done, each rank copies them to its output. If a helper is lost, no output
 * has been written, and the ranks run the call by the schedule of one process.
 *
 * Thread rule: open, possible: the communicator's. The rest under pending.c's lock, in the call's
 * turn on its communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_BACKGROUND_H
#define COLLSHIM_SHIM_MPI_BACKGROUND_H

#include "shim/mpi/run/run.h"
#include "shim/mpi/run/staging.h"

struct background;

/* Has the communicator helpers that could carry such a call? The same on all ranks, also after a
   helper was lost. */
int background_possible(const struct mpi_comm *c, const struct mpi_call *call);

/*
 * Get the helpers' plans ready. ready: borrowed, at its place for good. Sends nothing. Returns 0 or
 * -ENOMEM. *b_p is NULL, on all ranks alike, if the rank carries the call alone.
 */
int background_open(struct mpi_comm *c, const struct ready *ready, struct background **b_p);
void background_close(struct background *b); /* NULL is fine */

/* The number of helpers that it uses; b NULL: 0. */
int background_helpers(const struct background *b);

/*
 * Begin, with the whole call's packed buffers in host memory; failed: of slicing_buffers. Never
 * waits. Returns 0, on all ranks alike, if helpers were lost before: the rank carries the call.
 */
int background_begin(struct background *b, const struct staging *s, int failed);

/* One step. BACKGROUND_LOST, on all ranks alike: the rank carries the call. BACKGROUND_DONE: the
   output is complete, or *rc is a negative or an MPI code. */
enum background_state {
    BACKGROUND_DONE,
    BACKGROUND_LOST,
    BACKGROUND_IDLE,
    BACKGROUND_MOVED
} background_step(struct background *b, int *rc);

#endif
