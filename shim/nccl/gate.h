/* SPDX-License-Identifier: BSD-3-Clause */
/* May a call be rerouted at all? The answers are the same on all ranks, and wait for nothing. */
#ifndef COLLSHIM_SHIM_NCCL_GATE_H
#define COLLSHIM_SHIM_NCCL_GATE_H

#include "shim/nccl/call.h"
#include "shim/nccl/comm.h"

/* Why a call is native whatever its communicator is; REASON_NONE: that is to be asked. */
enum reason nccl_gate_call(const struct nccl_call *call);

/* Why a call is native, as far as can be said without waiting; REASON_NONE: it may be rerouted. */
enum reason nccl_gate(const struct nccl_comm *c, const struct nccl_call *call);

/* May any of the calls be rerouted? Waits for nothing. */
int nccl_gate_any(const struct nccl_comm *c, const struct nccl_call *call, int n);

#endif
