/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLLSHIM_STORE for NCCL, whose programs have no common beginning. Each process reads the file at
 * its first communicator. A communicator uses it if all of its ranks read the same. When rank 0's
 * process ends it adds the guard's findings.
 *
 * Without a store too, a communicator begins with what this process's communicators of the same
 * place found before it was made, if all its ranks know the same of all places.
 */
#ifndef COLLSHIM_SHIM_NCCL_STORED_H
#define COLLSHIM_SHIM_NCCL_STORED_H

#include "shim/nccl/comm/comm.h"

/* A hash of what this process read; 0: nothing. The first call reads. Any thread. */
uint64_t nccl_stored_hash(const char *library);

/* Take what this process has found so far (c->measured.found). Returns its hash; 0: nothing.
   Ranks with other hashes must free the rows. */
uint64_t nccl_stored_here(struct nccl_comm *c);

/* A new entry of the communicator's guard begins with what is known. Returns whether anything is.
 */
int nccl_stored_recall(struct nccl_comm *c, struct guard_entry *e, enum plan_collective collective,
                       unsigned kind);

/* The entry has a verdict. */
void nccl_stored_learn(const struct nccl_comm *c, const struct guard_entry *e,
                       enum plan_collective collective, unsigned kind);

/* When the process ends. */
void nccl_stored_close(void);

#endif
