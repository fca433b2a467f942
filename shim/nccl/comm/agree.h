/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's ranks agree, on its notice board. */
#ifndef COLLSHIM_SHIM_NCCL_AGREE_H
#define COLLSHIM_SHIM_NCCL_AGREE_H

#include "shim/nccl/comm/comm.h"

/*
 * Give all ranks each other's notes about something new, bytes <= NOTICE_MOST on all of them.
 * Returns 0 and *all ([nranks * bytes], freed by the caller), or -1: then no rank got them. Bounded
 * as notice_read().
 */
int nccl_comm_exchange(struct nccl_comm *c, uint64_t about, const void *note, size_t bytes,
                       void **all);

/* Agree: do all ranks say yes? Collective over the communicator; bounded as notice_read(). */
int nccl_comm_all(struct nccl_comm *c, int yes);
/* And do all mean the same? */
int nccl_comm_all_same(struct nccl_comm *c, int yes, uint64_t what);
/* Replace the value by the largest of any rank. Returns 0, or -1 on all ranks. */
int nccl_comm_largest(struct nccl_comm *c, double *value, int n);

/* Rank 0's bytes, to all. Returns as nccl_comm_largest(). */
int nccl_comm_tell(struct nccl_comm *c, void *data, size_t bytes);
/* A key of the notice board that no agreement uses. */
uint64_t nccl_comm_key(const struct nccl_comm *c, uint64_t purpose);

#endif
