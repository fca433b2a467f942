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

#include "shim/nccl/call/call.h"

struct nccl_comm;

/* The communicator's operation of that handle, or NULL. Valid until the program ends it. */
struct redop *redop_find(struct nccl_comm *c, ncclRedOp_t op);

/* The program has made one. Returns 0, or -1 without memory. */
int redop_note(struct nccl_comm *c, ncclRedOp_t op, const void *scalar, ncclDataType_t type,
               ncclScalarResidence_t residence);

/* The program ends it. Returns whether NCCL is to end it now: no call uses it. */
int redop_end(struct nccl_comm *c, struct redop *r);

/* One more user; one less, the last of whom ends it. NULL is fine. */
void redop_keep(struct redop *r);
void redop_drop(struct nccl_comm *c, struct redop *r);

/* All of them, NCCL having ended the communicator. */
void redop_forget_all(struct nccl_comm *c);

#endif
