/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that the program has made of a communicator (ncclRedOpCreatePreMulSum): our knowledge
 * of each, beside NCCL's own. The program may end one as soon as the call with it has returned. A
 * group keeps its calls until it ends, so NCCL is told then. Each rank has its own scalar: one from
 * the host is known here, one on the device is read when the kernel runs. All ranks agree only that
 * a call's operation was made.
 *
 * Thread-safe.
 */
#ifndef COLLSHIM_SHIM_NCCL_REDOP_H
#define COLLSHIM_SHIM_NCCL_REDOP_H

#include "shim/nccl/call.h"

struct nccl_comm;

/* The communicator's operation of that handle, or NULL. Valid until the program ends it. */
struct redop *redop_find(struct nccl_comm *c, ncclRedOp_t op);

/* One more user; one less, the last of whom ends it. NULL is fine. */
void redop_keep(struct redop *r);
void redop_drop(struct nccl_comm *c, struct redop *r);

/* All of them, NCCL having ended the communicator. */
void redop_forget_all(struct nccl_comm *c);

#endif
