/* SPDX-License-Identifier: BSD-3-Clause */
/* Rails that change while the job runs: shim/decide/follow.h with messages. */
#ifndef COLLSHIM_SHIM_MPI_RAILS_FOLLOW_H
#define COLLSHIM_SHIM_MPI_RAILS_FOLLOW_H

#include "shim/mpi/comm.h"
#include "shim/mpi/reroute.h"

/* A call has ended that a schedule of that algorithm carried, on all ranks. Collective over the
   communicator now and then. The communicator's plans may be gone afterwards. */
void rails_follow(struct mpi_comm *c, const struct mpi_call *call,
                  const struct plan_algorithm *algorithm, double seconds);

#endif
