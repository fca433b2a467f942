/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways by which a call can be rerouted. All is the same on all ranks of the communicator. */
#ifndef COLLSHIM_SHIM_NCCL_CANDIDATES_H
#define COLLSHIM_SHIM_NCCL_CANDIDATES_H

#include "shim/nccl/comm/comm.h"
#include "shim/nccl/run/run.h"

/* Fill in the part's ways: the algorithm that a setting or the tuning profile names, or else the
   model's choice. Returns why there are none, or REASON_NONE. */
enum reason nccl_find_candidates(struct nccl_comm *c, struct nccl_part *p);

/* The same for a set of messages, which has one way. */
enum reason nccl_find_for_set(const struct nccl_comm *c, const struct nccl_set *set,
                              struct plan_candidate *way);

#endif
