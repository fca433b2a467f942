/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notes that a communicator's ranks must have of each other before a call is rerouted, and the
 * verdict on them.
 */
#ifndef COLLSHIM_SHIM_NCCL_NOTES_H
#define COLLSHIM_SHIM_NCCL_NOTES_H

#include "shim/nccl/comm/comm.h"

/* Tell the other ranks what is to be known of this one, or set the verdict. */
void nccl_comm_post_note(struct nccl_comm *c);

/* From now on all ranks run its calls natively, from the same call on. */
void nccl_comm_keep_native(struct nccl_comm *c, enum reason why);

/*
 * The entry of a communicator, after its ranks have found each other. The first time it waits for
 * their notes, uniformly and for a few seconds at most, and then until all ranks' hosts are here.
 * If one is late, some later calls do so again. Call 2, 4, 8, ... since then also learns whether a
 * rank has registered a buffer. Returns REASON_NONE, or the reason for a native call.
 */
enum reason nccl_comm_verdict(struct nccl_comm *c);
/* The same as far as this rank knows: it asks no rank, and the others need not be there. */
enum reason nccl_comm_judged(struct nccl_comm *c);

/* Messages that a rank may have in a group, so that NCCL carries all of them in one kernel. */
uint32_t nccl_comm_most_messages(const struct nccl_comm *c);

#endif
