/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roll of a process (shim/record/roll/roll.h): each collective is noted as started, where the
 * program calls it. A communicator has the key of the notice board; without one it has no line.
 *
 * Thread rule: the communicator's.
 */
#ifndef COLLSHIM_SHIM_NCCL_ROLLED_H
#define COLLSHIM_SHIM_NCCL_ROLLED_H

#include "shim/nccl/call/call.h"
#include "shim/record/roll/roll.h"

void nccl_roll_add(ncclComm_t comm, uint64_t key, int nranks, int rank);
void nccl_roll_note(const struct nccl_call *call);

#endif
