/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans of a communicator with their engines: made, agreed on by its ranks, kept and forgotten.
 *
 * Thread rule: the communicator's, but where it says otherwise.
 */
#ifndef COLLSHIM_SHIM_MPI_COMM_PLANS_H
#define COLLSHIM_SHIM_MPI_COMM_PLANS_H

#include "shim/mpi/comm/comm.h"

/* Plans are for rails as they were thought to be. Not while one runs. */
void mpi_comm_forget_plans(struct mpi_comm *c);

/*
 * The plan and the engine for a request, made on first use, and the bytes that the plan moves to
 * and from other nodes. request->topo and rank are filled in. Returns 0 (both owned by the state,
 * valid until the next call of this function), -ENOTSUP (on all ranks alike) or -ENOMEM.
 */
int mpi_comm_engine(struct mpi_comm *c, struct plan_request *request,
                    const struct plan_algorithm *a, const struct plan **plan_p,
                    struct engine **engine_p, struct load_link *crossing);

/*
 * A call that needs plans is prepared between these two, on all ranks alike. Agreed plans are kept
 * in an order that all ranks share, by the calls in between. Then c->plans.unagreed tells, on all
 * ranks alike, whether one is new. A blocking call agrees on the new ones: mpi_comm_agree,
 * collective, with nothing pending; no rank asks where none has limited memory
 * (reserve_is_limited). well: this rank has them. *rc: 0, or a code as of engine_run. Returns 1 if
 * all ranks have them. Later calls need memory for their buffers alone.
 */
void mpi_comm_prepare(struct mpi_comm *c);
void mpi_comm_prepared(struct mpi_comm *c);
int mpi_comm_agree(struct mpi_comm *c, int well, int *rc);

/* A plan of the call's own, held, with its engine. Touches no cache, so any thread may ask. Returns
   the same. */
int mpi_comm_own_plan(struct mpi_comm *c, const struct plan_request *request,
                      const struct plan_algorithm *a, struct mpi_plan **held,
                      const struct plan **plan_p, struct engine **engine_p);

/* Keep that plan and its engine, of the last mpi_comm_engine, until they are released: the cache
   may forget them before. release: any thread. */
struct mpi_plan *mpi_comm_hold(struct mpi_comm *c, const struct plan *plan);

void mpi_plan_release(struct mpi_plan *p); /* NULL is fine */

#endif
