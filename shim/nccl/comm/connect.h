/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL connects two ranks at the first message between them, at its group's end, on the host: it
 * waits for the other rank's host and takes memory. In the middle of a schedule that would fail on
 * one rank, and the others would wait. So all connections of a schedule are made before it counts
 * as ready, by a message of some bytes each.
 */
#ifndef COLLSHIM_SHIM_NCCL_CONNECT_H
#define COLLSHIM_SHIM_NCCL_CONNECT_H

#include "shim/nccl/comm/comm.h"

/* Bytes behind all other scratch, for messages that no rank reads. */
enum { CONNECT_BYTES = 1024 };

/* Connections that NCCL has yet to make for the rounds, one for each peer and direction; all: to
 * all other ranks. */
uint64_t connect_lacking(struct nccl_comm *c, const struct rounds *r, int all);
/* Let NCCL make them: waits for the peers' hosts, which must be about to do the same. */
ncclResult_t connect_make(struct nccl_comm *c, const struct rounds *r, int all, CUstream stream);

#endif
