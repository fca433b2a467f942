/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports of their own for persistent calls. MPI lets every rank start the persistent calls of a
 * communicator in an order of its own, and a transport matches messages by their order. So each
 * persistent request holds a channel: communicator state (comm.h) over a private communicator, with
 * its own shared memory, plans and queue of pending calls.
 *
 * A channel that its request has left serves the communicator's next one; all go with the
 * communicator, or, if that goes first, with their requests. Dropping one sends nothing.
 *
 * Thread rule: channel_take as any collective; the others: any thread.
 */
#ifndef COLLSHIM_SHIM_MPI_CHANNEL_H
#define COLLSHIM_SHIM_MPI_CHANNEL_H

#include "shim/mpi/comm/comm.h"

/*
 * A channel of a communicator, for one request. Collective. ready: this rank can go on. Returns
 * NULL and *why on all ranks alike. *well: 0 if this rank alone has no memory for it, which the
 * ranks are still to tell each other.
 */
struct mpi_comm *channel_take(struct mpi_comm *c, int ready, int *well, enum reason *why);

/* Its request is gone. Not inside the library's progress engine. */
void channel_leave(struct mpi_comm *channel);

/* Is its communicator gone? */
int channel_is_orphan(const struct mpi_comm *channel);

/* The communicator goes: its channels too, once they have no request. */
void channels_leave(struct mpi_comm *c);

#endif
