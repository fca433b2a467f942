/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that the program makes get their entries. */
#ifndef COLLSHIM_SHIM_NCCL_COMM_ADD_H
#define COLLSHIM_SHIM_NCCL_COMM_ADD_H

#include "shim/nccl/comm/comm.h"

/*
 * A communicator has been made and is ready. It comes from an id (board found in it), or is a child
 * of one (parent, not NULL; may be unknown), made by the same call on all its ranks. `by` tells the
 * children of one split apart. channels: nChannelsPerNetPeer of the configuration; 0: not set.
 * Posts this rank's note; waits for no rank.
 */
void nccl_comm_add_by_id(struct nccl_copy *copy, ncclComm_t handle, const ncclUniqueId *id,
                         int channels);
void nccl_comm_add_child(struct nccl_copy *copy, ncclComm_t handle, ncclComm_t parent, uint64_t nth,
                         int by, int channels);
void nccl_comm_add_native(struct nccl_copy *copy, ncclComm_t handle, enum reason why);

#endif
