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
#ifndef COLLSHIM_SHIM_MPI_UNSIZED_H
#define COLLSHIM_SHIM_MPI_UNSIZED_H

#include "shim/mpi/run/serve.h"

struct unsized;

/*
 * Fill in the request, the total and the buffers. told: all sizes, as they were told. call:
 * arguments are the call's own copy, room is call->room. Sends nothing. Returns 0; an MPI code with
 * which this rank alone cannot serve the call; or -EINVAL on all ranks alike: sizes contradict each
 * other.
 */
typedef int (*unsized_fill)(struct mpi_comm *c, struct mpi_call *call, uint64_t *told);

/*
 * Is such a call started, on a communicator that passed mpi_gate_agreed? root: it tells all sizes.
 * NO_ROOT: each rank tells its own, each as many words. favoured: blocking calls like it are
 * rerouted. That counts without a guard.
 *
 * Returns why not, on all ranks alike, or REASON_NONE and *u, owned by call.unsized from then on.
 * *u is NULL if this rank has no memory.
 */
#define NO_ROOT (-1)
enum reason unsized_judge(struct mpi_comm *c, const struct mpi_call *call, int root, size_t words,
                          int favoured, struct unsized **u);

/* A type that the application may free: *type becomes the call's own. At most two. Returns an MPI
   code. */
int unsized_keep(struct unsized *u, MPI_Datatype *type);

/* Before its start (nonblocking_start_unsized). told, in call->room: all words, filled in with what
   this rank tells; borrowed. u NULL is fine. */
void unsized_tells(struct unsized *u, uint64_t *told, unsized_fill fill);

/* In its turn: room for the telling in the transport. As engine_reserve. */
int unsized_reserve(struct unsized *u);

/* In its turn: the telling. As engine_begin and engine_step. */
int unsized_begin(struct unsized *u);
int unsized_step(struct unsized *u, enum engine_state *state);

/*
 * Complete ready, whose call is the call's own; *plan is held. Returns 0, a negative or an MPI
 * code. Nothing has to be run where ready->plan is NULL.
 */
int unsized_finish(struct unsized *u, struct mpi_comm *c, struct ready *ready,
                   struct mpi_plan **plan);

void unsized_close(struct unsized *u); /* NULL is fine */

#endif
