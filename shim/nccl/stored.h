/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLLSHIM_STORE for NCCL, whose programs have no common beginning. Each process reads the file at
 * its first communicator. A communicator uses it if all of its ranks read the same. When rank 0's
 * process ends it adds the guard's findings.
 */
#ifndef COLLSHIM_SHIM_NCCL_STORED_H
#define COLLSHIM_SHIM_NCCL_STORED_H

#include "shim/nccl/comm.h"

/* A hash of what this process read; 0: nothing. The first call reads. Any thread. */
uint64_t nccl_stored_hash(const char *library);

/* A new entry of the communicator's guard begins with what is known. */
void nccl_stored_recall(struct nccl_comm *c, struct guard_entry *e, enum plan_collective collective,
                        unsigned kind);

/* The entry has a verdict. */
void nccl_stored_learn(const struct nccl_comm *c, const struct guard_entry *e,
                       enum plan_collective collective, unsigned kind);

/* When the process ends. */
void nccl_stored_close(void);

#endif
