/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank inside a call that is sampled (sampled.h): how long it combines, and when its last message
 * from another host comes. Other calls cost a lookup where a report is wanted, else a branch.
 * Helpers, threads and devices combine untimed.
 *
 * Thread rule: the thread that runs the call.
 */
#ifndef COLLSHIM_SHIM_MPI_WATCHED_H
#define COLLSHIM_SHIM_MPI_WATCHED_H

#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/sampled.h"
#include "shim/record/sites/call_site.h"

/* Watch a call of c that uses these buffers. */
void watched_begin(struct mpi_comm *c, struct engine_buffers *b);

/* The buffers of a blocking call that is about to run; they combine by reduction_combine. */
static inline void watched(struct mpi_comm *c, const struct mpi_call *call,
                           struct engine_buffers *b)
{
    if (site_now.cfa && sampled_keeps_next(call->comm, call->collective))
        watched_begin(c, b);
}

#endif
