/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking call whose sizes only some ranks know. It is started like any other (pending.h),
 * and in its turn the ranks tell each other their sizes, by a plan of ours. Then all of them know
 * the same, and run it by a plan of ours too. Large calls go by the algorithm in whose favour the
 * decision was, small ones by messages sent direct.
 *
 * So the decision comes at the start, without the sizes, from values that are the same on all
 * ranks.
 *
 * Thread rule: judge, keep and start: the communicator's. The rest under pending.c's lock, in the
 * call's turn.
 */
#ifndef COLLSHIM_SHIM_MPI_LATE_SIZES_H
#define COLLSHIM_SHIM_MPI_LATE_SIZES_H

#include "shim/mpi/run/run.h"

struct late_sizes;

/*
 * Fill in the request, the total and the buffers. told: all sizes, as they were told. call:
 * arguments are the call's own copy, room is call->owned.room. Sends nothing. Returns 0; an MPI
 * code with which this rank alone cannot serve the call; or -EINVAL on all ranks alike: sizes
 * contradict each other.
 */
typedef int (*late_sizes_fill)(struct mpi_comm *c, struct mpi_call *call, uint64_t *told);

/*
 * Is such a call started, on a communicator that passed mpi_gate_agreed? root: it tells all sizes.
 * NO_ROOT: each rank tells its own, each as many words. favoured: blocking calls like it are
 * rerouted. That counts without a guard.
 *
 * Returns why not, on all ranks alike, or REASON_NONE and *u, owned by call.owned.late_sizes from
 * then on. *u is NULL if this rank has no memory.
 */
#define NO_ROOT (-1)
enum reason late_sizes_judge(struct mpi_comm *c, const struct mpi_call *call, int root,
                             size_t words, int favoured, struct late_sizes **u);

/* A type that the application may free: *type becomes the call's own. At most two. Returns an MPI
   code. */
int late_sizes_keep(struct late_sizes *u, MPI_Datatype *type);

/* Before its start (nonblocking_start_late). told, in call->owned.room: all words, filled in with
   what this rank tells; borrowed. u NULL is fine. */
void late_sizes_tells(struct late_sizes *u, uint64_t *told, late_sizes_fill fill);

/* In its turn: the telling. As engine_begin and engine_step. */
int late_sizes_begin(struct late_sizes *u);
int late_sizes_step(struct late_sizes *u, enum engine_state *state);

/*
 * Complete ready, whose call is the call's own; *plan is held. Returns 0, a negative or an MPI
 * code. Nothing has to be run where ready->plan is NULL.
 */
int late_sizes_finish(struct late_sizes *u, struct mpi_comm *c, struct ready *ready,
                      struct mpi_plan **plan);

void late_sizes_close(struct late_sizes *u); /* NULL is fine */

#endif
