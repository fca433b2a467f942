/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's rails: measured once that is paid for, and again where they change while the job
 * runs (shim/decide/choose/follow.h with messages).
 */
#ifndef COLLSHIM_SHIM_MPI_RAILS_FOLLOW_H
#define COLLSHIM_SHIM_MPI_RAILS_FOLLOW_H

#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"

/*
 * Measure the rails before a call that is worth it (load.h), if they are not known and as much was
 * not done before (rails.h): collective over the communicator. Returns an MPI code.
 */
int rails_learn(struct mpi_comm *c, const struct plan_request *q);

/* A call has ended that a schedule of that algorithm carried, on all ranks. Local. */
void rails_note(struct mpi_comm *c, const struct mpi_call *call,
                const struct plan_algorithm *algorithm, double seconds);

/* Behind each call that may have been noted, once its time is taken: what follows here is not the
   call's. Collective over the communicator now and then. The communicator's plans may be gone
   afterwards. comm: the application's. */
void rails_follow(struct mpi_comm *c, MPI_Comm comm);

#endif
