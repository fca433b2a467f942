/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of a communicator: built from all ranks' plans, given memory and kernels, and used only
 * once every rank has said that it has them.
 */
#ifndef COLLSHIM_SHIM_NCCL_COMM_PLANS_H
#define COLLSHIM_SHIM_NCCL_COMM_PLANS_H

#include "shim/nccl/comm/comm.h"

/*
 * The rounds for a request, made ready on all ranks on first use, with that many bytes of scratch
 * behind the rounds' own. request->topo and rank are filled in. NULL: there are none, on all ranks
 * alike. Valid until the next call. Ready means memory, kernels, and NCCL's connections, which are
 * made on that stream. After that a call fails only as the library's own could.
 */
const struct rounds *nccl_comm_rounds(struct nccl_comm *c, struct plan_request *q,
                                      const struct plan_algorithm *a, uint64_t beside,
                                      CUstream stream);
/* No reroute pays: scratch goes to others until one is tried again. On all ranks at the same call.
 */
void nccl_comm_drop_scratch(struct nccl_comm *c);
/* Did such a request come before? If not it is noted, and will have. The same on all ranks. */
int nccl_comm_came_before(struct nccl_comm *c, const struct plan_request *q,
                          const struct plan_algorithm *a, uint64_t beside);
/* Are there such rounds? Changes nothing, asks no rank; the same on all ranks. */
int nccl_comm_has_rounds(struct nccl_comm *c, const struct plan_request *q,
                         const struct plan_algorithm *a, uint64_t beside);
/* Are kernels that combine loaded on this rank? Loads them. */
int nccl_comm_has_kernels(struct nccl_comm *c);
/* The communicator has no user any more: free them, and its scratch. */
void nccl_comm_drop_plans(struct nccl_comm *c);

#endif
