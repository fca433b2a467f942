/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: a thread's calls between ncclGroupStart and the outermost ncclGroupEnd are kept until
 * that end, as in NCCL itself, because only then the group is complete. If no call of a
 * communicator is worth a reroute, all its calls go to NCCL in their order, in the application's
 * own group. The other communicators follow behind the group, one after the other, in an order that
 * is the same on all ranks. NCCL sorts by its own hash for the same reason. Whether a call is
 * rerouted never depends on the group: the same call may stand alone on another rank.
 *
 * A thread that has several ranks of one communicator runs each of them in a thread of its own:
 * they wait for each other.
 */
#ifndef COLLSHIM_SHIM_NCCL_GROUP_H
#define COLLSHIM_SHIM_NCCL_GROUP_H

#include "shim/nccl/call/thread.h"

/* A call inside the group: kept, or handed to NCCL at once where that makes no difference. */
ncclResult_t nccl_group_add(struct nccl_group *g, const struct nccl_call *call);

/*
 * An operation comes that only the library understands: what was kept of the communicator goes
 * before it, and the group's rest on it is the library's too. The order of a group's collectives is
 * something that ranks have in common; which messages are among them is not, and plays no part.
 */
void nccl_group_leave_native(struct nccl_group *g, ncclComm_t comm);

/* The outermost end, NCCL's own included. */
ncclResult_t nccl_group_end(struct nccl_group *g, struct nccl_copy *copy);

/* Nothing is to run: what was kept goes to NCCL, whose group is still open. */
void nccl_group_flush_all(struct nccl_group *g);

#endif
